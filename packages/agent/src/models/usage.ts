// Tokens as servers count them: the usage of calls, in buckets that do not overlap, and how a server's counts compare with our
// estimates, per model and base URL. A server is expected to count the estimate times `factor`, which is kept in
// `token_calibration.json`. Only a cache: if the file is damaged, the factor is learnt again.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { updateTextFile } from "@hermes-memory/core/internal/config";
import { isRecord, ok } from "@hermes-memory/core/internal/lib";
import { safeAddress } from "./base-url.ts";
import { type CacheKey, withoutProvider } from "./context-window/window-cache.ts";
import { asRecord } from "./json-fields.ts";

/** The protocol a usage was reported in. */
export type Wire = "anthropic" | "chat" | "responses";

/** Tokens. `input` counts those neither read from a cache nor written to one; `reasoning` is a part of `output`. */
export type Usage = {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
};

export const NO_USAGE: Usage = Object.freeze({
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
});

/** From a vendor's usage object. Missing fields and non-numbers count as 0. Without `wire` the shape is recognised by its keys. */
export function normalizeUsage(raw: unknown, wire: Wire = wireOf(raw)): Usage {
  const usage = asRecord(raw);
  if (wire === "anthropic")
    return {
      input: count(usage.input_tokens),
      cacheRead: count(usage.cache_read_input_tokens),
      cacheWrite: count(usage.cache_creation_input_tokens),
      output: count(usage.output_tokens),
      reasoning: count(asRecord(usage.output_tokens_details).thinking_tokens),
    };
  // The other wires count cached tokens as part of the prompt.
  const isChat = wire === "chat";
  const details = asRecord(isChat ? usage.prompt_tokens_details : usage.input_tokens_details);
  const outputDetails = asRecord(isChat ? usage.completion_tokens_details : usage.output_tokens_details);
  const cacheRead = first(details.cached_tokens, usage.cache_read_input_tokens);
  const cacheWrite = first(
    ...[details.cache_write_tokens, details.cache_creation_tokens, usage.cache_creation_input_tokens],
  );
  const prompt = count(isChat ? usage.prompt_tokens : usage.input_tokens);
  return {
    input: Math.max(0, prompt - cacheRead - cacheWrite), // more tokens may be cached than sent
    cacheRead,
    cacheWrite,
    output: count(isChat ? usage.completion_tokens : usage.output_tokens),
    reasoning: count(outputDetails.reasoning_tokens),
  };
}

/** All tokens of a prompt: new, read from the cache, written to it. */
export function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
  return input + cacheRead + cacheWrite;
}

/** All tokens of a call. */
export function totalTokens(usage: Usage): number {
  return promptTokens(usage) + usage.output;
}

/** Adds two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}

function wireOf(raw: unknown): Wire {
  const usage = asRecord(raw);
  if ("prompt_tokens" in usage || "completion_tokens" in usage) return "chat";
  return "input_tokens_details" in usage || "total_tokens" in usage ? "responses" : "anthropic";
}

function first(...values: readonly unknown[]): number {
  return values.map(count).find((value) => value > 0) ?? 0;
}

function count(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number > 0 ? Math.trunc(number) : 0;
}

// Calibration.

/** The measurements of one model at one address. */
export type Calibration = {
  /** The server's tokens per estimated token, smoothed; 1 to 4. */
  readonly factor: number;
  /** The number of counts that went into the factor; 0: nothing is known. */
  readonly samples: number;
};

export const UNCALIBRATED: Calibration = Object.freeze({ factor: 1, samples: 0 });

const LEAST_FACTOR = 1;
const MOST_FACTOR = 4;
/** The factor rises faster than it falls: an estimate that is too low leads to a refused request. */
const RISE = 0.7;
const FALL = 0.3;
/** Each refused request without a count multiplies the factor by this. */
const BLIND_STEP = 1.5;
/** For shorter requests, the fixed tokens that a server adds outweigh those of the text. */
const LEAST_ESTIMATE = 100;

/** After a reply: the server counted `counted` tokens (cached ones included) for what we estimated at `estimated`. */
export function afterCount(state: Calibration, estimated: number, counted: number): Calibration {
  if (!(estimated >= LEAST_ESTIMATE && counted > 0 && Number.isFinite(counted / estimated))) return state;
  const ratio = clamp(counted / estimated);
  const weight = state.samples === 0 ? 1 : ratio > state.factor ? RISE : FALL;
  return { factor: clamp(state.factor + weight * (ratio - state.factor)), samples: state.samples + 1 };
}

/** After a refused request. The estimate was certainly too low, so the factor is not smoothed and never falls. */
export function afterOverflow(
  state: Calibration,
  estimated: number,
  counted: number | undefined,
): Calibration {
  const isCounted = counted !== undefined && counted > 0 && estimated > 0;
  const least = isCounted ? counted / estimated : state.factor * BLIND_STEP;
  return { factor: clamp(Math.max(state.factor, least)), samples: state.samples + 1 };
}

function clamp(factor: number): number {
  return Math.min(MOST_FACTOR, Math.max(LEAST_FACTOR, factor));
}

const FILE = "token_calibration.json";
/** Smaller relative changes of the factor are not written to the file. */
const WORTH_WRITING = 0.05;

/** The calibration of one model at one address, stored in a home. */
export class TokenCalibration {
  readonly #path: string;
  readonly #name: string;
  #state: Calibration;
  #written: number;

  private constructor(path: string, name: string, state: Calibration) {
    this.#path = path;
    this.#name = name;
    this.#state = state;
    this.#written = state.samples === 0 ? 0 : state.factor;
  }

  static open(home: string, key: CacheKey): TokenCalibration {
    const path = calibrationPath(home);
    const name = entryName(key);
    return new TokenCalibration(path, name, calibrationIn(entriesAt(path)[name]));
  }

  /** At least 1. */
  get factor(): number {
    return this.#state.factor;
  }

  /** The count expected from the server for an estimate. */
  tokens(estimated: number): number {
    return Math.ceil(estimated * this.factor);
  }

  observe(estimated: number, counted: number): void {
    this.#become(afterCount(this.#state, estimated, counted));
  }

  /** `counted`: the number in the error, if it states one. */
  observeOverflow(estimated: number, counted: number | undefined): void {
    this.#become(afterOverflow(this.#state, estimated, counted));
  }

  /** True when the server has stated the same window in another session before; otherwise stores it for the next time. */
  isStatedTwice(tokens: number, sessionId: string): boolean {
    const entry = entriesAt(this.#path)[this.#name];
    const stated = isRecord(entry) && isRecord(entry.stated_window) ? entry.stated_window : {};
    if (stated.tokens === tokens && stated.session_id !== sessionId) return true;
    this.#write({ stated_window: { tokens, session_id: sessionId } });
    return false;
  }

  #become(next: Calibration): void {
    if (next === this.#state) return;
    this.#state = next;
    if (Math.abs(next.factor - this.#written) < WORTH_WRITING * next.factor) return;
    this.#written = next.factor;
    this.#write({});
  }

  /** Keeps the other entries, and fields that another process wrote into this one. */
  #write(more: Readonly<Record<string, unknown>>): void {
    const { factor, samples } = this.#state;
    const updated_at = new Date().toISOString();
    try {
      updateTextFile<undefined, undefined>(this.#path, {
        unreadable: () => undefined,
        modes: { mode: 0o600 },
        change: (text) => {
          const { [this.#name]: old, ...others } = parsed(text);
          const known = samples === 0 ? {} : { factor: rounded(factor), samples };
          const entry = { ...(isRecord(old) ? old : {}), ...known, ...more, updated_at };
          const models = { ...others, [this.#name]: entry };
          return ok({ text: `${JSON.stringify({ models }, null, 2)}\n`, outcome: undefined });
        },
      });
    } catch {
      // Only a cache: if it cannot be written, the factor is learnt again.
    }
  }
}

export function calibrationPath(home: string): string {
  return join(home, FILE);
}

/** The address without a key or password in it. */
function entryName({ model, provider, baseUrl }: CacheKey): string {
  const address = safeAddress(baseUrl);
  return `${withoutProvider(model.trim())}@${address === "" ? provider.toLowerCase() : address}`;
}

type Entries = Readonly<Record<string, unknown>>;

function entriesAt(path: string): Entries {
  try {
    return parsed(readFileSync(path, "utf8"));
  } catch {
    return {}; // missing or unreadable: the factor is learnt again
  }
}

/** Empty for a file that is not our JSON; the next write replaces it. */
function parsed(text: string | undefined): Entries {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isRecord(value) && isRecord(value.models) ? value.models : {};
  } catch {
    return {};
  }
}

function calibrationIn(entry: unknown): Calibration {
  const { factor, samples } = isRecord(entry) ? entry : {};
  if (typeof factor !== "number" || !Number.isFinite(factor)) return UNCALIBRATED;
  const count = typeof samples === "number" && Number.isSafeInteger(samples) && samples > 0 ? samples : 1;
  return { factor: clamp(factor), samples: count };
}

function rounded(factor: number): number {
  return Math.round(factor * 1000) / 1000;
}
