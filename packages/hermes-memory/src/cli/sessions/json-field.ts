// Looking into values whose shape other programs decide.

/** The field of an object; undefined for anything that has none. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
