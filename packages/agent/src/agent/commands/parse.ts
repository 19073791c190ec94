// What somebody typed, taken apart. Pure.
import { pyStrip } from "@hermes-memory/core/lib";

export type TypedCommand = { readonly name: string; readonly args: string };

/** Undefined for a message: also for a path (`/etc/hosts`), and for a text with a blank before the slash. */
export function splitCommand(line: string): TypedCommand | undefined {
  const [, name, args = ""] = /^\/([a-z][a-z0-9_-]*)(?:\s(.*))?$/is.exec(line) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), args: pyStrip(args) };
}

export type Consent = { readonly isGiven: boolean; readonly rest: string };

/**
 * `now`, `--yes` and `-y` behind the arguments, the flags in front of them too, answer the question before it is asked. A title
 * that ends with such a word has to be in quotes.
 */
export function takeConsent(args: string): Consent {
  const rest = args.replace(/^(?:(?:--yes|-y)(?:\s+|$))+/i, "").replace(/(?:^|\s)(?:now|--yes|-y)$/i, "");
  return { isGiven: rest !== args, rest: pyStrip(rest) };
}

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’" };
const BRACKETS: Readonly<Record<string, string>> = { "[": "]", "<": ">", "(": ")", "{": "}" };

/** Without the quotes around the whole of it. */
export function withoutQuotes(text: string): string {
  return withoutPair(text, QUOTES) ?? text;
}

/** Without the quotes and brackets around the whole of it: help texts show places to fill in like that, and people copy them. */
export function withoutOuter(text: string): string {
  const inner = withoutPair(text, { ...QUOTES, ...BRACKETS });
  return inner === undefined ? text : withoutOuter(inner);
}

/** `[a] and [b]` is no pair around something. */
function withoutPair(text: string, pairs: Readonly<Record<string, string>>): string | undefined {
  const [first = "", last = ""] = [text[0], text.at(-1)];
  if (text.length < 2 || !Object.hasOwn(pairs, first) || pairs[first] !== last) return undefined;
  const inner = text.slice(1, -1);
  return inner.includes(first) || inner.includes(last) ? undefined : pyStrip(inner);
}

/** A whole number from 1 on; undefined for anything else. */
export function parseCount(text: string): number | undefined {
  if (!/^\d{1,9}$/.test(text)) return undefined;
  return Number(text) >= 1 ? Number(text) : undefined;
}

export type Options = { readonly values: Readonly<Record<string, string>>; readonly rest: string };

/**
 * Takes `--name value` and `--name=value` off the front of the arguments. `short` gives other names for an option. A name that is
 * not known, or has no value, is the result; never what was typed as its value, which may be a key.
 */
export function takeOptions(
  args: string,
  names: readonly string[],
  short: Readonly<Record<string, string>> = {},
): Options | { readonly unusable: string } {
  const values: Record<string, string> = {};
  let rest = args;
  while (/^--?[a-z]/i.test(rest)) {
    const [, typed = "", joined] = /^(--?[a-z][a-z-]*)(=\S*)?/i.exec(rest) ?? [];
    const name = short[typed] ?? typed.replace(/^--/, "");
    const behind = pyStrip(rest.slice(typed.length + (joined?.length ?? 0)));
    const value = joined === undefined ? (/^\S+/.exec(behind)?.[0] ?? "") : joined.slice(1);
    if (!names.includes(name) || value === "") return { unusable: typed };
    values[name] = value;
    rest = joined === undefined ? pyStrip(behind.slice(value.length)) : behind;
  }
  return { values, rest };
}
