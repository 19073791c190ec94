// Under which names servers tell how many tokens a model takes, and what can be believed.
import { isRecord } from "@hermes-memory/core/lib";

const LEAST = 1_024;
const MOST = 10_000_000;

/** In this order: what is served now goes before what the model was trained for. */
const FIELDS = [
  "context_length",
  "context_window",
  "context_size",
  "max_model_len",
  "n_ctx",
  "ctx_size",
  "max_context_length",
  "max_input_tokens",
  "max_sequence_length",
  "max_seq_len",
  "max_position_embeddings",
  "n_ctx_train",
];

export function isPlausibleWindow(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= LEAST && value <= MOST;
}

/** A number, or one that was written as text. */
export function asWindow(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  return isPlausibleWindow(number) ? number : undefined;
}

/** What an entry of a list of models says about its window, itself or one level further in. */
export function windowIn(entry: unknown): number | undefined {
  const own = firstField(entry);
  if (own !== undefined) return own;
  const inner = Object.values(asRecord(entry)).map(firstField);
  return inner.find((tokens) => tokens !== undefined);
}

export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function firstField(value: unknown): number | undefined {
  const record = asRecord(value);
  return FIELDS.map((field) => asWindow(record[field])).find((tokens) => tokens !== undefined);
}
