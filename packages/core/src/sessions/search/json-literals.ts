// JSON inside of text: what a tool printed, one object a line, a line of text before it, or the first part of it only. Its
// strings are read without their escapes, so that `line one\nquokka` holds the word `quokka`. Pure; one pass over the text.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BEFORE = "{[:,";
const AFTER = ":,}]";
/** JSON in a string of JSON, as in the arguments of a call that a tool printed. */
const MOST_LEVELS = 4;
/** `C:\new`: in JSON two backslashes would follow the colon. */
const WINDOWS_PATH = /^[A-Za-z]:\\(?!\\)/;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt])|(?:u[0-9a-fA-F]{0,3})?$)/g;
const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * Replaces what stands between the quotes of JSON strings by what it means. A string of JSON has valid escapes only, stands
 * behind `{ [ : ,` or at the start, and before `: , } ]` or at the end; the end of the text may cut it off. Every other
 * backslash (paths, patterns) stays.
 */
export function withLiteralsDecoded(text: string): string {
  return decoded(text, MOST_LEVELS);
}

function decoded(text: string, levels: number): string {
  if (levels === 0 || !text.includes("\\")) return text;
  // Cut short, and a note about it follows on the next line.
  const isJson = /^\s*[{[]/.test(text);
  let result = "";
  let copied = 0;
  let at = text.indexOf('"');
  while (at >= 0) {
    if (!stands(text, at, -1, BEFORE)) {
      at = text.indexOf('"', at + 1);
      continue;
    }
    const { end, hasEscapes, reason } = scan(text, at + 1);
    const isLiteral =
      reason === "quote" ? stands(text, end, 1, AFTER) : reason === "text" || (reason === "line" && isJson);
    if (isLiteral && hasEscapes) {
      const written = text.slice(at + 1, end);
      if (!WINDOWS_PATH.test(written)) {
        result += text.slice(copied, at + 1) + decoded(unescaped(written), levels - 1);
        copied = end;
      }
    }
    // Every quote up to there is escaped and begins nothing; a quote that closes nothing may begin something.
    at = text.indexOf('"', isLiteral ? end + 1 : end);
  }
  return copied === 0 ? text : (result + text.slice(copied)).toWellFormed();
}

type Scanned = {
  /** Where the string ends: at its quote, at a line break, at an escape that JSON does not have, or with the text. */
  readonly end: number;
  readonly reason: "quote" | "line" | "escape" | "text";
  readonly hasEscapes: boolean;
};

function scan(text: string, from: number): Scanned {
  let hasEscapes = false;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return { end: at, reason: "quote", hasEscapes };
    if (unit === LINE_FEED || unit === CARRIAGE_RETURN) return { end: at, reason: "line", hasEscapes };
    if (unit !== BACKSLASH) continue;
    const length = escapeLength(text, at);
    if (length === 0) return { end: at + 1, reason: "escape", hasEscapes };
    hasEscapes = true;
    at += length - 1;
  }
  return { end: text.length, reason: "text", hasEscapes };
}

/** 0 for what is no escape of JSON. The end of the text may cut it off. */
function escapeLength(text: string, at: number): number {
  const letter = text.charAt(at + 1);
  if (letter !== "u") return letter === "" ? 1 : '"\\/bfnrt'.includes(letter) ? 2 : 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    if (digit >= text.length) return digit - at;
    if (!isHex(text.charCodeAt(digit))) return 0;
  }
  return 6;
}

function isHex(unit: number): boolean {
  const lower = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** Whether the next character that is no blank is one of these, or there is none. */
function stands(text: string, from: number, step: 1 | -1, signs: string): boolean {
  let at = from + step;
  while (at >= 0 && at < text.length && isBlank(text.charCodeAt(at))) at += step;
  return at < 0 || at >= text.length || signs.includes(text.charAt(at));
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === LINE_FEED || unit === CARRIAGE_RETURN;
}

function unescaped(written: string): string {
  return written.replace(ESCAPE, (_, digits: string | undefined, letter: string | undefined) => {
    if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
    return letter === undefined ? "" : (ESCAPED[letter] ?? letter);
  });
}
