// Settings as people and wizards write them: numbers and booleans may arrive as text.
const TRUE_WORDS = ["true", "1", "yes", "on"];
const FALSE_WORDS = ["false", "0", "no", "off"];

export function readBoolean(value: unknown, standard: boolean): boolean {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isNaN(value) ? standard : value !== 0;
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (TRUE_WORDS.includes(word)) return true;
  return FALSE_WORDS.includes(word) ? false : standard;
}

/** Within the bounds; `standard` when it is no number at all. */
export function readNumber(
  value: unknown,
  standard: number,
  bounds: { readonly min: number; readonly max: number },
): number {
  const text = typeof value === "string" ? value.trim() : value;
  const number = typeof text === "string" && text !== "" ? Number(text) : text;
  if (typeof number !== "number" || !Number.isFinite(number)) return standard;
  return Math.min(bounds.max, Math.max(bounds.min, number));
}

export function readText(value: unknown, standard: string): string {
  if (typeof value === "string") return value.trim() === "" ? standard : value.trim();
  return typeof value === "number" || typeof value === "boolean" ? String(value) : standard;
}
