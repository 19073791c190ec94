// Puts the parts of a stream together: returns what the listener may get at once, and the whole reply at the end.
import type {
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { ModelDelta } from "../chat.ts";
import { asList, asRecord, someText } from "../json-fields.ts";
import type { Weight } from "./reply-watch.ts";
import type { Details, RawFacts, Reply, WireTraits } from "./sdk-messages.ts";
import { type Piece, ThinkTags } from "./think-tags.ts";

type Block = {
  readonly type: "text" | "reasoning";
  text: string;
  providerMetadata?: SharedV4ProviderMetadata;
};
type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

export class Collector {
  readonly #wire: WireTraits;
  readonly #content: (Block | LanguageModelV4Content)[] = [];
  readonly #open = new Map<string, Block>();
  readonly #raw = new RawEvents();
  readonly #tags: ThinkTags | undefined;
  #text = "";
  #taggedReasoning = "";
  /** A new block of text has begun and has no text yet. */
  #isNewText = false;
  #finish: Finish | undefined;
  #model: string | undefined;

  constructor(wire: WireTraits) {
    this.#wire = wire;
    this.#tags = wire.hasThinkTags ? new ThinkTags() : undefined;
  }

  /** The text so far. */
  get text(): string {
    return this.#text;
  }

  get finish(): Finish | undefined {
    return this.#finish;
  }

  /** The name that the server gives for the model. */
  get model(): string | undefined {
    return this.#model ?? this.#raw.facts().model;
  }

  /** Adds any part except errors and warnings; returns what to pass to the listener. */
  add(part: LanguageModelV4StreamPart): readonly ModelDelta[] {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#start(part.type === "text-start" ? "text" : "reasoning", part.id, part.providerMetadata);
        return [];
      case "text-delta":
      case "reasoning-delta": {
        const type = part.type === "text-delta" ? "text" : "reasoning";
        const block = this.#open.get(key(type, part.id)) ?? this.#start(type, part.id, undefined);
        block.text += part.delta;
        describe(block, part.providerMetadata);
        if (part.delta === "") return [];
        return type === "text" ? this.#say(part.delta) : [{ kind: "reasoning", text: part.delta }];
      }
      case "text-end":
      case "reasoning-end": {
        const id = key(part.type === "text-end" ? "text" : "reasoning", part.id);
        const block = this.#open.get(id);
        if (block) describe(block, part.providerMetadata);
        this.#open.delete(id);
        return [];
      }
      case "tool-call":
        this.#content.push(part);
        return [];
      case "response-metadata":
        this.#model = part.modelId ?? this.#model;
        return [];
      case "raw":
        this.#raw.add(part.rawValue);
        return [];
      case "finish":
        this.#finish = part;
        return this.#told(this.#tags?.flush() ?? []);
      default:
        return []; // sources, files, and calls that the vendor runs
    }
  }

  reply(): Reply {
    return {
      content: this.#content,
      text: this.#text,
      taggedReasoning: this.#taggedReasoning,
      raw: this.#raw.facts(),
    };
  }

  #start(type: Block["type"], id: string, metadata: SharedV4ProviderMetadata | undefined): Block {
    const block: Block = { type, text: "" };
    describe(block, metadata);
    this.#open.set(key(type, id), block);
    this.#content.push(block);
    if (type === "text") this.#isNewText = true;
    return block;
  }

  #say(delta: string): readonly ModelDelta[] {
    const separator = this.#isNewText && this.#text !== "" ? this.#wire.textSeparator : "";
    this.#isNewText = false;
    const text = separator + delta;
    return this.#told(this.#tags ? this.#tags.feed(text) : [{ kind: "text", text }]);
  }

  #told(pieces: readonly Piece[]): readonly ModelDelta[] {
    for (const { kind, text } of pieces) {
      if (kind === "text") this.#text += text;
      else this.#taggedReasoning += text;
    }
    return pieces;
  }
}

/** Counted for each call, because even an empty one takes memory and a row in the database. */
const CALL_CHARS = 50;

/** The size of a part before it is added. */
export function weightOf(part: LanguageModelV4StreamPart): Weight {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return { chars: part.delta.length + metadataChars(part.providerMetadata), calls: 0 };
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      return { chars: metadataChars(part.providerMetadata), calls: 0 };
    case "tool-input-start":
      return { chars: CALL_CHARS + part.id.length + part.toolName.length, calls: 1 };
    case "tool-input-delta":
      return { chars: part.delta.length, calls: 0 };
    case "raw":
      return { chars: detailChars(part.rawValue), calls: 0 };
    default:
      return { chars: 0, calls: 0 };
  }
}

/** The length of encrypted reasoning in a server's event; text and reasoning are counted as parts. */
function detailChars(chunk: unknown): number {
  return asList(asRecord(chunk).choices)
    .flatMap((choice) => asList(asRecord(asRecord(choice).delta).reasoning_details))
    .map(asRecord)
    .reduce((chars, { data, signature }) => chars + `${data ?? ""}${signature ?? ""}`.length, 0);
}

/** The length of signatures and encrypted reasoning. */
function metadataChars(metadata: SharedV4ProviderMetadata | undefined): number {
  return Object.values(metadata ?? {})
    .flatMap((data) => Object.values(data))
    .reduce<number>((chars, value) => chars + (typeof value === "string" ? value.length : 0), 0);
}

/** With the type, because some vendors number texts and reasoning separately. */
function key(type: Block["type"], id: string): string {
  return `${type}:${id}`;
}

/** Signatures come with the start, a delta or the end of a block; a later null does not remove them. */
function describe(block: Block, metadata: SharedV4ProviderMetadata | undefined): void {
  for (const [name, data] of Object.entries(metadata ?? {})) {
    const known = Object.entries(data).filter(([, value]) => value !== null && value !== undefined);
    block.providerMetadata = {
      ...block.providerMetadata,
      [name]: { ...block.providerMetadata?.[name], ...Object.fromEntries(known) },
    };
  }
}

// The server's own events

/**
 * Collects what the SDK leaves out of its parts: the name of the field with the reasoning, OpenRouter's `reasoning_details`, which
 * calls had an id, and the model that answered.
 */
class RawEvents {
  #hasReasoningContent = false;
  readonly #details: Record<string, unknown>[] = [];
  #callIds: Set<string> | undefined;
  #model: string | undefined;

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

  /** An entry arrives as several entries with the same type and index, each with the next piece of its text. */
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
