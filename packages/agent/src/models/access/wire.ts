// What differs between the wires when messages are converted.
import type { ModelIdentity } from "../chat.ts";
import { parseBaseUrl } from "../context-window/base-url.ts";

export type WireTraits = {
  readonly apiMode: ModelIdentity["apiMode"];
  /** Keys of `providerOptions` under which this wire's own data travel. */
  readonly namespaces: readonly string[];
  /** OpenRouter's list, sent back as it came. */
  readonly takesReasoningDetails: boolean;
  /** A Gemini model behind a chat server. */
  readonly takesThoughtSignatures: boolean;
  /** Arguments of calls go out as the text the model wrote; a model object from outside gets what it says, a value. */
  readonly takesArgumentText: boolean;
  /** Between two blocks of text in one reply. */
  readonly textSeparator: string;
  /** Thoughts may stand in the text, between tags. */
  readonly hasThinkTags: boolean;
};

const NAMESPACES: Readonly<Record<ModelIdentity["apiMode"], string>> = {
  anthropic_messages: "anthropic",
  chat_completions: "openaiCompatible",
  responses: "openai",
  google: "google",
};

/** `sdkProvider`: of a model object that somebody else made, as it calls itself. */
export function wireTraits(identity: ModelIdentity, sdkProvider?: string): WireTraits {
  const { apiMode, model } = identity;
  const isChat = apiMode === "chat_completions";
  const isText = isChat || apiMode === "responses";
  const own = sdkProvider?.split(".")[0]?.trim() ?? "";
  return {
    apiMode,
    namespaces: [...new Set([NAMESPACES[apiMode], own])].filter((name) => name !== ""),
    takesReasoningDetails: isChat && isOpenRouter(identity),
    takesThoughtSignatures: isChat && /gemini/i.test(model),
    takesArgumentText: isText && sdkProvider === undefined,
    textSeparator: apiMode === "responses" ? "\n\n" : "",
    hasThinkTags: isChat,
  };
}

export function isOpenRouter({ provider, baseUrl }: ModelIdentity): boolean {
  const host = baseUrl === "" ? "" : (parseBaseUrl(baseUrl)?.hostname ?? "");
  return provider === "openrouter" || host === "openrouter.ai" || host.endsWith(".openrouter.ai");
}
