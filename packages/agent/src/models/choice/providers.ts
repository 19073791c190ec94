// The known providers of models, as data, and what a model's name says about its provider. Addresses and variable names are the
// vendors' own; suggested models are names that the AI SDK's packages list (a test compares them).
import type { ApiMode } from "../chat.ts";

export type Provider = {
  readonly name: string;
  readonly label: string;
  readonly aliases: readonly string[];
  readonly apiMode: ApiMode;
  /** Environment variables that may hold the key, the usual one first. */
  readonly envVars: readonly string[];
  /** Runs on the user's machine and needs no key. */
  readonly isLocal: boolean;
  /** "" for the default of the vendor's SDK. */
  readonly baseUrl: string;
  /** The vendor's host: an address there means this provider. "" for none. */
  readonly host: string;
  readonly models: readonly string[];
};

/** For listings. */
export type KnownProvider = {
  readonly name: string;
  readonly label: string;
  readonly envVars: readonly string[];
  readonly isLocal: boolean;
  /** "" for the vendor's default. */
  readonly defaultBaseUrl: string;
  /** Suggestions; not a complete list. */
  readonly models: readonly string[];
};

const PLAIN = { aliases: [], isLocal: false, baseUrl: "", models: [] };

export const PROVIDERS: readonly Provider[] = [
  {
    ...PLAIN,
    ...{ name: "anthropic", label: "Anthropic", aliases: ["claude"], apiMode: "anthropic_messages" },
    envVars: ["ANTHROPIC_API_KEY"],
    host: "api.anthropic.com",
    models: ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"],
  },
  {
    ...PLAIN,
    ...{ name: "openai", label: "OpenAI", apiMode: "responses" },
    envVars: ["OPENAI_API_KEY"],
    host: "api.openai.com",
    models: ["gpt-5.5", "gpt-5.4-mini", "gpt-5.4-nano"],
  },
  {
    ...PLAIN,
    ...{ name: "google", label: "Google Gemini", aliases: ["gemini"], apiMode: "google" },
    envVars: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    host: "generativelanguage.googleapis.com",
    models: ["gemini-3.1-pro-preview", "gemini-3.8-flash", "gemini-3.5-flash-lite"],
  },
  {
    ...PLAIN,
    ...{ name: "openrouter", label: "OpenRouter", apiMode: "chat_completions" },
    envVars: ["OPENROUTER_API_KEY"],
    baseUrl: "https://openrouter.ai/api/v1",
    host: "openrouter.ai",
  },
  {
    ...PLAIN,
    ...{ name: "nous", label: "Nous Portal", apiMode: "chat_completions" },
    envVars: ["NOUS_API_KEY"],
    baseUrl: "https://inference-api.nousresearch.com/v1",
    host: "inference-api.nousresearch.com",
  },
  localServer("ollama", "Ollama", 11434),
  localServer("lmstudio", "LM Studio", 1234, ["lm-studio"]),
  localServer("llamacpp", "llama.cpp", 8080, ["llama.cpp", "llama-cpp"]),
  localServer("vllm", "vLLM", 8000),
];

/** All providers except `custom`, which stands for any other server. */
export function knownProviders(): readonly KnownProvider[] {
  return PROVIDERS.map(({ name, label, envVars, isLocal, baseUrl, models }) => {
    return { name, label, envVars, isLocal, defaultBaseUrl: baseUrl, models };
  });
}

/** By name or alias; upper and lower case are the same. */
export function findProvider(name: string): Provider | undefined {
  const wanted = name.trim().toLowerCase();
  return PROVIDERS.find((provider) => provider.name === wanted || provider.aliases.includes(wanted));
}

/** The vendor to whom this address belongs. */
export function providerAt(address: URL): Provider | undefined {
  return PROVIDERS.find(({ host }) => host !== "" && host === address.hostname.toLowerCase());
}

function localServer(name: string, label: string, port: number, aliases: readonly string[] = []): Provider {
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const apiMode = "chat_completions";
  return { name, label, aliases, apiMode, envVars: [], isLocal: true, baseUrl, host: "", models: [] };
}

// Providers in model names

type WrittenModel = {
  /** The provider before the separator. */
  readonly provider: Provider;
  readonly model: string;
  readonly separator: "/" | ":";
};

/** Splits `openai/gpt-5` and `anthropic:claude-...`. Undefined for a plain name, such as `qwen3:8b` with Ollama's tag. */
export function withProviderInFront(name: string): WrittenModel | undefined {
  const match = /^([^/:\s]+)([/:])(\S.*)$/.exec(name.trim());
  const [, front = "", separator = "", model = ""] = match ?? [];
  const provider = front === "" ? undefined : findProvider(front);
  if (provider === undefined || (separator !== "/" && separator !== ":")) return undefined;
  // The names of OpenRouter's own models begin with its name: `openrouter/auto`.
  const isItsOwn = provider.name === "openrouter" && separator === "/" && !model.includes("/");
  return { provider, model: isItsOwn ? name.trim() : model, separator };
}

const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^claude/, "anthropic"],
  [/^(?:gpt|chatgpt|o[134])(?![a-z])/, "openai"],
  [/^gemini/, "google"],
];

/** The vendor that a model's name suggests. `gpt-oss` is an open model that any server may have. */
export function vendorOf(model: string): Provider | undefined {
  const name = model.trim().toLowerCase();
  if (name.startsWith("gpt-oss")) return undefined;
  const family = FAMILIES.find(([pattern]) => pattern.test(name));
  return family && findProvider(family[1]);
}
