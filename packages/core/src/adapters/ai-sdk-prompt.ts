// The messages that a model of the AI SDK gets and returns: version 2 of its interface with AI SDK 5, 3 with 6, 4 with 7. They look
// like `ModelMessage`, but text is always in parts, images are files, and version 4 tags the data of files.
import { isRecord, outsideJsonOr, type TextModel, withoutUndefined } from "../lib/index.ts";
import {
  type AiSdkVersion,
  type AnyAiSdkMessage,
  type AssistantMessage,
  fromAiSdk,
  type Message,
  toAiSdk,
  withMeta,
} from "../message/index.ts";

export type PromptMessage = { readonly role: string; readonly content?: unknown };

type Fields = Readonly<Record<string, unknown>>;

const VERSIONS: Readonly<Record<string, AiSdkVersion>> = { v2: 5, v3: 6 };

/** Version 7 for interfaces that are newer than the ones we know. */
export function versionOf({
  specificationVersion,
}: {
  readonly specificationVersion?: string;
}): AiSdkVersion {
  return VERSIONS[specificationVersion ?? ""] ?? 7;
}

/** A text alone becomes plain text, as callers write it. Empty messages stay: the model gets them too. */
export function fromPrompt(prompt: readonly PromptMessage[]): readonly Message[] {
  return fromAiSdk(prompt.map(asWritten));
}

function asWritten(message: PromptMessage): AnyAiSdkMessage {
  const { content } = message;
  const [only, ...others] = Array.isArray(content) ? (content as readonly unknown[]) : [];
  const isText =
    others.length === 0 && isRecord(only) && only.type === "text" && only.providerOptions === undefined;
  return { ...message, ...(isText ? { content: only.text } : {}) } as AnyAiSdkMessage;
}

export function toPrompt(messages: readonly Message[], version: AiSdkVersion): readonly PromptMessage[] {
  const list: readonly AnyAiSdkMessage[] = toAiSdk(messages, { version });
  return list.flatMap((message): PromptMessage[] => {
    if (message.role === "system") return [message];
    const { content } = message;
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const known = (parts as readonly Fields[]).flatMap((part) => promptPart(part, version));
    return known.length === 0 ? [] : [{ ...message, content: known }];
  });
}

function promptPart(part: Fields, version: AiSdkVersion): readonly Fields[] {
  switch (part.type) {
    case "tool-approval-request":
    case "tool-approval-response":
      return []; // a question to the user that was answered: the model gets the result
    case "text":
      return part.text === "" ? [] : [part];
    case "image": {
      const { image, mediaType = "image/*", ...rest } = part;
      return [{ ...rest, type: "file", mediaType, data: fileData(image, version) }];
    }
    case "file":
    case "reasoning-file":
      return [{ ...part, data: fileData(part.data, version) }];
    case "tool-result":
      return [{ ...part, output: promptOutput(part.output, version) }];
    default:
      return [part];
  }
}

function fileData(data: unknown, version: AiSdkVersion): unknown {
  if (version !== 7) return data;
  if (data instanceof URL) return { type: "url", url: data };
  if (typeof data === "string") return { type: "data", data };
  return isRecord(data) && typeof data.type !== "string" ? { type: "reference", reference: data } : data;
}

/** Version 4 has one kind of file in results, and version 3 no `media`. */
function promptOutput(output: unknown, version: AiSdkVersion): unknown {
  if (version === 5 || !isRecord(output) || !Array.isArray(output.value)) return output;
  return { ...output, value: output.value.map((part: Fields) => outputPart(part, version)) };
}

function outputPart(part: Fields, version: AiSdkVersion): Fields {
  const { type, data, url, mediaType = "image/*", ...rest } = part;
  if (version === 6) return type === "media" ? { ...part, type: imageOrFile(mediaType) } : part;
  if (type === "image-data" || type === "file-data")
    return { ...rest, type: "file", mediaType, data: { type: "data", data } };
  if ((type === "image-url" || type === "file-url") && typeof url === "string")
    return { ...rest, type: "file", mediaType, data: { type: "url", url: new URL(url) } };
  return part;
}

function imageOrFile(mediaType: unknown): string {
  return typeof mediaType === "string" && mediaType.startsWith("image/") ? "image-data" : "file-data";
}

/** The caller's message with the recall behind its own parts. */
export function withRecall<M extends PromptMessage>(message: M, recall: string): M {
  if (recall === "" || !Array.isArray(message.content)) return message;
  return { ...message, content: [...message.content, { type: "text", text: recall }] };
}

// ---- Replies ----

/**
 * The reply of one step; undefined if there is nothing to keep of it. An interrupted one keeps its text and reasoning, and no calls:
 * nobody will answer them.
 */
export function replyOf(
  content: readonly object[],
  { isInterrupted }: { readonly isInterrupted: boolean },
): AssistantMessage | undefined {
  const parts = (content as readonly Fields[])
    .flatMap(replyPart)
    .filter(({ type }) => !isInterrupted || type === "text" || type === "reasoning");
  if (parts.length === 0 || (isInterrupted && !parts.some(({ type }) => type === "text"))) return undefined;
  const [message] = fromPrompt([{ role: "assistant", content: parts }]);
  if (message?.role !== "assistant") return undefined;
  return isInterrupted ? withMeta(message, { finishReason: "interrupted" }) : message;
}

function replyPart({ providerMetadata, ...part }: Fields): readonly Fields[] {
  const kept = withoutUndefined({ providerOptions: providerMetadata });
  switch (part.type) {
    case "text":
    case "reasoning": {
      const isEmpty = part.text === "" && providerMetadata === undefined;
      return isEmpty ? [] : [{ type: part.type, text: part.text, ...kept }];
    }
    case "tool-call": {
      const { toolCallId, toolName, input, providerExecuted } = part;
      const parsed = typeof input === "string" ? outsideJsonOr(input, input) : input;
      const given = input === "" ? {} : parsed;
      return [
        withoutUndefined({ type: part.type, toolCallId, toolName, input: given, providerExecuted, ...kept }),
      ];
    }
    case "tool-result": {
      const { toolCallId, toolName, result, isError, preliminary } = part;
      const kind = typeof result === "string" ? "text" : "json";
      const output = { type: isError === true ? `error-${kind}` : kind, value: result };
      return preliminary === true ? [] : [{ type: part.type, toolCallId, toolName, output, ...kept }];
    }
    case "file":
    case "reasoning-file":
    case "custom":
      return [{ ...part, ...kept }];
    default:
      return []; // sources and questions for approval are not part of a conversation
  }
}

/** The finish reason says that the model failed: a text, and from version 3 of the interface on an object. */
export function isFailure(finished: object): boolean {
  const reason = "finishReason" in finished ? finished.finishReason : undefined;
  return (isRecord(reason) ? reason.unified : reason) === "error";
}

/** Parts that arrive in one piece. */
const WHOLE_PARTS: ReadonlySet<string> = new Set([
  "tool-call",
  "tool-result",
  "file",
  "reasoning-file",
  "custom",
]);

/** Collects the parts of a stream into the content that the same reply has without streaming. */
export class StreamedReply {
  readonly #parts: Fields[] = [];
  /** Texts and reasonings by id, while they are open. */
  readonly #open = new Map<string, Record<string, unknown>>();
  #isFinished = false;
  #isFailed = false;

  /** The stream has come to its end, and without a failure. */
  get isComplete(): boolean {
    return this.#isFinished && !this.#isFailed;
  }

  get content(): readonly object[] {
    return this.#parts;
  }

  add(chunk: unknown): void {
    if (!isRecord(chunk) || typeof chunk.type !== "string") return;
    const [kind, event] = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type)?.slice(1) ?? [];
    if (kind !== undefined) this.#addText(kind, event, chunk);
    else if (chunk.type === "error") this.#isFailed = true;
    else if (chunk.type === "finish") {
      this.#isFinished = true;
      this.#isFailed ||= isFailure(chunk);
    } else if (WHOLE_PARTS.has(chunk.type)) this.#parts.push(chunk);
  }

  #addText(kind: string, event: string | undefined, chunk: Fields): void {
    const id = `${kind} ${String(chunk.id)}`;
    const known = this.#open.get(id);
    const part = known ?? { type: kind, text: "" };
    if (known === undefined) {
      this.#open.set(id, part);
      this.#parts.push(part);
    }
    if (typeof chunk.delta === "string") part.text = `${String(part.text)}${chunk.delta}`;
    if (chunk.providerMetadata !== undefined) part.providerMetadata = chunk.providerMetadata;
    if (event === "end") this.#open.delete(id);
  }
}

// ---- A model for texts ----

/** The part of `LanguageModelV2`, `V3` and `V4` that is used. */
export type CalledModel = {
  readonly specificationVersion?: string;
  doGenerate(options: never): PromiseLike<{ readonly content: readonly { readonly type: string }[] }>;
};

/**
 * A `TextModel` for `compact`, `extract` and `ContextCompressor`, made from a model of the AI SDK 5, 6 or 7 (`openai("gpt-5-mini")`).
 */
export function sdkTextModel(model: CalledModel): TextModel {
  return {
    async complete({ system, prompt, maxOutputTokens, signal }) {
      const asked = [
        ...(system === undefined || system === "" ? [] : [{ role: "system", content: system }]),
        { role: "user", content: [{ type: "text", text: prompt }] },
      ];
      const request = { prompt: asked, maxOutputTokens, abortSignal: signal };
      const { content } = await model.doGenerate(request as never);
      return content
        .map((part) => ("text" in part && part.type === "text" ? String(part.text) : ""))
        .join("");
    },
  };
}
