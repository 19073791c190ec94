// A model that was chosen becomes one that can be asked. The vendor's SDK is loaded here, and only that one.
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { HermesError } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { OpenAiMessage } from "@hermes-memory/core/message";
import { isLoopback, parseBaseUrl } from "../base-url.ts";
import type { ApiMode, ChatModel, ModelIdentity, ModelRequest } from "../chat.ts";
import type { ChosenModel } from "../choice/choose-model.ts";
import { asRecord, someText } from "../json-fields.ts";
import { ReplyWatch } from "./reply-watch.ts";
import { isOpenRouter, wireTraits } from "./sdk-messages.ts";
import { replyLimit, streamReply } from "./stream.ts";

export type OpenModelOptions = {
  /** The SDK's warnings go here. */
  readonly log?: Logger;
  readonly fetch?: typeof fetch;
  /** Further keys of every request's body. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
};

/** The model object of one request: its `fetch` carries what belongs to that request alone. */
type Factory = (send: typeof fetch) => LanguageModelV4;

export async function openModel(chosen: ChosenModel, options: OpenModelOptions = {}): Promise<ChatModel> {
  const { model, provider, apiMode, baseUrl, apiKey, keySource } = chosen;
  const identity: ModelIdentity = { model, provider, apiMode, baseUrl };
  const create = await factoryFor(chosen);
  const wire = wireTraits(identity);
  const place = { identity, apiKey, keySource };
  const { log, extraBody, fetch: given } = options;
  const patient = await fetchWithoutTimeoutFor(chosen);
  return {
    identity,
    stream(request) {
      const markBody = apiMode === "chat_completions" ? request.markBody : undefined;
      // Looked up late, so that a test's or a proxy's replacement counts.
      const { fetch: current } = globalThis;
      const usual = current === NODES_FETCH ? (patient ?? current) : current;
      const watch = new ReplyWatch(replyLimit(request));
      const send = outgoingFetch({ fetch: given ?? usual, markBody, watch, extraBody });
      const providerOptions = PROVIDER_OPTIONS[apiMode];
      return streamReply(request, { model: create(send), wire, place, providerOptions, watch, log });
    },
  };
}

const NODES_FETCH = globalThis.fetch;

/** Undefined for servers elsewhere: whoever is silent for minutes there has failed. */
async function fetchWithoutTimeoutFor({ baseUrl }: ChosenModel): Promise<typeof fetch | undefined> {
  const url = parseBaseUrl(baseUrl);
  if (url === undefined || !isLoopback(url)) return undefined;
  const { fetchWithoutTimeout } = await import("./fetch-without-timeout.ts");
  return fetchWithoutTimeout;
}

const PROVIDER_OPTIONS: Readonly<
  Record<ModelIdentity["apiMode"], LanguageModelV4CallOptions["providerOptions"]>
> = {
  // A ping is a sign of life, for whoever waits for one.
  anthropic_messages: { anthropic: { includePings: true } },
  chat_completions: undefined,
  // Nothing is kept at OpenAI; for reasoning models the SDK then asks for the reasoning in encrypted form.
  responses: { openai: { store: false } },
  google: undefined,
};

/** Addresses and keys are always passed: the SDKs would look into the environment for those that are missing. */
async function factoryFor(chosen: ChosenModel): Promise<Factory> {
  const { model, provider, apiMode, apiKey } = chosen;
  switch (apiMode) {
    case "anthropic_messages": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const baseURL = addressWith(chosen, "https://api.anthropic.com/v1", "v1");
      return (send) => createAnthropic({ baseURL, apiKey, fetch: send })(model);
    }
    case "responses": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const baseURL = addressWith(chosen, OPENAI);
      return (send) => createOpenAI({ baseURL, apiKey, fetch: send }).responses(model);
    }
    case "google": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      const baseURL = addressWith(chosen, "https://generativelanguage.googleapis.com/v1beta", "v1beta");
      return (send) => createGoogleGenerativeAI({ baseURL, apiKey, fetch: send })(model);
    }
    case "chat_completions": {
      const baseURL = addressWith(chosen, OPENAI);
      if (provider === "openai") {
        // Knows which settings OpenAI's own models take.
        const { createOpenAI } = await import("@ai-sdk/openai");
        return (send) => createOpenAI({ baseURL, apiKey, fetch: send }).chat(model);
      }
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      // OpenRouter's own SDK leaves out and reorders what has to go back unchanged, and writes to the terminal.
      const router = isOpenRouter(chosen) ? { transformRequestBody: withUsage } : {};
      const settings = { name: "chat", baseURL, apiKey, includeUsage: true, ...router };
      return (send) => createOpenAICompatible({ ...settings, fetch: send })(model);
    }
    default:
      return apiMode satisfies never;
  }
}

const OPENAI = "https://api.openai.com/v1";

function withUsage(body: Record<string, unknown>): Record<string, unknown> {
  return { ...body, usage: { include: true } };
}

/** People write addresses with and without the version. `always`: this version belongs behind any path without one. */
function addressWith({ baseUrl }: ChosenModel, usual: string, always?: string): string {
  if (baseUrl === "") return usual;
  const url = parseBaseUrl(baseUrl);
  const plain = baseUrl.trim().replace(/\/+$/, "");
  if (url === undefined || /\/v\d+(?:beta|alpha)?\d*$/.test(plain)) return plain;
  const hasPath = url.pathname !== "/" && url.pathname !== "";
  if (hasPath && always === undefined) return plain;
  return `${plain}/${always ?? "v1"}`;
}

// ----
// The last station of a request: changes its finished body, and keeps the key where it belongs.

type OutgoingOptions = {
  readonly fetch: typeof fetch;
  readonly markBody?: ModelRequest["markBody"];
  readonly watch?: ReplyWatch;
  /** Further keys of the body. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
};

/** A `fetch` for one request. */
function outgoingFetch({ fetch: send, markBody, watch, extraBody = {} }: OutgoingOptions): typeof fetch {
  const changesBody = markBody !== undefined || Object.keys(extraBody).length > 0;
  return async (input, init = {}) => {
    const { body } = init;
    const response = await send(input, {
      ...init,
      headers: withoutEmptyKeys(init.headers),
      ...(changesBody && typeof body === "string" ? { body: changed(body, extraBody, markBody) } : {}),
      // Whoever is sent on sends the key along. The answer is an error that names what happened.
      redirect: "manual",
    });
    return watch?.over(response) ?? response;
  };
}

/** A server without a key gets no header for one, rather than an empty one. */
function withoutEmptyKeys(headers: RequestInit["headers"]): Headers {
  const kept = new Headers(headers);
  for (const name of ["authorization", "x-api-key", "x-goog-api-key"])
    if (/^(?:bearer)?\s*$/i.test(kept.get(name) ?? "none")) kept.delete(name);
  return kept;
}

function changed(
  text: string,
  extraBody: Readonly<Record<string, unknown>>,
  markBody: ModelRequest["markBody"],
): string {
  const body = JSON.parse(text) as Record<string, unknown>;
  const { messages } = body;
  const marked =
    markBody !== undefined && Array.isArray(messages)
      ? { messages: markBody(messages as OpenAiMessage[]) }
      : {};
  return JSON.stringify({ ...body, ...marked, ...extraBody });
}

// ----
// A model object of the AI SDK that somebody else made, as one of ours.

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
