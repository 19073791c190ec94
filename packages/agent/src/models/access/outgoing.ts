// The last station of a request: changes its finished body, and keeps the key where it belongs.
import type { OpenAiMessage } from "@hermes-memory/core/message";
import type { ModelRequest } from "../chat.ts";
import type { ReplyWatch } from "./reply-watch.ts";

export type OutgoingOptions = {
  readonly fetch: typeof fetch;
  readonly markBody?: ModelRequest["markBody"];
  readonly watch?: ReplyWatch;
  /** Further keys of the body. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
};

/** A `fetch` for one request. */
export function outgoingFetch({
  fetch: send,
  markBody,
  watch,
  extraBody = {},
}: OutgoingOptions): typeof fetch {
  const changesBody = markBody !== undefined || Object.keys(extraBody).length > 0;
  return async (input, init = {}) => {
    const { body } = init;
    const response = await send(input, {
      ...init,
      headers: withoutEmptyKeys(init.headers),
      ...(changesBody && typeof body === "string" ? { body: changed(body, extraBody, markBody) } : {}),
      // Whoever is sent on sends the key along. The answer is an error that names what happened.
      redirect: "manual",
    });
    return watch?.over(response) ?? response;
  };
}

/** A server without a key gets no header for one, rather than an empty one. */
function withoutEmptyKeys(headers: RequestInit["headers"]): Headers {
  const kept = new Headers(headers);
  for (const name of ["authorization", "x-api-key", "x-goog-api-key"])
    if (/^(?:bearer)?\s*$/i.test(kept.get(name) ?? "none")) kept.delete(name);
  return kept;
}

function changed(
  text: string,
  extraBody: Readonly<Record<string, unknown>>,
  markBody: ModelRequest["markBody"],
): string {
  const body = JSON.parse(text) as Record<string, unknown>;
  const { messages } = body;
  const marked =
    markBody !== undefined && Array.isArray(messages)
      ? { messages: markBody(messages as OpenAiMessage[]) }
      : {};
  return JSON.stringify({ ...body, ...marked, ...extraBody });
}
