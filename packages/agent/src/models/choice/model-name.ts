// What a model's name says about who serves it.
import { findProvider, type Provider } from "./providers.ts";

export type WrittenModel = {
  /** The provider that was written in front. */
  readonly provider: Provider;
  readonly model: string;
  readonly separator: "/" | ":";
};

/** `openai/gpt-5` and `anthropic:claude-...`. Undefined for a plain name; `qwen3:8b` is one, with Ollama's tag. */
export function withProviderInFront(name: string): WrittenModel | undefined {
  const match = /^([^/:\s]+)([/:])(\S.*)$/.exec(name.trim());
  const [, front = "", separator = "", model = ""] = match ?? [];
  const provider = front === "" ? undefined : findProvider(front);
  if (provider === undefined || (separator !== "/" && separator !== ":")) return undefined;
  // OpenRouter's own models are called after it: `openrouter/auto`.
  const isItsOwn = provider.name === "openrouter" && separator === "/" && !model.includes("/");
  return { provider, model: isItsOwn ? name.trim() : model, separator };
}

const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^claude/, "anthropic"],
  [/^(?:gpt|chatgpt|o[134])(?![a-z])/, "openai"],
  [/^gemini/, "google"],
];

/** Whose model it is by the look of its name. Open models have the makers' names too: `gpt-oss` is nobody's. */
export function vendorOf(model: string): Provider | undefined {
  const name = model.trim().toLowerCase();
  if (name.startsWith("gpt-oss")) return undefined;
  const family = FAMILIES.find(([pattern]) => pattern.test(name));
  return family && findProvider(family[1]);
}
