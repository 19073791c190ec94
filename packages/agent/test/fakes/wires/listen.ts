// Drains what an SDK provider makes of a wire, into values that tests can compare.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

export type Heard = {
  readonly text: string;
  readonly deltas: readonly string[];
  readonly reasoning: string;
  /** Id, name, arguments. */
  readonly calls: readonly (readonly [string, string, string])[];
  /** Undefined when the stream had no end. */
  readonly finish: string | undefined;
  readonly usage: LanguageModelV4Usage | undefined;
  /** Error parts in the stream. */
  readonly errors: readonly unknown[];
  /** What the stream itself failed with. */
  readonly broken: unknown;
  readonly parts: readonly LanguageModelV4StreamPart[];
};

export const QUESTION: LanguageModelV4CallOptions = {
  prompt: [
    { role: "system", content: "Be short." },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
  ],
};

/** `onText` sees the text so far after each piece. */
export async function listen(
  model: LanguageModelV4,
  options: Partial<LanguageModelV4CallOptions> = {},
  onText: (text: string) => unknown = () => {},
): Promise<Heard> {
  const parts: LanguageModelV4StreamPart[] = [];
  let broken: unknown;
  try {
    const { stream } = await model.doStream({ ...QUESTION, ...options });
    const reader = stream.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      parts.push(next.value);
      if (next.value.type === "text-delta") onText(textIn(parts, "text-delta").join(""));
    }
  } catch (cause) {
    broken = cause;
  }
  const finish = parts.find((part) => part.type === "finish");
  return {
    text: textIn(parts, "text-delta").join(""),
    deltas: textIn(parts, "text-delta").filter((delta) => delta !== ""),
    reasoning: textIn(parts, "reasoning-delta").join(""),
    calls: parts.flatMap((part) =>
      part.type === "tool-call" ? [[part.toolCallId, part.toolName, part.input] as const] : [],
    ),
    finish: finish?.finishReason.unified,
    usage: finish?.usage,
    errors: parts.flatMap((part) => (part.type === "error" ? [part.error] : [])),
    broken,
    parts,
  };
}

/** Metadata of one provider, from the parts that carry some. */
export function metadataIn(parts: readonly LanguageModelV4StreamPart[], provider: string): unknown[] {
  return parts.flatMap((part) => {
    if (part.type === "finish" || part.type === "custom" || !("providerMetadata" in part)) return [];
    const own = part.providerMetadata?.[provider];
    return own === undefined ? [] : [own];
  });
}

export type CallFailure = Error & {
  readonly statusCode?: number;
  readonly isRetryable?: boolean;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: string;
  /** The error as the provider understood it. */
  readonly data?: unknown;
};

/** What a call fails with; a call that does not fail is an error. */
export async function failureOf(call: PromiseLike<unknown>): Promise<CallFailure> {
  const outcome = await call.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(outcome instanceof Error)) throw new Error("The call was expected to fail.");
  return outcome;
}

function textIn(
  parts: readonly LanguageModelV4StreamPart[],
  type: "text-delta" | "reasoning-delta",
): readonly string[] {
  return parts.flatMap((part) => (part.type === type ? [part.delta] : []));
}
