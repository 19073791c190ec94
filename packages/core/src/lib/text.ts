// Text in Python's terms, because Python programs share our files: lengths and cuts in code points, `str.strip`.

const STRIPPED = new Set<number>([
  0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002,
  0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
]);

const HIGH_SURROGATE = /[\ud800-\udbff]/;

/** Whitespace in Python's sense. Differs from JS: no U+FEFF, but U+001C-001F and U+0085. All are BMP characters. */
export function isWhitespaceUnit(unit: number): boolean {
  return STRIPPED.has(unit);
}

export function codePointLength(text: string): number {
  if (!HIGH_SURROGATE.test(text)) return text.length;
  let length = text.length;
  for (let i = 0; i < text.length - 1; i += 1) {
    if (isPairAt(text, i)) {
      length -= 1;
      i += 1;
    }
  }
  return length;
}

/** The first `count` code points. Never cuts a surrogate pair. */
export function takeCodePoints(text: string, count: number): string {
  if (text.length <= count) return text;
  let index = 0;
  for (let taken = 0; taken < count && index < text.length; taken += 1)
    index += isPairAt(text, index) ? 2 : 1;
  return text.slice(0, index);
}

/** `count` code points, starting with number `start`, counted from 0. Never cuts a surrogate pair. */
export function sliceCodePoints(text: string, start: number, count: number): string {
  const from = HIGH_SURROGATE.test(text) ? takeCodePoints(text, start).length : start;
  return takeCodePoints(text.slice(from), count);
}

/** `takeCodePoints`, followed by `...` when the text was cut. */
export function preview(text: string, count: number): string {
  const head = takeCodePoints(text, count);
  return head.length < text.length ? `${head}...` : text;
}

/** Python's `str.strip()`. `String.trim` would remove a byte order mark, which the threat scanner has to see. */
export function pyStrip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isWhitespaceUnit(text.charCodeAt(start))) start += 1;
  while (end > start && isWhitespaceUnit(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** CRLF and lone CR become LF, as Python's text mode reads them. */
export function normalizeNewlines(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

/** Changes only A-Z, as SQLite does. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** `12345` -> `12,345`, whatever the locale. */
export function groupThousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Whole percent of a limit: truncated, at most 100, 0 for a limit of 0. Divide before multiplying: the Python original does, and the rounded result differs otherwise. */
export function percentOf(current: number, limit: number): number {
  if (limit <= 0) return 0;
  return Math.min(100, Math.trunc((current / limit) * 100));
}

/** `syncTurn` -> `sync_turn`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** True when the text has half a surrogate pair, which UTF-8 cannot encode. */
export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
}

function isPairAt(text: string, index: number): boolean {
  const high = text.charCodeAt(index);
  if (high < 0xd800 || high > 0xdbff) return false;
  const low = text.charCodeAt(index + 1);
  return low >= 0xdc00 && low <= 0xdfff;
}
