// What the SDK leaves out of its parts and the servers' own events tell: under which name a thought came, OpenRouter's
// `reasoning_details`, which calls had an id, who answered.
import { isRecord } from "@hermes-memory/core/lib";
import type { Weight } from "./reply-watch.ts";

export type RawFacts = {
  /** The chat wire's field `reasoning_content` was there. */
  readonly hasReasoningContent: boolean;
  /** As OpenRouter wants them back: the pieces of one entry put together. */
  readonly reasoningDetails: readonly Details[];
  /** Ids that the server gave to calls; undefined when no event was seen. */
  readonly callIds: ReadonlySet<string> | undefined;
  readonly model: string | undefined;
};

export type Details = Readonly<Record<string, unknown>>;

export class RawChunks {
  #hasReasoningContent = false;
  readonly #details: Record<string, unknown>[] = [];
  #callIds: Set<string> | undefined;
  /** The newest id of the call with this index. */
  readonly #begun = new Map<unknown, string>();
  #model: string | undefined;

  get hasEvents(): boolean {
    return this.#callIds !== undefined;
  }

  /** Of an event that is about to be added: what it brings beside text and thoughts, which come as parts too. */
  weightOf(chunk: unknown): Weight {
    const weight = { chars: 0, calls: 0 };
    for (const choice of asList(asRecord(chunk).choices)) {
      const delta = asRecord(asRecord(choice).delta);
      for (const call of asList(delta.tool_calls)) {
        const { chars, calls } = this.#weightOfPiece(asRecord(call));
        weight.chars += chars;
        weight.calls += calls;
      }
      for (const entry of asList(delta.reasoning_details)) {
        const { data, signature } = asRecord(entry);
        weight.chars += (someText(data)?.length ?? 0) + (someText(signature)?.length ?? 0);
      }
    }
    return weight;
  }

  /** Some servers say id and name of a call with every piece of it, and some number all calls alike. */
  #weightOfPiece({ index, id, function: called }: Details): Weight {
    const { name, arguments: text } = asRecord(called);
    const chars = someText(text)?.length ?? 0;
    const begun = this.#begun.get(index);
    const isNew = begun === undefined || (someText(id) !== undefined && id !== begun);
    if (!isNew) return { chars: chars + Math.max(0, (someText(name)?.length ?? 0) - NAME_CHARS), calls: 0 };
    const start = weightOfCall(id, name);
    this.#begun.set(index, someText(id) ?? "");
    return { chars: chars + start.chars, calls: start.calls };
  }

  add(chunk: unknown): void {
    const event = asRecord(chunk);
    this.#callIds ??= new Set();
    this.#model ??= someText(event.modelVersion);
    for (const choice of asList(event.choices)) {
      const delta = asRecord(asRecord(choice).delta);
      if (typeof delta.reasoning_content === "string") this.#hasReasoningContent = true;
      for (const entry of asList(delta.reasoning_details)) this.#addDetail(asRecord(entry));
      for (const call of asList(delta.tool_calls)) this.#addId(asRecord(call).id);
    }
    for (const candidate of asList(event.candidates))
      for (const part of asList(asRecord(asRecord(candidate).content).parts))
        this.#addId(asRecord(asRecord(part).functionCall).id);
  }

  facts(): RawFacts {
    return {
      hasReasoningContent: this.#hasReasoningContent,
      reasoningDetails: this.#details,
      callIds: this.#callIds,
      model: this.#model,
    };
  }

  #addId(id: unknown): void {
    const text = someText(id);
    if (text !== undefined) this.#callIds?.add(text);
  }

  /** An entry streams as entries of the same kind and place, each with the next piece of its text. */
  #addDetail(entry: Details): void {
    const last = this.#details.at(-1);
    const grows =
      entry.type === "reasoning.text" ? "text" : entry.type === "reasoning.summary" ? "summary" : undefined;
    const isSame = last !== undefined && last.type === entry.type && (last.index ?? 0) === (entry.index ?? 0);
    if (!isSame || grows === undefined) {
      if (Object.keys(entry).length > 0) this.#details.push({ ...entry });
      return;
    }
    for (const [key, value] of Object.entries(entry)) {
      if (key === grows) last[key] = `${someText(last[key]) ?? ""}${someText(value) ?? ""}`;
      else if (value !== null && value !== undefined) last[key] = value;
      else if (!(key in last)) last[key] = value;
    }
  }
}

/** A call costs memory and a row however little it says. */
const CALL_CHARS = 50;
/** No tool has a longer name; what is beyond it is paid for each time it is said. */
const NAME_CHARS = 128;

export function weightOfCall(id: unknown, name: unknown): Weight {
  return { chars: CALL_CHARS + (someText(id)?.length ?? 0) + (someText(name)?.length ?? 0), calls: 1 };
}

export function asRecord(value: unknown): Details {
  return isRecord(value) ? value : {};
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Undefined for what is no text, and for an empty one. */
export function someText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
