// The routes of a fake service: patterns such as `/v1/files/:id`, and refusals that any depth of a handler can throw.
import type { FakeReply, SeenRequest } from "./fake-server.ts";

export type Call = {
  /** The named segments of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly request: SeenRequest;
};

export type Route = {
  readonly method: string;
  readonly pattern: RegExp;
  readonly answer: (call: Call) => FakeReply;
};

/** Thrown by a handler: the service answers with this reply instead. */
export class Refusal extends Error {
  readonly reply: FakeReply;

  constructor(reply: FakeReply) {
    super(`status ${reply.status}`);
    this.reply = reply;
  }
}

export function route(method: string, path: string, answer: Route["answer"]): Route {
  return { method, pattern: new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`), answer };
}

/** The reply of the first route that fits; `miss` answers when none has the path (404) or the method (405). */
export function answerWith(
  routes: readonly Route[],
  request: SeenRequest,
  miss: (status: 404 | 405) => FakeReply,
): FakeReply {
  let isKnownPath = false;
  for (const { method, pattern, answer } of routes) {
    const found = pattern.exec(request.path);
    if (found === null) continue;
    isKnownPath = true;
    if (method !== request.method) continue;
    const params = Object.entries(found.groups ?? {}).map(([name, value]) => [
      name,
      decodeURIComponent(value),
    ]);
    try {
      return answer({ params: Object.fromEntries(params), request });
    } catch (cause) {
      if (cause instanceof Refusal) return cause.reply;
      throw cause;
    }
  }
  return miss(isKnownPath ? 405 : 404);
}
