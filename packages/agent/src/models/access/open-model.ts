// Opens a model: from a choice (`openModel`, which loads that vendor's SDK and no other), or from a model object of the AI SDK that
// a program made (`fromSdkModel`).
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import { isLoopback, parseBaseUrl } from "../base-url.ts";
import type { ApiMode, ChatModel, ModelIdentity, ModelRequest } from "../chat.ts";
import type { ChosenModel } from "../choice/choose-model.ts";
import { asRecord, someText } from "../json-fields.ts";
import { ReplyWatch } from "./reply-watch.ts";
import { isOpenRouter, wireTraits } from "./sdk-messages.ts";
import { replyLimit, streamReply } from "./stream.ts";

/** How requests to the model are sent and logged. */
export type OpenModelOptions = {
  /** For the SDK's warnings. */
  readonly log?: Logger;
  readonly fetch?: typeof fetch;
  /** Added to the body of every request. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
};

/** Makes the model object for one request, with a `fetch` for that request alone. */
type Factory = (send: typeof fetch) => LanguageModelV4;

/** Opens the model that `chooseModel` returned. */
export async function openModel(chosen: ChosenModel, options: OpenModelOptions = {}): Promise<ChatModel> {
  const { model, provider, apiMode, baseUrl, apiKey, keySource } = chosen;
  const identity: ModelIdentity = { model, provider, apiMode, baseUrl };
  const create = await factoryFor(chosen);
  const wire = wireTraits(identity);
  const place = { identity, apiKey, keySource };
  const { log, extraBody, fetch: given } = options;
  const localFetch = await localFetchFor(chosen);
  return {
    identity,
    stream(request) {
      const markBody = apiMode === "chat_completions" ? request.markBody : undefined;
      // Read at each request, so that a replacement by a test or a proxy is used.
      const { fetch: current } = globalThis;
      const usual = current === NODES_FETCH ? (localFetch ?? current) : current;
      const watch = new ReplyWatch(replyLimit(request));
      const send = outgoingFetch({ fetch: given ?? usual, markBody, watch, extraBody });
      const providerOptions = PROVIDER_OPTIONS[apiMode];
      return streamReply(request, { model: create(send), wire, place, providerOptions, watch, log });
    },
  };
}

const NODES_FETCH = globalThis.fetch;

/** Undefined for remote servers: one that is silent for five minutes has failed. */
async function localFetchFor({ baseUrl }: ChosenModel): Promise<typeof fetch | undefined> {
  const url = parseBaseUrl(baseUrl);
  if (url === undefined || !isLoopback(url)) return undefined;
  const { fetchWithoutTimeout } = await import("./fetch-without-timeout.ts");
  return fetchWithoutTimeout;
}

const PROVIDER_OPTIONS: Readonly<
  Record<ModelIdentity["apiMode"], LanguageModelV4CallOptions["providerOptions"]>
> = {
  // Pings count as data, so that a long silence is noticed only when the server is really gone.
  anthropic_messages: { anthropic: { includePings: true } },
  chat_completions: undefined,
  // OpenAI stores nothing; for reasoning models the SDK then asks for the reasoning in encrypted form.
  responses: { openai: { store: false } },
  google: undefined,
};

/** Addresses and keys are always passed: the SDKs would read missing ones from the environment. */
async function factoryFor(chosen: ChosenModel): Promise<Factory> {
  const { model, provider, apiMode, apiKey } = chosen;
  switch (apiMode) {
    case "anthropic_messages": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const baseURL = apiAddress(chosen);
      return (send) => createAnthropic({ baseURL, apiKey, fetch: send })(model);
    }
    case "responses": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const baseURL = apiAddress(chosen);
      return (send) => createOpenAI({ baseURL, apiKey, fetch: send }).responses(model);
    }
    case "google": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      const baseURL = apiAddress(chosen);
      return (send) => createGoogleGenerativeAI({ baseURL, apiKey, fetch: send })(model);
    }
    case "chat_completions": {
      const baseURL = apiAddress(chosen);
      if (provider === "openai") {
        // OpenAI's SDK knows which settings OpenAI's models accept.
        const { createOpenAI } = await import("@ai-sdk/openai");
        return (send) => createOpenAI({ baseURL, apiKey, fetch: send }).chat(model);
      }
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      // OpenRouter's own SDK drops and reorders fields that have to go back unchanged, and writes to the terminal.
      const transformRequestBody = isOpenRouter(chosen) ? withUsage : undefined;
      const settings = { name: "chat", baseURL, apiKey, includeUsage: true, transformRequestBody };
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

/** The address with the version, below which the protocol has its paths: `https://api.anthropic.com/v1`. */
export function apiAddress(place: Pick<ModelIdentity, "apiMode" | "baseUrl">): string {
  const usual = {
    anthropic_messages: ["https://api.anthropic.com/v1", "v1"],
    google: ["https://generativelanguage.googleapis.com/v1beta", "v1beta"],
    responses: [OPENAI],
    chat_completions: [OPENAI],
  };
  const [address = OPENAI, version] = usual[place.apiMode];
  return addressWith(place, address, version);
}

/** Users write addresses with and without the version. `always`: this version is added to any path without one. */
function addressWith({ baseUrl }: Pick<ModelIdentity, "baseUrl">, usual: string, always?: string): string {
  if (baseUrl === "") return usual;
  const url = parseBaseUrl(baseUrl);
  const plain = baseUrl.trim().replace(/\/+$/, "");
  if (url === undefined || /\/v\d+(?:beta|alpha)?\d*$/.test(plain)) return plain;
  const hasPath = url.pathname !== "/" && url.pathname !== "";
  if (hasPath && always === undefined) return plain;
  return `${plain}/${always ?? "v1"}`;
}

// The `fetch` of one request: changes the finished body, and never follows a redirect with the key

type OutgoingOptions = {
  readonly fetch: typeof fetch;
  readonly markBody?: ModelRequest["markBody"];
  readonly watch: ReplyWatch;
  /** Added to the body. */
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
      body: changesBody && typeof body === "string" ? changed(body, extraBody, markBody) : body,
      // Following a redirect would send the key to another server. The redirect becomes an error that says so.
      redirect: "manual",
    });
    return watch.over(response);
  };
}

/** Without a key the request gets no key header at all, rather than an empty one. */
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

// From a model object of the AI SDK that a program made

/** What an AI SDK model does not know about itself. */
export type SdkModelOptions = {
  readonly log?: Logger;
  /** The object does not know these three; they are needed for prices, windows and cache markers. */
  readonly provider?: string;
  readonly apiMode?: ApiMode;
  readonly baseUrl?: string;
};

/**
 * A model object of the AI SDK 5, 6 or 7 as a `ChatModel`. For a model that answers one prompt with text, as `extract`, `compact` and
 * the context engines take it, give the result to `toTextModel`: `toTextModel(await fromSdkModel(openai("gpt-5")))`. Rejects with
 * `bad-model`. `markBody` of a request has no effect: the program's object makes the body.
 */
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

/** A cast instead of a copy, so that getters of a class are included. */
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

/** `anthropic` for `anthropic.messages`. */
function providerOf(sdkProvider: string): string {
  return sdkProvider.split(".")[0]?.trim() ?? sdkProvider;
}
