// A model that was chosen becomes one that can be asked. The vendor's SDK is loaded here, and only that one.
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { ChatModel, ModelIdentity } from "../chat.ts";
import type { ChosenModel } from "../choice-types.ts";
import { isLoopback, parseBaseUrl } from "../context-window/base-url.ts";
import { outgoingFetch } from "./outgoing.ts";
import { ReplyWatch } from "./reply-watch.ts";
import { replyLimit, streamReply } from "./stream.ts";
import { isOpenRouter, wireTraits } from "./wire.ts";

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
  const patient = await patientFetchFor(chosen);
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
async function patientFetchFor({ baseUrl }: ChosenModel): Promise<typeof fetch | undefined> {
  const url = parseBaseUrl(baseUrl);
  if (url === undefined || !isLoopback(url)) return undefined;
  const { patientFetch } = await import("./patient-fetch.ts");
  return patientFetch;
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
