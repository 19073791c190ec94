// One row of the table of keys.

export type KeyKind = "boolean" | "approval" | "number" | "choice" | "text" | "list" | "section" | "unused";

export type ConfigKey = {
  /** Dotted path; `*` stands for any one name. */
  readonly key: string;
  readonly kind: KeyKind;
  /** Undefined: no value unless one is given. */
  readonly default: unknown;
  readonly meaning: string;
};

export function key(path: string, kind: KeyKind, standard: unknown, meaning: string): ConfigKey {
  return { key: path, kind, default: standard, meaning };
}
