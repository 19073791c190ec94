// Parses a line that the user typed: the command's name, its arguments, options and quotes. Pure.
import { pyStrip } from "@hermes-memory/core/internal/lib";

export type TypedCommand = { readonly name: string; readonly args: string };

/** Undefined for a message, which a path (`/etc/hosts`) and a text with a blank before the slash are too. */
export function splitCommand(line: string): TypedCommand | undefined {
  const [, name, args = ""] = /^\/([a-z][a-z0-9_-]*)(?:\s(.*))?$/is.exec(line) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), args: pyStrip(args) };
}

export type Consent = { readonly isGiven: boolean; readonly rest: string };

/**
 * `now`, `--yes` or `-y` after the arguments, or one of the two flags before them, skip the question. A title that ends with
 * one of these words has to be in quotes.
 */
export function takeConsent(args: string): Consent {
  const rest = args.replace(/^(?:(?:--yes|-y)(?:\s+|$))+/i, "").replace(/(?:^|\s)(?:now|--yes|-y)$/i, "");
  return { isGiven: rest !== args, rest: pyStrip(rest) };
}

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’" };
const BRACKETS: Readonly<Record<string, string>> = { "[": "]", "<": ">", "(": ")", "{": "}" };

/** Removes quotes around the whole text. */
export function withoutQuotes(text: string): string {
  return withoutPair(text, QUOTES) ?? text;
}

/** Removes quotes and brackets around the whole text: help texts write `<id>` and `[title]`, and users copy the brackets. */
export function withoutOuter(text: string): string {
  const inner = withoutPair(text, { ...QUOTES, ...BRACKETS });
  return inner === undefined ? text : withoutOuter(inner);
}

/** Undefined when there is no pair around the whole text, as in `[a] and [b]`. */
function withoutPair(text: string, pairs: Readonly<Record<string, string>>): string | undefined {
  const [first = "", last = ""] = [text[0], text.at(-1)];
  if (text.length < 2 || !Object.hasOwn(pairs, first) || pairs[first] !== last) return undefined;
  const inner = text.slice(1, -1);
  return inner.includes(first) || inner.includes(last) ? undefined : pyStrip(inner);
}

/** A whole number of at least 1; undefined for anything else. */
export function parseCount(text: string): number | undefined {
  if (!/^\d{1,9}$/.test(text)) return undefined;
  return Number(text) >= 1 ? Number(text) : undefined;
}

export type Options = { readonly values: Readonly<Record<string, string>>; readonly rest: string };

/**
 * Takes `--name value` and `--name=value` off the front of the arguments. `short` maps short names to option names. `unusable` is
 * the name of an option that is unknown or has no value; the typed value is never returned there, because it may be an API key.
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
