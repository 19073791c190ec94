// Which model is meant, before anybody talks to it.
import type { ModelIdentity } from "./chat.ts";

/** What a flag, an option or a slash command says. Whatever is absent or blank comes from the environment and config. */
export type ModelSelection = {
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly apiMode?: string | undefined;
};

export type ChosenModel = ModelIdentity & {
  /** "" where none is needed. */
  readonly apiKey: string;
  /** For people: `ANTHROPIC_API_KEY`, `config`, `flag`, `none needed`. Never the key. */
  readonly keySource: string;
};

export type ModelChoiceError = {
  readonly kind: "no_model" | "no_key" | "unknown_provider" | "bad_address";
  readonly message: string;
  readonly hint: string;
};
