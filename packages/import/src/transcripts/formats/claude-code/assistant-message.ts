// One answer of the model, which Claude Code writes in several lines: a line per block, or lines that repeat and extend earlier blocks.
import { blocksOf } from "../../kit/blocks.ts";
import { type Json, listOf, numberOf, recordOf, textOf, timeOf } from "../../kit/values.ts";
import type { TranscriptMessage, Usage } from "../../reader.ts";

/** A block is compared with this many before it, so that a long message takes linear time. */
const LOOK_BACK = 64;
/** The model of answers that the product wrote itself. */
const SYNTHETIC = "<synthetic>";

export class AssistantMessage {
  readonly id: string | undefined;
  /** `message.id`, which all lines share. */
  readonly shared: string | undefined;
  readonly line: number;
  /** The records that it is made of. */
  readonly records: string[] = [];
  readonly #blocks: Json[] = [];
  #at: number | undefined;
  #model: string | undefined;
  #finishReason: string | undefined;
  #usage: Json | undefined;

  constructor(id: string | undefined, shared: string | undefined, line: number) {
    this.id = id;
    this.shared = shared;
    this.line = line;
  }

  /** Metadata come from the last line, the time from the first: later lines may stand behind results of tools. */
  add(record: Json, message: Json): void {
    const uuid = textOf(record.uuid);
    if (uuid !== undefined) this.records.push(uuid);
    this.#at ??= timeOf(record.timestamp);
    const model = textOf(message.model);
    if (model !== undefined && model !== SYNTHETIC) this.#model = model;
    this.#finishReason = textOf(message.stop_reason) ?? this.#finishReason;
    const usage = recordOf(message.usage);
    if (
      usage !== undefined &&
      (numberOf(usage.output_tokens) ?? 0) >= (numberOf(this.#usage?.output_tokens) ?? 0)
    )
      this.#usage = usage;
    for (const block of blockList(message.content)) this.#merge(block);
  }

  #merge(block: Json): void {
    const from = Math.max(0, this.#blocks.length - LOOK_BACK);
    for (let at = this.#blocks.length - 1; at >= from; at--) {
      const earlier = this.#blocks[at];
      if (earlier === undefined || !isExtension(earlier, block)) continue;
      this.#blocks[at] = block;
      return;
    }
    this.#blocks.push(block);
  }

  /** What the whole answer cost so far: its lines repeat the numbers and let them grow. */
  get usage(): Usage | undefined {
    return this.#usage === undefined ? undefined : usageOf(this.#usage);
  }

  /** Undefined when it has nothing to keep, such as thoughts that were not asked for. `counted`: what earlier lines of the same answer gave. */
  finished(
    withReasoning: boolean,
    unknown: (type: string) => void,
    counted: Usage | undefined,
  ): TranscriptMessage | undefined {
    const { text, reasoning, toolCalls } = blocksOf(this.#blocks, unknown);
    if (text === "" && toolCalls.length === 0 && !(withReasoning && reasoning !== undefined))
      return undefined;
    return {
      id: this.id,
      role: "assistant",
      text,
      at: this.#at,
      line: this.line,
      toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
      reasoning: withReasoning ? reasoning : undefined,
      finishReason: this.#finishReason,
      model: this.#model,
      usage: withoutCounted(this.usage, counted),
    };
  }
}

/** The blocks of a line; plain text is one block. */
export function blockList(content: unknown): Json[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listOf(content)
    .map(recordOf)
    .filter((block) => block !== undefined);
}

function isExtension(earlier: Json, later: Json): boolean {
  if (earlier.type !== later.type || earlier.id !== later.id) return false;
  if (earlier.id !== undefined) return true;
  const [before, after] = [bodyOf(earlier), bodyOf(later)];
  return before !== undefined && after?.startsWith(before) === true;
}

function bodyOf(block: Json): string | undefined {
  const body = block.text ?? block.thinking;
  return typeof body === "string" ? body : undefined;
}

function usageOf(usage: Json): Usage {
  return {
    inputTokens: numberOf(usage.input_tokens),
    outputTokens: numberOf(usage.output_tokens),
    cacheReadTokens: numberOf(usage.cache_read_input_tokens),
    cacheWriteTokens: numberOf(usage.cache_creation_input_tokens),
  };
}

function withoutCounted(usage: Usage | undefined, counted: Usage | undefined): Usage | undefined {
  if (usage === undefined || counted === undefined) return usage;
  const rest = (key: keyof Usage): number => Math.max(0, (usage[key] ?? 0) - (counted[key] ?? 0));
  return {
    inputTokens: rest("inputTokens"),
    outputTokens: rest("outputTokens"),
    cacheReadTokens: rest("cacheReadTokens"),
    cacheWriteTokens: rest("cacheWriteTokens"),
  };
}
