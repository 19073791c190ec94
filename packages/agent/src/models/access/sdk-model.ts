// A model object of the AI SDK that somebody else made, as one of ours.
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { HermesError } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { ApiMode, ChatModel, ModelIdentity } from "../chat.ts";
import { asRecord, someText } from "./raw-chunks.ts";
import { ReplyWatch } from "./reply-watch.ts";
import { replyLimit, streamReply } from "./stream.ts";
import { wireTraits } from "./wire.ts";

export type SdkModelOptions = {
  readonly log?: Logger;
  /** What the object cannot tell about itself, for prices, windows and cache markers. */
  readonly provider?: string;
  readonly apiMode?: ApiMode;
  readonly baseUrl?: string;
};

/** `markBody` of a request has no effect: the body is made where we do not see it. */
export async function fromSdkModel(model: unknown, options: SdkModelOptions = {}): Promise<ChatModel> {
  const sdk = await asV4(model);
  const apiMode = options.apiMode ?? apiModeOf(sdk.provider);
  const provider = options.provider ?? providerOf(sdk.provider);
  const identity: ModelIdentity = { model: sdk.modelId, provider, apiMode, baseUrl: options.baseUrl ?? "" };
  const wire = wireTraits(identity, sdk.provider);
  const providerOptions = apiMode === "responses" ? { openai: { store: false } } : undefined;
  return {
    identity,
    stream(request) {
      const watch = new ReplyWatch(replyLimit(request));
      const place = { identity };
      return streamReply(request, { model: sdk, wire, place, providerOptions, watch, log: options.log });
    },
  };
}

async function asV4(model: unknown): Promise<LanguageModelV4> {
  const { specificationVersion: version, doStream, modelId, provider } = fieldsOf(model);
  const isModel =
    typeof doStream === "function" && someText(modelId) !== undefined && someText(provider) !== undefined;
  if (isModel && version === "v4") return model as LanguageModelV4;
  if (isModel && (version === "v2" || version === "v3")) {
    const { wrapLanguageModel } = await import("ai"); // has the adapter from older versions
    return wrapLanguageModel({ model: model as LanguageModelV4, middleware: [] });
  }
  const what =
    typeof model === "string" ? "a name" : `${typeof model === "object" ? "an object" : `a ${typeof model}`}`;
  throw new HermesError("bad-model", `A language model of the AI SDK was expected, and ${what} was given.`, {
    hint: "Pass the object that a provider makes, such as anthropic('claude-...'), of specification v2, v3 or v4.",
  });
}

/** Also those a class gives its objects, which are not their own. */
function fieldsOf(model: unknown): Readonly<Record<string, unknown>> {
  const isObject = (typeof model === "object" && model !== null) || typeof model === "function";
  return isObject ? (model as Readonly<Record<string, unknown>>) : asRecord(undefined);
}

function apiModeOf(sdkProvider: string): ApiMode {
  const name = sdkProvider.toLowerCase();
  if (name.includes("anthropic")) return "anthropic_messages";
  if (name.endsWith(".responses")) return "responses";
  return /^(?:google|vertex)/.test(name) ? "google" : "chat_completions";
}

/** `anthropic.messages` is Anthropic's. */
function providerOf(sdkProvider: string): string {
  return sdkProvider.split(".")[0]?.trim() ?? sdkProvider;
}
