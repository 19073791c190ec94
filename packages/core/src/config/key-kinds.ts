// The kinds of config keys. keys.ts declares each key once, with its kind, default and meaning. Its TypeScript type, the check of its
// value and its row on the reference page are derived from that. A declared key is plain data, and the functions are in its kind,
// because the whole table is built at every start.
import { parseProfileName } from "../home.ts";
import { isRecord, isTimeZone, preview, pyStrip } from "../lib/index.ts";

export type KeyKind = "boolean" | "approval" | "number" | "choice" | "text" | "list" | "section" | "unused";

/**
 * refused: the file cannot be used. ignored: the default is used instead, as in the Python original. doubtful: used, but probably
 * not as intended. passed-over: kept in the file, because another program may know the value; this program uses the default.
 * remark: part of the value is left out; the message does not show it. old-name: set under an old name of the key.
 */
export type FindingKind = "refused" | "ignored" | "passed-over" | "doubtful" | "remark" | "old-name";

export type ConfigIssue = {
  /** Dotted path of the key; empty for the whole file. */
  readonly key: string;
  /** To print after the key: `must be ..., but is ...`. */
  readonly message: string;
  readonly line?: number;
};

/** Reports a finding. `text` is printed after the key; `at` is the path from the key to the part concerned. */
export type Note = (kind: FindingKind, text: string, at?: readonly string[]) => undefined;

/** Options of a kind that each key can set. */
export type Rules = {
  readonly min?: number;
  readonly max?: number;
  /** Lower bound, excluded. */
  readonly above?: number;
  /** Smaller numbers become `floor`, larger ones `ceiling`. */
  readonly floor?: number;
  readonly ceiling?: number;
  /** 1 and 0 are accepted as true and false. */
  readonly hasDigits?: true;
  readonly options?: readonly string[];
  /** Turns other spellings into one of the options. */
  readonly from?: (value: unknown) => unknown;
  /** For lists: the name of its elements, and an example of one. */
  readonly of?: string;
  readonly example?: string | number;
  /** A single text is accepted as a list of one. */
  readonly isOneEnough?: true;
  readonly isTrimmed?: true;
  /** Blank text means the default. */
  readonly isNeverBlank?: true;
  /** A wrong value is ignored instead of refused, as in the Python original. */
  readonly isLenient?: true;
  /** Replaces the kind's text in errors (`must be ...`), and on the reference page. */
  readonly must?: string;
  readonly allowed?: string;
};

export type Kind<T> = {
  readonly name: KeyKind;
  readonly must: (rules: Rules) => string;
  readonly allowed: (rules: Rules) => string;
  /** Never called with null or undefined. Returns undefined to use the default. `wrong` reports that the value, or its part `at`, is not allowed. */
  readonly parse: (value: unknown, rules: Rules, wrong: Wrong, note: Note) => T | undefined;
};

type Wrong = (at?: readonly string[]) => undefined;

/** `Standard` is the type of the default; with undefined the setting is optional. */
export type Key<T, Standard = T> = {
  readonly node: "key";
  readonly kind: Kind<T>;
  readonly standard: Standard;
  readonly rules: Rules;
  readonly meaning: string;
  readonly isRequired?: true;
  /** The default is not a value that a file can hold, so it is not shown. */
  readonly hasNoDefault?: true;
  /** The key holds one entry per name, documented as `key.*`; this describes the name. */
  readonly entryName?: string;
};

/** A key that is not a setting of this program: accepted for another program, or the old name of a key. */
export type Unread = {
  readonly node: "unread";
  readonly name: KeyKind;
  readonly allowed: string;
  readonly meaning: string;
  readonly renamed?: Renamed;
};

export type Renamed = {
  readonly to: readonly string[];
  /** The value for the new name, or undefined to use the one set under the new name. */
  readonly take: (old: unknown, current: unknown) => unknown;
};

export type Section<F extends Fields = Fields> = {
  readonly node: "section";
  readonly fields: F;
  readonly must: string;
  /** A text instead of the section sets this key. */
  readonly shortFor?: string;
  /** Another program may use this key for something that is not a section. */
  readonly isShared?: true;
};

/** Names that the user chooses, each holding the same kind of value. */
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

/** The settings of a section in camel case. */
export type SectionValue<F extends Fields> = Flat<
  {
    readonly [K in keyof F as Role<F[K]> extends "always" ? Camel<K & string> : never]: ValueOf<F[K]>;
  } & {
    readonly [K in keyof F as Role<F[K]> extends "maybe" ? Camel<K & string> : never]?: ValueOf<F[K]>;
  }
>;

const SECTION = "must be a section with keys of its own";
const LEAST = Number.NEGATIVE_INFINITY;
const MOST = Number.POSITIVE_INFINITY;

/** Words that turn an approval on, besides `true`. Every other text means off, as in the Python original. */
const APPROVAL_WORDS: readonly string[] = ["on", "true", "yes", "1", "approve", "enabled"];
/** Words that `hermes config set` accepts for a boolean. */
export const ON_WORDS: readonly string[] = [...APPROVAL_WORDS, "enable"];
export const OFF_WORDS: readonly string[] = ["off", "false", "no", "0", "disable", "disabled"];

/** True for `true` and the words above, false for everything else. */
export function isApprovalOn(value: unknown): boolean {
  return typeof value === "boolean" ? value : APPROVAL_WORDS.includes(wordOf(value) ?? "");
}

const FLAG: Kind<boolean> = {
  name: "boolean",
  must: () => "must be true or false",
  allowed: ({ hasDigits }) => (hasDigits ? "true, false; 1 and 0 count too" : "true, false"),
  parse: (value, { hasDigits }, wrong) => switchOf(value, hasDigits) ?? wrong(),
};

const APPROVAL: Kind<boolean> = {
  name: "approval",
  must: () => "should be true or false",
  allowed: () => "true, false; `on`, `yes`, `1`, `approve`, `enabled` as text count as true",
  parse: (value, _rules, _wrong, note) => {
    const word = typeof value === "boolean" ? "" : (wordOf(value) ?? "?");
    const isClear = word === "" || APPROVAL_WORDS.includes(word) || OFF_WORDS.includes(word);
    if (!isClear) note("doubtful", `should be true or false; ${shown(value)} counts as false`);
    return isApprovalOn(value);
  },
};

const WHOLE: Kind<number> = {
  name: "number",
  must: ({ min }) => `must be a whole number${min === undefined ? "" : ` of at least ${min}`}`,
  allowed: ({ min, floor, ceiling }) =>
    [
      `whole number${min === undefined ? "" : `, at least ${min}`}`,
      ...(floor === undefined ? [] : [`below ${floor} counts as ${floor}`]),
      ...(ceiling === undefined ? [] : [`above ${ceiling} counts as ${ceiling}`]),
    ].join("; "),
  parse: (value, { min = LEAST, floor = LEAST, ceiling = MOST }, wrong) =>
    Number.isSafeInteger(value) && (value as number) >= min
      ? Math.min(ceiling, Math.max(floor, value as number))
      : wrong(),
};

const COUNT: Kind<number> = {
  name: "number",
  must: ({ example }) =>
    `must be a whole number above 0${example === undefined ? "" : `, such as ${example}`}`,
  allowed: () => "whole number above 0",
  parse: (value, _rules, wrong) => countOf(value) ?? wrong(),
};

const NUMBER: Kind<number> = {
  name: "number",
  must: ({ above, max }) =>
    `must be a number above ${above}${max === undefined ? "" : ` and at most ${max}`}`,
  allowed: ({ above, max, floor, ceiling, min }) => {
    if (floor !== undefined) return `number from ${floor} to ${ceiling}; beyond counts as the nearer end`;
    if (min !== undefined)
      return max === undefined ? `number from ${min} on` : `number from ${min} to ${max}`;
    return `number above ${above}${max === undefined ? "" : `, at most ${max}`}`;
  },
  parse: (value, { above = LEAST, min = LEAST, max = MOST, floor = LEAST, ceiling = MOST }, wrong) =>
    typeof value === "number" && Number.isFinite(value) && value > above && value >= min && value <= max
      ? Math.min(ceiling, Math.max(floor, value))
      : wrong(),
};

const CHOICE: Kind<string> = {
  name: "choice",
  must: ({ options = [] }) => `must be ${options.slice(0, -1).join(", ")} or ${options.at(-1)}`,
  allowed: ({ options = [] }) => options.map((option) => `\`${option}\``).join(", "),
  parse: (value, { options = [], from }, wrong) => {
    const chosen = from === undefined ? value : from(value);
    return options.find((option) => option === chosen) ?? wrong();
  },
};

const TEXT: Kind<string> = {
  name: "text",
  must: () => "must be text",
  allowed: () => "text",
  parse: (value, { isTrimmed, isNeverBlank }, wrong) => {
    if (typeof value !== "string") return wrong();
    const tidy = isTrimmed ? value.trim() : value;
    return isNeverBlank && tidy === "" ? undefined : tidy;
  },
};

/** Another program may know a zone that this Node does not: it stays in the file and is not used here. */
const ZONE: Kind<string> = {
  ...TEXT,
  allowed: () => "IANA name of a zone",
  parse: (value, _rules, wrong, note) => {
    if (typeof value !== "string") return wrong();
    const name = pyStrip(value);
    if (name !== "" && !isTimeZone(name))
      note("passed-over", "should be the IANA name of a zone, such as Europe/Vienna");
    return value;
  },
};

/** Never refused, because the error would show the value. */
const SECRET: Kind<string> = { ...TEXT, parse: (value) => String(value) };

const LIST: Kind<readonly string[]> = {
  name: "list",
  must: ({ of, example }) => `must be a list of ${of}, such as [${example}]`,
  allowed: ({ of }) => `list of ${of}`,
  parse: (value, { isOneEnough }, wrong) => {
    const items: unknown = isOneEnough && typeof value === "string" ? [value] : value;
    if (!Array.isArray(items)) return wrong();
    for (const [index, item] of items.entries()) if (typeof item !== "string") wrong([String(index)]);
    return items;
  },
};

const ANY_FIELDS: Kind<Readonly<Record<string, unknown>>> = {
  name: "section",
  must: () => SECTION,
  allowed: () => "keys and values",
  parse: (value, _rules, wrong) => (isRecord(value) ? value : wrong()),
};

/** `platform:id`, or `platform:*` for all others of the platform. The id may contain colons. */
const IDENTITY = /^[^:\s][^:]*:./s;

const PROFILES_BY_IDENTITY: Kind<Readonly<Record<string, string>>> = {
  name: "section",
  must: () => "must name a profile for each identity, such as open-webui:alice: work",
  allowed: () => "identities and names of profiles",
  parse: (value, _rules, wrong) => {
    if (!isRecord(value)) return wrong();
    for (const [identity, profile] of Object.entries(value)) {
      const isSound = IDENTITY.test(identity) && typeof profile === "string" && parseProfileName(profile).ok;
      if (!isSound) wrong([identity]);
    }
    return value as Readonly<Record<string, string>>;
  },
};

export function section<F extends Fields>(
  fields: F,
  rules: { readonly must?: string; readonly shortFor?: keyof F & string; readonly isShared?: true } = {},
): Section<F> {
  return { node: "section", fields, must: SECTION, ...rules };
}

/** The reference page shows `name` for the part that the user chooses. */
export function named<V extends Node>(name: string, value: V): Named<V> {
  return { node: "named", name, value };
}

/** For a key with a kind of its own. */
export function key<T, const S extends T | undefined>(
  kind: Kind<T>,
  standard: S,
  meaning: string,
  rules: Rules = {},
): Key<T, S> {
  return { node: "key", kind, standard, rules, meaning };
}

/** Refused when it is missing. */
export function required<K extends Key<unknown, unknown>>(inner: K): K {
  return { ...inner, isRequired: true };
}

export function flag(standard: boolean, meaning: string, rules: Pick<Rules, "hasDigits"> = {}): Key<boolean> {
  return key(FLAG, standard, meaning, rules);
}

/** Never refused: anything but `true` and the known words means off, as in the Python original. */
export function approval(standard: boolean, meaning: string): Key<boolean> {
  return key(APPROVAL, standard, meaning);
}

export function whole<const S extends number | undefined>(
  standard: S,
  bounds: Pick<Rules, "min" | "floor" | "ceiling">,
  meaning: string,
): Key<number, S> {
  return key(WHOLE, standard, meaning, bounds);
}

/** A whole number above 0. Anything else, such as `256K`, is ignored, as in the Python original. */
export function count<const S extends number | undefined>(
  standard: S,
  meaning: string,
  rules: Pick<Rules, "example"> = {},
): Key<number, S> {
  return key(COUNT, standard, meaning, { ...rules, isLenient: true });
}

/** Fractions allowed. */
export function number<const S extends number | undefined>(
  standard: S,
  bounds: Pick<Rules, "above" | "min" | "max" | "floor" | "ceiling" | "must">,
  meaning: string,
): Key<number, S> {
  return key(NUMBER, standard, meaning, bounds);
}

export function choice<const O extends readonly string[], const S extends O[number] | undefined>(
  options: O,
  standard: S,
  meaning: string,
  rules: Pick<Rules, "from" | "isLenient"> = {},
): Key<O[number], S> {
  return key<O[number], S>(CHOICE, standard, meaning, { ...rules, options });
}

export function text(
  standard: string,
  meaning: string,
  rules: Pick<Rules, "must" | "allowed" | "isTrimmed" | "isNeverBlank"> = {},
): Key<string> {
  return key(TEXT, standard, meaning, rules);
}

/** Default: empty, for the time zone of the machine. */
export function zone(meaning: string): Key<string> {
  return key(ZONE, "", meaning);
}

export function secret(meaning: string): Key<string> {
  return key(SECRET, "", meaning);
}

export function list(
  rules: Pick<Rules, "of" | "example" | "isOneEnough" | "allowed">,
  meaning: string,
): Key<readonly string[]> {
  return key(LIST, Object.freeze([]), meaning, rules);
}

/** Keys and values that are passed on unchecked. */
export function anyFields(meaning: string): Key<Readonly<Record<string, unknown>>> {
  return key(ANY_FIELDS, Object.freeze({}), meaning);
}

/** Which profile each identity of a gateway belongs to. */
export function profilesByIdentity(meaning: string): Key<Readonly<Record<string, string>>> {
  return key(PROFILES_BY_IDENTITY, Object.freeze({}), meaning);
}

/** A section that is set, listed and documented as one key. */
export function block<F extends Fields>(fields: F, allowed: string, meaning: string): Key<SectionValue<F>> {
  const inner = section(fields);
  const kind: Kind<SectionValue<F>> = {
    name: "section",
    must: () => SECTION,
    allowed: () => allowed,
    parse: (value, _rules, _wrong, note) => readNode(inner, value, note) as SectionValue<F>,
  };
  const standard = undefined as unknown as SectionValue<F>; // never used: the key is required
  return required(key(kind, standard, meaning));
}

/** A key of the Python original that this program does not read. */
export function accepted(reason = "nothing reads it"): Unread {
  const meaning = `Accepted because files of the original carry it; ${reason}.`;
  return { node: "unread", name: "unused", allowed: "anything", meaning };
}

/** An old name; `take` decides when its value is used. */
export function renamed(to: string, take: Renamed["take"]): Unread {
  const meaning = `Old name of ${to}; counts where that is not set.`;
  return { node: "unread", name: "text", allowed: "text", meaning, renamed: { to: to.split("."), take } };
}

/** The value of a node, with the keys of sections in camel case. Findings go to `note`, with their path below the node. */
export function readNode(node: Node, value: unknown, note: Note): unknown {
  switch (node.node) {
    case "unread":
      return undefined;
    case "key":
      return readKey(node, value, note) ?? node.standard;
    case "named": {
      const given = value ?? {};
      const isUnread = node.value.node === "unread";
      if (!isRecord(given))
        return isUnread ? note("remark", `${SECTION}; it is ignored`) : note("refused", SECTION);
      if (isUnread) return undefined;
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

function readKey({ kind, rules, isRequired }: Key<unknown, unknown>, value: unknown, note: Note): unknown {
  const wrong: Wrong = (at) =>
    note(rules.isLenient ? "ignored" : "refused", rules.must ?? kind.must(rules), at);
  if (value === undefined || value === null) return isRequired ? wrong() : undefined;
  return kind.parse(value, rules, wrong, note);
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

// Booleans in YAML 1.1, which the Python original reads; a YAML 1.2 parser returns them as text.
const TRUE_WORDS = ["true", "yes", "on"];
const FALSE_WORDS = ["false", "no", "off"];

export function switchOf(value: unknown, hasDigits = false): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (hasDigits && (value === 1 || value === "1")) return true;
  if (hasDigits && (value === 0 || value === "0")) return false;
  const word = typeof value === "string" ? value.toLowerCase() : "";
  return TRUE_WORDS.includes(word) ? true : FALSE_WORDS.includes(word) ? false : undefined;
}

/** The value if it is a whole number above 0. */
export function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}

/** Trimmed and in lower case, for comparing. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" ? value.trim().toLowerCase() : undefined;
}

/** A value as error messages show it: JSON, at most 60 characters. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return "empty";
  if (typeof value === "number") return String(value);
  return preview(JSON.stringify(value) ?? String(value), 60);
}
