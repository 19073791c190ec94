// Parses a line that the user typed: the command's name, its arguments, options and quotes. Pure.
import { pyStrip } from "@hermes-memory/core/internal/lib";

export type TypedCommand = { readonly name: string; readonly args: string };

/** Undefined for a message, which a path (`/etc/hosts`) and a text with a blank before the slash are too. */
export function splitCommand(line: string): TypedCommand | undefined {
  const [, name, args = ""] = /^\/([a-z][a-z0-9_-]*)(?:\s(.*))?$/is.exec(line) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), args: pyStrip(args) };
}

/**
 * `now`, `--yes` or `-y` after the arguments, or one of the two flags before them, skip the question. A title that ends with
 * one of these words has to be in quotes.
 */
export function takeConsent(args: string): { readonly isGiven: boolean; readonly rest: string } {
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
