// Addresses of model servers: which protocol they want, and whether they ask for a key.
import type { ApiMode } from "../chat.ts";
import { isLoopback, parseBaseUrl } from "../context-window/base-url.ts";

const API_MODES: Readonly<Record<string, ApiMode>> = {
  anthropic_messages: "anthropic_messages",
  chat_completions: "chat_completions",
  responses: "responses",
  codex_responses: "responses",
  google: "google",
};

export const API_MODE_WORDS: readonly string[] = Object.keys(API_MODES);

export function parseApiMode(word: string): ApiMode | undefined {
  const key = word.trim().toLowerCase();
  return Object.hasOwn(API_MODES, key) ? API_MODES[key] : undefined;
}

/** Of an address nobody says more about. Some vendors have the protocol of Anthropic or OpenAI under a path of that name. */
export function apiModeAt(address: URL): ApiMode {
  return /\/anthropic(?:\/v\d+)?\/*$/.test(address.pathname) ? "anthropic_messages" : "chat_completions";
}

export function isSameAddress(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

/** This machine or a private network, where servers rarely want a key. */
export function isNearby(address: URL): boolean {
  if (isLoopback(address)) return true;
  const host = address.hostname.toLowerCase();
  if (host.startsWith("[")) return /^\[(?:f[cd][0-9a-f]{2}|fe80):/.test(host);
  if (
    /^(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[789]\d|1[01]\d|12[0-7]))\./.test(host)
  )
    return /^[\d.]+$/.test(host);
  return !host.includes(".") || /\.(?:local|lan|internal|home\.arpa)$/.test(host);
}

function plain(text: string): string {
  const url = parseBaseUrl(text);
  const address = url === undefined ? text.trim() : `${url.origin}${url.pathname}`;
  return address.replace(/\/+$/, "");
}
