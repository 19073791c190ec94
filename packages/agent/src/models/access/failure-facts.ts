// What a failed call tells about itself, whatever was thrown: the SDK's errors, a server's error event, a broken socket. Read by
// their fields, so that no class of the SDK is needed here.
import { outsideJsonOr, pyStrip } from "@hermes-memory/core/lib";
import { asList, asRecord, someText } from "./raw-chunks.ts";

export type FailureFacts = {
  readonly status: number | undefined;
  /** The server's own words in one line; "" when it had none. Neither short nor free of secrets yet. */
  readonly sentence: string;
  /** Everything that words can be looked for in, in lower case. */
  readonly searchable: string;
  /** `ECONNREFUSED`, `AI_JSONParseError`, ...: of the error and its causes. */
  readonly codes: readonly string[];
  readonly retryAfterMs: number | undefined;
};

/** Some servers send the whole request back. */
const SEARCHED_CHARS = 20_000;

export function failureFacts(cause: unknown, nowMs: number): FailureFacts {
  const chain = causesOf(cause);
  const error = chain.find((each) => statusOf(each) !== undefined) ?? asRecord(cause);
  const body = someText(error.responseBody) ?? "";
  const answer = parsed(body) ?? error.data ?? (cause instanceof Error ? undefined : cause);
  const sentence = oneLine(serverSentence(answer) ?? ownWords(cause, body));
  const details = typeof answer === "object" && answer !== null ? json(answer) : body;
  const all = [sentence, ...chain.map(({ message }) => someText(message) ?? ""), details].join("\n");
  const headers = asRecord(error.responseHeaders);
  return {
    status: statusOf(error) ?? statusIn(answer),
    sentence,
    searchable: all.slice(0, SEARCHED_CHARS).toLowerCase(),
    codes: chain.flatMap(({ code, name }) =>
      [someText(code), someText(name)].filter((each) => each !== undefined),
    ),
    retryAfterMs: retryAfter(headers, nowMs) ?? retryDelay(details),
  };
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfter(headers: Readonly<Record<string, unknown>>, nowMs: number): number | undefined {
  const field = (name: string): string | undefined => {
    const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
    return someText(found?.[1])?.trim();
  };
  const exact = Number(field("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return Math.round(exact);
  const given = field("retry-after");
  if (given === undefined || given === "") return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.round(seconds * 1000) : undefined;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** Google says it in the body: `"retryDelay": "34s"`. */
function retryDelay(details: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(details)?.[1];
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
}

function causesOf(cause: unknown): readonly Readonly<Record<string, unknown>>[] {
  const chain: Readonly<Record<string, unknown>>[] = [];
  for (let at = cause, depth = 0; typeof at === "object" && at !== null && depth < 6; depth += 1) {
    // Fields of an error are not its own properties.
    const error = at as Record<string, unknown>;
    chain.push(error);
    at = error.cause ?? asList(error.errors)[0];
  }
  return chain;
}

function statusOf({ statusCode, status }: Readonly<Record<string, unknown>>): number | undefined {
  return httpStatus(statusCode) ?? httpStatus(status);
}

/** In an error event: OpenRouter's `code`, Google's `error.code`. */
function statusIn(answer: unknown): number | undefined {
  const outer = asRecord(Array.isArray(answer) ? answer[0] : answer);
  const inner = asRecord(outer.error);
  return [inner.code, inner.status, outer.code, outer.status_code]
    .map(httpStatus)
    .find((found) => found !== undefined);
}

function httpStatus(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && number >= 200 && number <= 599 ? number : undefined;
}

/** Where the usual servers put what they have to say. */
function serverSentence(answer: unknown): string | undefined {
  if (typeof answer === "string") return someText(answer.trim());
  const outer = asRecord(Array.isArray(answer) ? answer[0] : answer);
  const failed = asRecord(asRecord(outer.response).error);
  const inner = asRecord(outer.error);
  // A gateway's own words are about the server behind it: "Provider returned error".
  const behind = asRecord(inner.metadata ?? outer.metadata).raw;
  const raw = typeof behind === "string" ? (serverSentence(parsed(behind)) ?? behind) : undefined;
  const validation = asList(outer.detail).map((entry) => someText(asRecord(entry).msg));
  return (
    someText(raw) ??
    someText(inner.message) ??
    someText(failed.message) ??
    someText(outer.error) ??
    someText(outer.message) ??
    someText(outer.detail) ??
    someText(validation.filter((each) => each !== undefined).join("; "))
  );
}

function ownWords(cause: unknown, body: string): string {
  const isPage = /^\s*</.test(body); // a proxy's error page
  if (body !== "" && !isPage) return body;
  return cause instanceof Error ? cause.message : (someText(cause) ?? "");
}

function oneLine(text: string): string {
  return pyStrip(text.slice(0, SEARCHED_CHARS).replace(/\s+/g, " "));
}

function parsed(text: string): unknown {
  return text === "" ? undefined : outsideJsonOr(text, undefined);
}

/** Where servers repeat the request. Its words are the conversation's and say nothing about the failure. */
const REPEATED = new Set(["input", "messages", "prompt", "contents"]);

function json(value: object): string {
  try {
    return JSON.stringify(value, (key, field) => (REPEATED.has(key) ? undefined : field)) ?? "";
  } catch {
    return "";
  }
}
