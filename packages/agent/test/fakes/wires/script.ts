// What a fake model server answers, said once for all wires.
//
//   const wire = await startWire("chat", [{ text: "Hello" }, rateLimited(2), { text: "Again" }]);
//   createOpenAI({ baseURL: wire.url, apiKey: "none" }) ... // `url` is in the form that the wire's provider wants
//   wire.requests[0].body; wire.wireMessages(1); wire.systemOf(-1); await wire.waitForRequest(2);
//
// `startWire` is in wire-in-test.ts for tests, in start-wire.ts for anything else. Requests count from 0, as in `requests`;
// for what looks back a negative number counts from the end. One step is used up by each model call, also by calls for
// titles and summaries; where their order is open, hand in a function that looks at the request. When a list is used up the
// answer is a 500 that says so, and in a test the test fails at its end unless it says `mayRunOut`. Characters are code
// points of what the model writes, in the order it is sent: reasoning, text, arguments of tool calls.

export type WireKind = "chat" | "responses" | "anthropic" | "google";

export type ScriptedToolCall = {
  readonly name: string;
  /** Text is sent as it is and may be malformed. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
  /** Absent: one that no other call of any server has. "": none is sent, where the wire can do without. */
  readonly id?: string;
};

/** Buckets that do not overlap, as in src/models/usage.ts; `reasoning` is a part of `output`. */
export type ScriptedUsage = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
};

export type Finish = "stop" | "length" | "tool_calls" | "content_filter";

export type Gate = { readonly opened: Promise<void>; open(): void };
export type Pause = Promise<void> | Gate | "forever";

export type Reply = {
  readonly text?: string;
  readonly reasoning?: string;
  /** What vouches for the reasoning: signature, encrypted content or thought signature. Absent: one is made up. */
  readonly signature?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Absent: `tool_calls` or `stop`, whichever fits. */
  readonly finish?: Finish;
  /** Absent: a quarter of the characters of request and reply. `null`: the server tells nothing (Anthropic: zeros). */
  readonly usage?: ScriptedUsage | null;
  /** Characters of one event. Default 4. */
  readonly chunkChars?: number;
  /** Writes go apart in the middle of a character's bytes. */
  readonly splitBytes?: boolean;
  /** Nothing is sent before, not even the status. */
  readonly pauseBefore?: Pause;
  /** Waits once when so many characters have been sent. */
  readonly pauseAt?: { readonly chars: number; readonly until: Pause };
  /** Before anything is sent. */
  readonly delayMs?: number;
  /** Between two events that carry characters. */
  readonly pieceDelayMs?: number;
  /**
   * So many characters are sent, then half an event, then the socket is destroyed. A client drops what it has not read by
   * then; it gets some milliseconds, and a test can make sure with `pauseAt` for the same place.
   */
  readonly cutAfterChars?: number;
  /** So many characters arrive, and the stream never goes on. */
  readonly stallAfterChars?: number;
  /** So many characters arrive, then the wire's own error event: the server is overloaded. */
  readonly failAfterChars?: number;
};

export type FailureKind =
  | "overflow"
  | "rate_limited"
  | "server_error"
  | "payload_too_large"
  | "refused"
  | "bad_key"
  | "out_of_credit"
  | "bad_signature"
  | "not_found";

export type Failure = {
  /** 0: the connection is closed without an answer. */
  readonly status: number;
  /** Text is sent as it is, anything else as JSON. Absent: what the wire's vendor says to `kind`, or to the status. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the vendor's own sentence. */
  readonly message?: string;
  readonly kind?: FailureKind;
  /** Of kind `overflow`: the window that the error states. */
  readonly limitTokens?: number;
  /** Of kind `rate_limited`. */
  readonly retryAfterSeconds?: number;
};

export type Step = Reply | Failure;

export type RecordedRequest = {
  readonly index: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** The body as it came. */
  readonly raw: string;
  /** See `Wire.wireMessages`. */
  readonly messages: readonly WireMessage[];
  readonly system: string;
  readonly tools: readonly string[];
};

/** A message in its wire's own shape, but always with `content`; Google's role `model` is called `assistant`. */
export type WireMessage = Readonly<Record<string, unknown>>;

export type Script = readonly Step[] | ((request: RecordedRequest) => Step | Promise<Step>);

export function isFailure(step: Step): step is Failure {
  return "status" in step;
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** The request does not fit; with a limit, the error states it. */
export function overflow(limitTokens?: number): Failure {
  return { status: 400, kind: "overflow", limitTokens };
}

export function rateLimited(retryAfterSeconds?: number): Failure {
  return { status: 429, kind: "rate_limited", retryAfterSeconds };
}

export function serverError(status = 500): Failure {
  return { status, kind: "server_error" };
}

export function payloadTooLarge(): Failure {
  return { status: 413, kind: "payload_too_large" };
}

/** The vendor's content policy does not allow the request. */
export function refused(): Failure {
  return { status: 400, kind: "refused" };
}

export function badKey(): Failure {
  return { status: 401, kind: "bad_key" };
}

export function outOfCredit(): Failure {
  return { status: 429, kind: "out_of_credit" };
}

export function badSignature(): Failure {
  return { status: 400, kind: "bad_signature" };
}

export function modelNotFound(): Failure {
  return { status: 404, kind: "not_found" };
}

/** The connection is closed without an answer. */
export function hangUp(): Failure {
  return { status: 0 };
}
