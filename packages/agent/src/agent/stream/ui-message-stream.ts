// The events of one turn as the AI SDK's UI message stream (version 1 of its protocol, which `useChat` of 5, 6 and 7 reads), and the
// messages that such a client posts.
import { describeCause, HermesError, isRecord } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { AgentEvent } from "../events.ts";
import type { RunOptions, UserInput } from "../surface.ts";
import type { TurnResult } from "../turn-result.ts";

/** Ended text or reasoning that is void has this metadata: the model was asked again. */
type Ended = { readonly providerMetadata?: { readonly hermes: { readonly discarded: true } } };

/** The chunks that an agent sends. Fits `UIMessageChunk` of the AI SDK 5, 6 and 7. */
export type UIChunk =
  | { readonly type: "start" | "start-step" | "finish-step" | "abort" }
  | { readonly type: "text-start" | "reasoning-start"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | ({ readonly type: "text-end" | "reasoning-end"; readonly id: string } & Ended)
  | {
      readonly type: "tool-input-available";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
    }
  | { readonly type: "tool-output-available"; readonly toolCallId: string; readonly output: unknown }
  | { readonly type: "tool-output-error"; readonly toolCallId: string; readonly errorText: string }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "finish"; readonly finishReason: "stop" | "length" | "error" };

/** What of a turn the stream shows, and the listener of the turn. */
export type UIStreamOptions = RunOptions & {
  /** Default: true. */
  readonly sendReasoning?: boolean;
  /**
   * Text that was sent cannot be taken back. Rarely a model is asked again after a part of its reply was sent; that part is then ended
   * with `providerMetadata.hermes.discarded`, and a client that shows no such part shows each text once. True: the text of each step
   * is sent when the step is over, so that every client does. Default: false, or true with the hook `transformOutput`, which changes
   * the text at the end.
   */
  readonly holdText?: boolean;
  /**
   * The text that the client gets for a refused or failed turn (the codes are in docs/errors.md) or a failed tool (`tool-failed`).
   * Default: "An error occurred.", because the client may be a stranger's.
   */
  readonly onError?: (error: HermesError) => string;
  /**
   * Closes the agent when the turn is over, whether the stream was read to its end, cancelled or left; the stream ends after that. For
   * a route that makes an agent for one request: `await using` would close it before the reply is there. Default: false.
   */
  readonly closeWhenDone?: boolean;
};

/** Headers and status of the response, and what of a turn the stream shows. */
export type UIResponseOptions = UIStreamOptions & {
  readonly status?: number;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
};

type ChunkRules = Pick<UIStreamOptions, "sendReasoning" | "holdText" | "onError"> & {
  readonly log: Logger;
  /** The agent was closed before the turn was over. */
  readonly isCutOff: () => boolean;
  /** The stream ends after it. Never rejects. */
  readonly closed: Promise<void> | undefined;
};

/** A turn that was refused becomes an `error` chunk. Cancelling the stream interrupts the turn. */
export function uiMessageStream(
  stream: ReadableStream<AgentEvent>,
  rules: ChunkRules,
): ReadableStream<UIChunk> {
  const events = stream.getReader();
  const steps = chunksOf(events, new ChunkWriter(rules), rules);
  return new ReadableStream<UIChunk>({
    async pull(controller) {
      for (;;) {
        const { done, value: chunks } = await steps.next();
        if (done) {
          await rules.closed;
          return controller.close();
        }
        for (const chunk of chunks) controller.enqueue(chunk);
        if (chunks.length > 0) return;
      }
    },
    async cancel() {
      await events.cancel();
      await rules.closed;
    },
  });
}

async function* chunksOf(
  events: ReadableStreamDefaultReader<AgentEvent>,
  writer: ChunkWriter,
  { log }: ChunkRules,
): AsyncGenerator<readonly UIChunk[], undefined> {
  yield [{ type: "start" }, { type: "start-step" }];
  try {
    for (;;) {
      const { done, value } = await events.read();
      if (done) return;
      yield writer.chunksOf(value);
    }
  } catch (cause) {
    log.warn(`A turn was refused: ${describeCause(cause)}`);
    yield writer.refused(cause);
  }
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-accel-buffering": "no", // nginx would wait for the end
  "x-vercel-ai-ui-message-stream": "v1",
};

export function uiMessageResponse(
  chunks: ReadableStream<UIChunk>,
  { status = 200, headers }: UIResponseOptions,
): Response {
  const events = chunks.pipeThrough(
    new TransformStream<UIChunk, string>({
      transform: (chunk, controller) => controller.enqueue(`data: ${JSON.stringify(chunk)}\n\n`),
      flush: (controller) => controller.enqueue("data: [DONE]\n\n"),
    }),
  );
  const merged = new Headers(headers);
  for (const [name, value] of Object.entries(HEADERS)) if (!merged.has(name)) merged.set(name, value);
  return new Response(events.pipeThrough(new TextEncoderStream()), { status, headers: merged });
}

type Block = "text" | "reasoning";

/** Keeps track of the open part and of the steps: a step is one reply of the model and the tools it calls. */
class ChunkWriter {
  readonly #rules: ChunkRules;
  #open: { readonly block: Block; readonly id: string } | undefined;
  #parts = 0;
  #isAfterTools = false;
  #held = "";

  constructor(rules: ChunkRules) {
    this.#rules = rules;
  }

  chunksOf(event: AgentEvent): readonly UIChunk[] {
    switch (event.type) {
      case "text-delta":
        return [...this.#nextStep(), ...this.#text(event.text)];
      case "reasoning-delta":
        return this.#rules.sendReasoning === false
          ? []
          : [...this.#nextStep(), ...this.#delta("reasoning", event.text)];
      case "text-discard":
        this.#held = "";
        return this.#end({ providerMetadata: { hermes: { discarded: true } } });
      case "usage": // after each reply of the model
        return this.#nextStep();
      case "tool-start":
        return [...this.#release(), ...this.#end(), toolInput(event)];
      case "tool-end":
        this.#isAfterTools = true;
        return [this.#toolOutput(event)];
      case "turn-end":
        return this.#finish(event.result);
      default:
        return []; // for the program, and not for the reader of the chat
    }
  }

  refused(cause: unknown): readonly UIChunk[] {
    const error =
      cause instanceof HermesError ? cause : new HermesError("turn-failed", describeCause(cause), { cause });
    return [
      ...this.#end(),
      { type: "error", errorText: this.#errorText(error) },
      ...END_OF_STEP,
      { type: "finish", finishReason: "error" },
    ];
  }

  #text(text: string): readonly UIChunk[] {
    if (!this.#rules.holdText) return this.#delta("text", text);
    this.#held += text;
    return [];
  }

  #release(): readonly UIChunk[] {
    const text = this.#held;
    this.#held = "";
    return text === "" ? [] : this.#delta("text", text);
  }

  #delta(block: Block, delta: string): readonly UIChunk[] {
    const chunks: UIChunk[] = [];
    if (this.#open?.block !== block) {
      this.#parts += 1;
      chunks.push(...this.#end(), { type: `${block}-start`, id: `${this.#parts}` });
      this.#open = { block, id: `${this.#parts}` };
    }
    return [...chunks, { type: `${block}-delta`, id: `${this.#parts}`, delta }];
  }

  #end(ended: Ended = {}): readonly UIChunk[] {
    if (this.#open === undefined) return [];
    const { block, id } = this.#open;
    this.#open = undefined;
    return [{ type: `${block}-end`, id, ...ended }];
  }

  #nextStep(): readonly UIChunk[] {
    if (!this.#isAfterTools) return [];
    this.#isAfterTools = false;
    return [...this.#end(), ...END_OF_STEP, { type: "start-step" }];
  }

  #toolOutput({ callId, output, isError }: Extract<AgentEvent, { type: "tool-end" }>): UIChunk {
    return isError
      ? { type: "tool-output-error", toolCallId: callId, errorText: this.#errorText(toolFailed(output)) }
      : { type: "tool-output-available", toolCallId: callId, output };
  }

  #finish(result: TurnResult): readonly UIChunk[] {
    const { final_response, response_transformed, interrupted, failed, exit } = result;
    if (this.#rules.holdText && response_transformed) this.#held = final_response;
    const last = [...this.#release(), ...this.#end()];
    if (interrupted) return [...last, ...this.#cutOff(), ...END_OF_STEP, { type: "abort" }];
    const finishReason = failed ? "error" : exit === "truncated_response" ? "length" : "stop";
    const failure = failed
      ? [{ type: "error" as const, errorText: this.#errorText(turnFailed(result)) }]
      : [];
    return [...last, ...failure, ...END_OF_STEP, { type: "finish", finishReason }];
  }

  /** The client did not ask for the end of the turn, and would wait for a reply. */
  #cutOff(): readonly UIChunk[] {
    const { isCutOff, log } = this.#rules;
    if (!isCutOff()) return [];
    const error = new HermesError("agent-closed", "The agent was closed before its turn was over.", {
      hint: "In a route, pass closeWhenDone: true instead of 'await using'.",
    });
    log.warn(`${error.message} ${error.hint}`);
    return [{ type: "error", errorText: this.#errorText(error) }];
  }

  #errorText(error: HermesError): string {
    return this.#rules.onError?.(error) ?? "An error occurred.";
  }
}

const END_OF_STEP = [{ type: "finish-step" }] as const;

function toolInput({ callId, name, input }: Extract<AgentEvent, { type: "tool-start" }>): UIChunk {
  return { type: "tool-input-available", toolCallId: callId, toolName: name, input };
}

/** The exit of the turn is its code, written like other codes. */
function turnFailed({ exit, error, hint }: TurnResult): HermesError {
  return new HermesError(exit.replaceAll("_", "-"), error ?? exit, { hint: hint ?? undefined });
}

function toolFailed(output: unknown): HermesError {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return new HermesError("tool-failed", text, { cause: output });
}

// What a client posts.

/**
 * The input of a turn in the messages that `useChat` posts: the last one, which must be the user's, with its text and images. The agent
 * has the earlier ones itself. Throws `bad-message`.
 */
export function lastUserInput(messages: readonly unknown[]): UserInput {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isRecord(last) || last.role !== "user") throw noInput("The last message is not one of the user's");
  if (typeof last.content === "string") return last.content;
  const parts: unknown = last.parts ?? last.content;
  if (!Array.isArray(parts)) throw noInput("The user's message has neither text nor parts");
  const input = parts.filter(isRecord).flatMap(inputPart);
  return input.every(({ type }) => type === "text") ? input.map(({ text }) => text).join("\n") : input;
}

function inputPart(part: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] {
  const { type, text, url, mediaType } = part;
  if (type === "text" && typeof text === "string") return [{ type, text }];
  if (type !== "file") return [];
  if (typeof url !== "string" || !String(mediaType).startsWith("image/"))
    throw noInput(
      `The user's message has a file of type ${String(mediaType)}, and only images can be sent to the model`,
    );
  return [{ type: "image_url", image_url: { url } }];
}

function noInput(message: string): HermesError {
  return new HermesError("bad-message", `${message}.`, {
    hint: "Pass the messages of the request body that useChat posts, or the text of the turn itself.",
  });
}
