// The kinds of config keys. A key is declared once (keys.ts) with its kind, default and meaning. Its TypeScript type, the check of its
// value, its row in the table and on the reference page follow from that declaration.
import { isRecord } from "../lib/index.ts";

export type KeyKind = "boolean" | "approval" | "number" | "choice" | "text" | "list" | "section" | "unused";

/**
 * refused: the file cannot be used. ignored: the default counts instead, as in the reference. doubtful: read, but probably not as meant.
 * remark: `text` says everything and no value is shown. old-name: set under a name of the past.
 */
export type FindingKind = "refused" | "ignored" | "doubtful" | "remark" | "old-name";

/** Reports something about a value: `text` reads on after the key, `at` leads from the key to the part that is meant. */
export type Note = (kind: FindingKind, text: string, at?: readonly string[]) => undefined;

type Described = {
  readonly kind: KeyKind;
  /** As the reference page says it. */
  readonly allowed: string;
  readonly meaning: string;
  /** Neither the Hermes of June nor that of today knows the key. */
  readonly isOurs: boolean;
};

/** `Standard` is what counts when nothing is set; undefined: the setting is absent then. */
export type Key<T, Standard = T> = Described & {
  readonly node: "key";
  readonly standard: Standard;
  /** The standard as shown to users; undefined where it is no value of the file. */
  readonly default: unknown;
  /** Reads on after the key. */
  readonly must: string;
  readonly isRequired?: true;
  /** One key for each name below: the row is `key.*`, and this is what the name stands for. */
  readonly entryName?: string;
  /** Never called with null or undefined. Undefined: the standard counts. */
  readonly parse: (value: unknown, note: Note) => T | undefined;
};

/** Known, but no setting of this program: accepted, or the old name of a key. */
export type Unread = Described & { readonly node: "unread"; readonly renamed?: Renamed };

export type Renamed = {
  readonly to: readonly string[];
  /** The value that counts under the new name, or undefined when what stands there counts. */
  readonly take: (old: unknown, current: unknown) => unknown;
};

export type Section<F extends Fields = Fields> = {
  readonly node: "section";
  readonly fields: F;
  readonly must: string;
  /** A text alone stands for a section with this one key. */
  readonly shortFor?: string;
  /** Another program may have a key of this name that is no section. */
  readonly isShared?: true;
};

/** Names that the user chooses, each with the same below it. */
export type Named<V extends Node = Node> = {
  readonly node: "named";
  readonly name: string;
  readonly value: V;
};

export type Node = Key<unknown, unknown> | Unread | Section | NamedNode;
// An interface, because a type alias may not name itself here.
interface NamedNode extends Named<Node> {}
export type Fields = { readonly [name: string]: Node };

/** `recall_max_chars` becomes `recallMaxChars`. */
type Camel<S extends string> = S extends `${infer Head}_${infer Letter}${infer Rest}`
  ? `${Head}${Uppercase<Letter>}${Camel<Rest>}`
  : S;

type Role<N> = N extends Unread | Named<Unread>
  ? "unread"
  : N extends Key<unknown, undefined>
    ? "maybe"
    : "always";

type ValueOf<N> =
  N extends Key<infer T, unknown>
    ? T
    : N extends Section<infer F>
      ? SectionValue<F>
      : N extends Named<infer V>
        ? Readonly<Record<string, ValueOf<V>>>
        : never;

type Flat<T> = { [K in keyof T]: T[K] };

/** The settings of a section as the program sees them. */
export type SectionValue<F extends Fields> = Flat<
  {
    readonly [K in keyof F as Role<F[K]> extends "always" ? Camel<K & string> : never]: ValueOf<F[K]>;
  } & {
    readonly [K in keyof F as Role<F[K]> extends "maybe" ? Camel<K & string> : never]?: ValueOf<F[K]>;
  }
>;

const SECTION = "must be a section with keys of its own";
const ANY_NUMBER = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };

/** The words that switch an approval on, besides `true`. Every other text means off, as in the reference. */
const APPROVAL_WORDS: readonly string[] = ["on", "true", "yes", "1", "approve", "enabled"];
/** What `set` takes for a switch. */
export const ON_WORDS: readonly string[] = [...APPROVAL_WORDS, "enable"];
export const OFF_WORDS: readonly string[] = ["off", "false", "no", "0", "disable", "disabled"];

/** Booleans count as they are, the words above count as on, everything else as off. */
export function isApprovalOn(value: unknown): boolean {
  return typeof value === "boolean" ? value : APPROVAL_WORDS.includes(wordOf(value) ?? "");
}

export function section<F extends Fields>(
  fields: F,
  rules: { readonly must?: string; readonly shortFor?: keyof F & string; readonly isShared?: true } = {},
): Section<F> {
  return { node: "section", fields, must: SECTION, ...rules };
}

/** `name` is what the reference page shows for the part that the user chooses. */
export function named<V extends Node>(name: string, value: V): Named<V> {
  return { node: "named", name, value };
}

/** Marks a key that only this program knows. */
export function ours<K extends Key<unknown, unknown>>(key: K): K {
  return { ...key, isOurs: true };
}

type Rules<T, S> = Pick<Key<T, S>, "standard" | "must" | "allowed" | "parse"> & {
  readonly kind: KeyKind;
  readonly default?: unknown;
};

/** For a key that is like no other. */
export function key<T, const S extends T | undefined>(rules: Rules<T, S>, meaning: string): Key<T, S> {
  return { node: "key", default: rules.standard, isOurs: false, ...rules, meaning };
}

/** `hasDigits`: 1 and 0 count too. */
export function flag(standard: boolean, meaning: string, { hasDigits = false } = {}): Key<boolean> {
  const must = "must be true or false";
  return key<boolean, boolean>(
    {
      kind: "boolean",
      standard,
      must,
      allowed: hasDigits ? "true, false; 1 and 0 count too" : "true, false",
      parse: (value, note) =>
        switchOf(hasDigits && (value === 0 || value === 1) ? String(value) : value, hasDigits) ??
        note("refused", must),
    },
    meaning,
  );
}

/** Never refused: anything but `true` and the known words means off, as in the reference. */
export function approval(standard: boolean, meaning: string): Key<boolean> {
  const must = "should be true or false";
  return key<boolean, boolean>(
    {
      kind: "approval",
      standard,
      must,
      allowed: "true, false; `on`, `yes`, `1`, `approve`, `enabled` as text count as true",
      parse: (value, note) => {
        const word = typeof value === "boolean" ? "" : (wordOf(value) ?? "?");
        if (word !== "" && !APPROVAL_WORDS.includes(word) && !OFF_WORDS.includes(word))
          note("doubtful", must);
        return isApprovalOn(value);
      },
    },
    meaning,
  );
}

/** `floor` and `ceiling`: a number beyond counts as this one. */
export function whole<const S extends number | undefined>(
  standard: S,
  bounds: { readonly min?: number; readonly floor?: number; readonly ceiling?: number },
  meaning: string,
): Key<number, S> {
  const { min, floor = ANY_NUMBER.min, ceiling = ANY_NUMBER.max } = bounds;
  const must = `must be a whole number${min === undefined ? "" : ` of at least ${min}`}`;
  return key<number, S>(
    {
      kind: "number",
      standard,
      must,
      allowed: [
        `whole number${min === undefined ? "" : `, at least ${min}`}`,
        ...(bounds.floor === undefined ? [] : [`below ${floor} counts as ${floor}`]),
        ...(bounds.ceiling === undefined ? [] : [`above ${ceiling} counts as ${ceiling}`]),
      ].join("; "),
      parse: (value, note) =>
        Number.isSafeInteger(value) && (value as number) >= (min ?? ANY_NUMBER.min)
          ? Math.min(ceiling, Math.max(floor, value as number))
          : note("refused", must),
    },
    meaning,
  );
}

/** A whole number above 0. Anything else, `256K` for one, is ignored, as in the reference. */
export function count<const S extends number | undefined>(
  standard: S,
  meaning: string,
  example?: number,
): Key<number, S> {
  const must = `must be a whole number above 0${example === undefined ? "" : `, such as ${example}`}`;
  return key<number, S>(
    {
      kind: "number",
      standard,
      must,
      allowed: "whole number above 0",
      parse: (value, note) => countOf(value) ?? note("ignored", must),
    },
    meaning,
  );
}

export function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}

type Range = {
  /** Excluded; 0 where nothing is said. */
  readonly above?: number;
  readonly min?: number;
  readonly max?: number;
  /** Numbers outside count as the nearer end. */
  readonly isClamped?: true;
  readonly must?: string;
};

/** Fractions allowed. */
export function number<const S extends number | undefined>(
  standard: S,
  range: Range,
  meaning: string,
): Key<number, S> {
  const {
    above = range.min === undefined ? 0 : ANY_NUMBER.min,
    min = ANY_NUMBER.min,
    max = ANY_NUMBER.max,
  } = range;
  const isIn = (value: number) => value > above && value >= min && value <= max;
  const span = range.min === undefined ? `above ${above}` : `from ${min}`;
  const limit = range.min === undefined ? ", at most" : " to";
  const must =
    range.must ?? `must be a number above ${above}${range.max === undefined ? "" : ` and at most ${max}`}`;
  return key<number, S>(
    {
      kind: "number",
      standard,
      must,
      allowed: `number ${span}${range.max === undefined ? "" : `${limit} ${max}`}${range.isClamped ? "; beyond counts as the nearer end" : ""}`,
      parse: (value, note) => {
        if (typeof value !== "number" || !Number.isFinite(value)) return note("refused", must);
        if (range.isClamped) return Math.min(max, Math.max(min, value));
        return isIn(value) ? value : note("refused", must);
      },
    },
    meaning,
  );
}

/** `from` turns other spellings into a choice; `isLenient`: a wrong one is ignored. */
export function choice<const O extends readonly string[], const S extends O[number] | undefined>(
  options: O,
  standard: S,
  meaning: string,
  rules: { readonly from?: (value: unknown) => unknown; readonly isLenient?: true } = {},
): Key<O[number], S> {
  const must = `must be ${options.slice(0, -1).join(", ")} or ${options.at(-1)}`;
  return key<O[number], S>(
    {
      kind: "choice",
      standard,
      must,
      allowed: options.map((option) => `\`${option}\``).join(", "),
      parse: (value, note) => {
        const chosen = rules.from === undefined ? value : rules.from(value);
        return (
          options.find((option) => option === chosen) ?? note(rules.isLenient ? "ignored" : "refused", must)
        );
      },
    },
    meaning,
  );
}

type TextRules = {
  readonly must?: string;
  readonly allowed?: string;
  readonly isTrimmed?: true;
  /** Blank text means the default. */
  readonly isNeverBlank?: true;
};

export function text(standard: string, meaning: string, rules: TextRules = {}): Key<string> {
  const { must = "must be text", allowed = "text", isTrimmed, isNeverBlank } = rules;
  return key<string, string>(
    {
      kind: "text",
      standard,
      must,
      allowed,
      parse: (value, note) => {
        if (typeof value !== "string") return note("refused", must);
        const tidy = isTrimmed ? value.trim() : value;
        return isNeverBlank && tidy === "" ? undefined : tidy;
      },
    },
    meaning,
  );
}

/** Never refused, because a refusal would show it. */
export function secret(meaning: string): Key<string> {
  const rules = { kind: "text", standard: "", must: "must be text", allowed: "text" } as const;
  return key<string, string>({ ...rules, parse: (value) => String(value) }, meaning);
}

/** Texts. `isOneEnough`: a text alone counts as a list of one. */
export function list(
  rules: {
    readonly of: string;
    readonly example: string;
    readonly isOneEnough?: true;
    readonly allowed?: string;
  },
  meaning: string,
): Key<readonly string[]> {
  const must = `must be a list of ${rules.of}, such as [${rules.example}]`;
  return key<readonly string[], readonly string[]>(
    {
      kind: "list",
      standard: Object.freeze([]),
      must,
      allowed: rules.allowed ?? `list of ${rules.of}`,
      parse: (value, note) => {
        const items: unknown = rules.isOneEnough && typeof value === "string" ? [value] : value;
        if (!Array.isArray(items)) return note("refused", must);
        for (const [index, item] of items.entries())
          if (typeof item !== "string") note("refused", must, [String(index)]);
        return items;
      },
    },
    meaning,
  );
}

/** Keys and values that are handed on as they are. */
export function anyFields(meaning: string): Key<Readonly<Record<string, unknown>>> {
  return key<Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>>(
    {
      kind: "section",
      standard: Object.freeze({}),
      must: SECTION,
      allowed: "keys and values",
      parse: (value, note) => (isRecord(value) ? value : note("refused", SECTION)),
    },
    meaning,
  );
}

/** A section that is one key: it is set, listed and documented as a whole. */
export function block<F extends Fields>(fields: F, allowed: string, meaning: string): Key<SectionValue<F>> {
  const inner = section(fields);
  const rules = { kind: "section", must: SECTION, allowed, default: undefined } as const;
  // `isRequired` makes sure that the standard is never asked for.
  const standard = undefined as unknown as SectionValue<F>;
  const parse = (value: unknown, note: Note) => readNode(inner, value, note) as SectionValue<F>;
  return {
    ...key<SectionValue<F>, SectionValue<F>>({ ...rules, standard, parse }, meaning),
    isRequired: true,
  };
}

/** A number of at least 0 that has to be there; `isRequired` false: may be missing. */
export function required<K extends Key<unknown, unknown>>(inner: K): K {
  return { ...inner, isRequired: true };
}

/** Accepted because files of the original carry it. */
export function accepted(reason = "nothing reads it"): Unread {
  const meaning = `Accepted because files of the original carry it; ${reason}.`;
  return { node: "unread", kind: "unused", allowed: "anything", meaning, isOurs: false };
}

/** A name of the past; `take` says when its value counts. */
export function renamed(to: string, take: Renamed["take"]): Unread {
  const meaning = `Old name of ${to}; counts where that is not set.`;
  const rename = { to: to.split("."), take };
  return { node: "unread", kind: "text", allowed: "text", meaning, isOurs: false, renamed: rename };
}

/** The value of a node, the keys of sections in camel case. What is wrong goes to `note`, with the path below the node. */
export function readNode(node: Node, value: unknown, note: Note): unknown {
  switch (node.node) {
    case "unread":
      return undefined;
    case "key": {
      const isMissing = value === undefined || value === null;
      if (isMissing && node.isRequired) return note("refused", node.must);
      return (isMissing ? undefined : node.parse(value, note)) ?? node.standard;
    }
    case "named": {
      if (node.value.node === "unread") return undefined;
      const given = value ?? {};
      if (!isRecord(given)) return note("refused", SECTION);
      const entries = Object.entries(given);
      return Object.fromEntries(
        entries.map(([name, each]) => [name, readBelow(node.value, name, each, note)]),
      );
    }
    case "section": {
      const given = toSection(node, value ?? {});
      if (given === undefined) return note("refused", node.must);
      const values: Record<string, unknown> = {};
      for (const [name, field] of Object.entries(node.fields)) {
        const read = readBelow(field, name, Object.hasOwn(given, name) ? given[name] : undefined, note);
        if (read !== undefined) values[camelCase(name)] = read;
      }
      return values;
    }
  }
}

function readBelow(node: Node, name: string, value: unknown, note: Note): unknown {
  return readNode(node, value, (kind, text, at = []) => note(kind, text, [name, ...at]));
}

function toSection(node: Section, given: unknown): Readonly<Record<string, unknown>> | undefined {
  if (isRecord(given)) return given;
  if (typeof given === "string" && node.shortFor !== undefined) return { [node.shortFor]: given };
  return node.isShared ? {} : undefined;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

// YAML 1.1, which the reference reads, has these words for booleans; 1.2 hands them over as text.
export function switchOf(value: unknown, hasDigits = false): boolean | undefined {
  if (typeof value === "boolean" || typeof value !== "string")
    return value === true || value === false ? value : undefined;
  const word = value.toLowerCase();
  if (["true", "yes", "on", ...(hasDigits ? ["1"] : [])].includes(word)) return true;
  return ["false", "no", "off", ...(hasDigits ? ["0"] : [])].includes(word) ? false : undefined;
}

/** A text as a word to compare: without spaces around it, in small letters. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" ? value.trim().toLowerCase() : undefined;
}
