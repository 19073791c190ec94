// A failure in one or two sentences: what happened, in the server's own words where it has any, and what to do.
import { preview } from "@hermes-memory/core/lib";
import { createRedactor, redactSecrets } from "@hermes-memory/core/security";
import type { ModelFailureKind, ModelIdentity } from "../chat.ts";
import { findProvider } from "../choice/providers.ts";
import { isLoopback, parseBaseUrl } from "../context-window/base-url.ts";
import type { FailureFacts } from "./failure-facts.ts";

/** Whom the message is about. */
export type FailurePlace = {
  readonly identity?: ModelIdentity;
  /** Never shown; masked where a server repeats it. */
  readonly apiKey?: string;
  /** `ANTHROPIC_API_KEY`, `config`, `flag`, ... */
  readonly keySource?: string;
};

const SENTENCE_CHARS = 300;

export function failureMessage(kind: ModelFailureKind, facts: FailureFacts, place: FailurePlace): string {
  const redact = place.apiKey ? createRedactor([place.apiKey]) : redactSecrets;
  const said = preview(redact(facts.sentence), SENTENCE_CHARS); // a key that is cut in two would not be found
  const status = facts.status === undefined ? "" : ` (HTTP ${facts.status})`;
  const quoted = said === "" ? "." : `: ${/[.!?…]$/.test(said) ? said : `${said}.`}`;
  return `${whatHappened(kind, facts, place)}${status}${quoted} ${redact(whatToDo(kind, facts, place))}`.trim();
}

function whatHappened(kind: ModelFailureKind, { codes }: FailureFacts, place: FailurePlace): string {
  const server = serverName(place);
  const inside = server.replace(/^The /, "the "); // in the middle of a sentence
  const model = place.identity === undefined ? "the model" : `the model '${place.identity.model}'`;
  switch (kind) {
    case "auth":
      return `${server} refused the key`;
    case "billing":
      return `${server} wants to be paid first`;
    case "rate_limit":
      return `${server} has had too many requests`;
    case "overflow":
      return `The conversation is longer than ${model} takes`;
    case "payload_too_large":
      return `The request is too large for ${inside}`;
    case "content_policy":
      return `${server} declined the request for what it contains`;
    case "bad_signature":
      return `${server} did not accept earlier reasoning of this conversation`;
    case "bad_request":
      return `${server} did not accept the request`;
    case "not_found":
      return `${server} does not have ${model}`;
    case "server":
      return `${server} failed`;
    case "connection":
      return codes.includes("ECONNREFUSED")
        ? `Nobody answers at ${address(place)}`
        : `The connection to ${inside} broke`;
    case "stalled":
      return `${server} stopped sending`;
    case "invalid_response":
      return `${server} gave an answer that is none`;
    case "reply_too_long":
      return `${server} did not come to an end`;
    default:
      return kind satisfies never;
  }
}

function whatToDo(kind: ModelFailureKind, { status, codes }: FailureFacts, place: FailurePlace): string {
  switch (kind) {
    case "auth":
      return `Check ${keyPlace(place)}, or run 'hermes setup'.`;
    case "billing":
      return "Check the account's balance and limits, or choose another model with 'hermes model set'.";
    case "rate_limit":
      return "Wait a moment, or choose another model with 'hermes model set'.";
    case "overflow":
      return "Shorten it with /compress, or use a model with a larger window.";
    case "payload_too_large":
      return "Send less at once, or shorten the conversation with /compress.";
    case "content_policy":
      return "Put it differently, or use another model.";
    case "bad_signature":
      return "It is left out when the request is sent again.";
    case "bad_request":
      if (status !== undefined && status < 400)
        return "It sends requests on to another address, which is not followed: set that one as model.base_url.";
      return "See 'hermes model test', and check model.api_mode and model.base_url.";
    case "not_found":
      return "Check the name with 'hermes model list', and model.base_url when it is set.";
    case "server":
      return "It is usually over soon; 'hermes model test' tells when.";
    case "connection":
      if (isLocal(place) && codes.includes("ECONNREFUSED"))
        return "The server does not seem to run: start it, or choose another model with 'hermes setup'.";
      return "Check the network and model.base_url; 'hermes model test' tries again.";
    case "stalled":
      return "Try again; 'hermes model test' shows how long it takes to answer.";
    case "invalid_response":
      return "Check model.base_url and model.api_mode with 'hermes model test'.";
    case "reply_too_long":
      return "Ask for less at once, or use another model. If its window is larger than is known, set model.context_length.";
    default:
      return kind satisfies never;
  }
}

function serverName({ identity }: FailurePlace): string {
  if (identity === undefined) return "The model's server";
  const known = findProvider(identity.provider);
  const host = identity.baseUrl === "" ? "" : (parseBaseUrl(identity.baseUrl)?.host ?? "");
  const isElsewhere = host !== "" && !(known?.host !== undefined && known.host === host);
  const name = known?.label ?? (identity.provider === "custom" ? "The server" : identity.provider);
  return isElsewhere ? `${name} at ${host}` : name;
}

function address({ identity }: FailurePlace): string {
  const url = identity === undefined ? undefined : parseBaseUrl(identity.baseUrl);
  return url === undefined ? "the model's address" : `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function keyPlace({ identity, keySource = "" }: FailurePlace): string {
  if (/^[A-Z][A-Z0-9_]+$/.test(keySource)) return keySource;
  if (keySource === "flag") return "the key that was given";
  if (keySource === "config") return "the api_key in config.yaml";
  const [variable] = identity === undefined ? [] : (findProvider(identity.provider)?.envVars ?? []);
  return variable ?? "model.api_key in config.yaml";
}

function isLocal({ identity }: FailurePlace): boolean {
  if (identity === undefined) return false;
  const url = parseBaseUrl(identity.baseUrl);
  return findProvider(identity.provider)?.isLocal === true || (url !== undefined && isLoopback(url));
}
