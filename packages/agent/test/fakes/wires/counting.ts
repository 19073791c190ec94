// A model server that counts tokens: the characters of the request's body, divided by a density. It refuses what does not fit its
// window in the words of one vendor or another, and reports what it counted, or nothing.
import { codePointLength } from "@hermes-memory/core/internal/lib";
import type { Failure, RecordedRequest, Reply, Script, Step } from "./script.ts";

export type CountingOptions = {
  readonly window: number;
  /** Characters of one token. */
  readonly density: number;
  /** How it refuses; see `REFUSALS`. */
  readonly refusal: RefusalKind;
  /** Whether replies carry what they used. */
  readonly hasUsage: boolean;
  readonly answer: (request: RecordedRequest) => Reply | Failure;
};

type Refused = { readonly index: number; readonly prompt: number };

export type CountingServer = {
  readonly script: Script;
  readonly refused: Refused[];
  /** Largest prompt that was taken. */
  readonly largest: () => number;
};

type Counts = { readonly prompt: number; readonly output: number; readonly window: number };

const REFUSALS = {
  openai: ({ prompt, output, window }: Counts) =>
    `This model's maximum context length is ${window} tokens. However, you requested ${prompt + output} tokens (${prompt} in the messages, ${output} in the completion). Please reduce the length of the messages or completion.`,
  anthropic: ({ prompt, window }: Counts) => `prompt is too long: ${prompt} tokens > ${window} maximum`,
  llama: ({ prompt, window }: Counts) =>
    `request (${prompt} tokens) exceeds the available context size (${window} tokens), try increasing it`,
  /** The window alone. */
  limit: ({ window }: Counts) =>
    `This model's maximum context length is ${window} tokens. Please shorten the input.`,
  /** No number at all. */
  mute: () => "Input is too long for requested model.",
} satisfies Readonly<Record<string, (counts: Counts) => string>>;

export type RefusalKind = keyof typeof REFUSALS;

export function countingServer(options: CountingOptions): CountingServer {
  const { window, density, refusal, hasUsage, answer } = options;
  const refused: Refused[] = [];
  let largest = 0;
  const script = (request: RecordedRequest): Step => {
    const prompt = Math.ceil(codePointLength(request.raw) / density);
    const output = Number(request.body.max_tokens ?? request.body.max_completion_tokens ?? 0);
    if (prompt + output > window) {
      refused.push({ index: request.index, prompt });
      return { status: 400, kind: "overflow", message: REFUSALS[refusal]({ prompt, output, window }) };
    }
    const step = answer(request);
    if ("status" in step) return step;
    largest = Math.max(largest, prompt);
    const written = [
      step.text ?? "",
      ...(step.toolCalls ?? []).map((call) => JSON.stringify(call.arguments)),
    ];
    const most = output > 0 ? output : window - prompt;
    const used = Math.min(most, Math.ceil(codePointLength(written.join("")) / density));
    return { chunkChars: 100_000, ...step, usage: hasUsage ? { input: prompt, output: used } : null };
  };
  return { script, refused, largest: () => largest };
}
