// The threat scan: finds texts that must not enter a system prompt. Time is linear in the text.
import { findMatches } from "./automaton.ts";
import { THREAT_PATTERNS, type ThreatScope } from "./patterns.ts";

/** UTF-16 offsets of the match that ends first, with the leftmost start a match ending there can have. */
export type ThreatFinding = { readonly id: string; readonly start: number; readonly end: number };

export type ThreatScanOptions = {
  /** Ids that are never reported. */
  readonly allow?: readonly string[];
};

/** Ids of the patterns in reporting order. Invisible characters have other ids, see `isThreatId`. */
export const THREAT_IDS: readonly string[] = THREAT_PATTERNS.map((pattern) => pattern.id);

/** The pattern scopes that each scope of a scan includes: a wider one never loses a finding of a narrower one. */
const SCOPES: ReadonlyMap<string, readonly ThreatScope[]> = new Map([
  ["all", ["all"]],
  ["context", ["all", "context"]],
  ["strict", ["all", "context", "strict"]],
]);

/** Invisible characters first, ascending, then patterns in the order of the table; each id once. */
export function scanThreats(
  text: string,
  scope: ThreatScope,
  options: ThreatScanOptions = {},
): ThreatFinding[] {
  const included = SCOPES.get(scope);
  if (included === undefined)
    throw new TypeError(`Unknown threat scope '${scope}'. Use one of: ${[...SCOPES.keys()].join(", ")}.`);
  if (text.length === 0) return [];
  const isAllowed = (id: string): boolean => options.allow?.includes(id) ?? false;
  const findings: ThreatFinding[] = isAscii(text)
    ? []
    : findInvisible(text).filter(({ id }) => !isAllowed(id));
  findings.push(...findMatches(text, ({ id, scope: each }) => included.includes(each) && !isAllowed(id)));
  return findings;
}

/** The error for the writer of a refused text. */
export function threatMessage(finding: ThreatFinding): string {
  const name = invisibleName(finding.id);
  if (name !== undefined)
    return `Blocked: content contains invisible unicode character ${name} (possible injection).`;
  return (
    `Blocked: content matches threat pattern '${finding.id}'. Stored text becomes part of the system prompt, ` +
    "so it may not carry injection or exfiltration payloads. If it is harmless, reword it."
  );
}

/** True for ids that a scan can report; checks allow-lists. */
export function isThreatId(id: string): boolean {
  return THREAT_IDS.includes(id) || INVISIBLE_IDS.includes(id);
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

// ---- Invisible characters ----
// Zero-width characters and bidirectional controls can carry or hide instructions.

const PREFIX = "invisible_unicode_";

const INVISIBLE: readonly number[] = [
  0x200b, 0x200c, 0x200d, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2062, 0x2063, 0x2064, 0x2066,
  0x2067, 0x2068, 0x2069, 0xfeff,
];
const LOWEST = 0x200b;
const HIGHEST_OF_BLOCK = 0x2069;
const BYTE_ORDER_MARK = 0xfeff;

export const INVISIBLE_IDS: readonly string[] = INVISIBLE.map((unit) => `${PREFIX}${hexName(unit)}`);

/** `U+200B` of `invisible_unicode_U+200B`; undefined for the id of a pattern. */
function invisibleName(id: string): string | undefined {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined;
}

/** The first blocked occurrence of each invisible character, ascending by code point. */
function findInvisible(text: string): ThreatFinding[] {
  const first = new Map<number, number>();
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < LOWEST || (unit > HIGHEST_OF_BLOCK && unit !== BYTE_ORDER_MARK)) continue;
    if (!INVISIBLE.includes(unit) || first.has(unit)) continue;
    if (!(isJoiner(unit) && isJoinerNeeded(text, i))) first.set(unit, i);
  }
  return [...first]
    .sort(([a], [b]) => a - b)
    .map(([unit, start]) => ({ id: `${PREFIX}${hexName(unit)}`, start, end: start + 1 }));
}

function isJoiner(unit: number): boolean {
  return unit === 0x200c || unit === 0x200d;
}

function hexName(unit: number): string {
  return `U+${unit.toString(16).toUpperCase().padStart(4, "0")}`;
}

// ---- Joiners ----
// U+200C and U+200D belong into emoji sequences and into words of scripts that need them. Elsewhere they only hide text.

const ZERO_WIDTH_JOINER = 0x200d;
const EMOJI_PRESENTATION = 0xfe0f;

/** Scripts whose letters connect or form conjuncts. At most 31: each is one bit of a mask. */
const JOINING_SCRIPTS =
  "Arabic Syriac Nko Mongolian Mandaic Adlam Hanifi_Rohingya Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu " +
  "Kannada Malayalam Sinhala Khmer Myanmar Tibetan Balinese Javanese Grantha Newa Tirhuta Sharada Chakma";

/** True when the script needs the joiner at `index`. False for two in a row: neither has a letter on both sides. */
function isJoinerNeeded(text: string, index: number): boolean {
  const after = text.codePointAt(index + 1);
  if (after === undefined) return false;
  if (text.charCodeAt(index) === ZERO_WIDTH_JOINER && isPictograph(after))
    return isAfterPictograph(text, index);
  const before = baseBefore(text, index);
  return before !== undefined && (scriptsOf(before) & scriptsOf(after)) !== 0;
}

function isAfterPictograph(text: string, index: number): boolean {
  let at = index;
  let codePoint = codePointBefore(text, at);
  // A skin tone and the emoji presentation selector may stand in between, at most one of each.
  for (let skipped = 0; skipped < 2 && codePoint !== undefined && isEmojiStyle(codePoint); skipped += 1) {
    at -= codePoint > 0xffff ? 2 : 1;
    codePoint = codePointBefore(text, at);
  }
  return codePoint !== undefined && isPictograph(codePoint);
}

function isEmojiStyle(codePoint: number): boolean {
  return codePoint === EMOJI_PRESENTATION || (codePoint >= 0x1f3fb && codePoint <= 0x1f3ff);
}

/** The character before `index`, skipping at most three marks that belong to no particular script. */
function baseBefore(text: string, index: number): number | undefined {
  let at = index;
  let codePoint = codePointBefore(text, at);
  for (let skipped = 0; skipped < 3 && codePoint !== undefined && isInherited(codePoint); skipped += 1) {
    at -= codePoint > 0xffff ? 2 : 1;
    codePoint = codePointBefore(text, at);
  }
  return codePoint;
}

function codePointBefore(text: string, index: number): number | undefined {
  const pair = index >= 2 ? text.codePointAt(index - 2) : undefined;
  return pair !== undefined && pair > 0xffff ? pair : text.codePointAt(index - 1);
}

function isPictograph(codePoint: number): boolean {
  return /\p{Extended_Pictographic}/u.test(String.fromCodePoint(codePoint));
}

function isInherited(codePoint: number): boolean {
  const isJoiner = codePoint === 0x200c || codePoint === ZERO_WIDTH_JOINER; // Unicode counts them as inherited too
  return !isJoiner && /\p{Script_Extensions=Inherited}/u.test(String.fromCodePoint(codePoint));
}

let scriptTests: readonly RegExp[] | undefined;
const knownScripts = new Map<number, number>();
const MOST_KNOWN = 8192; // about as many letters as these scripts have; a text with more is not ordinary writing

/** The joining scripts a letter or mark is used in, as a bit mask; 0 for everything else. */
function scriptsOf(codePoint: number): number {
  const known = knownScripts.get(codePoint);
  if (known !== undefined) return known;
  scriptTests ??= JOINING_SCRIPTS.split(" ").map((name) => new RegExp(`\\p{Script_Extensions=${name}}`, "u"));
  const character = String.fromCodePoint(codePoint);
  let mask = 0;
  if (/[\p{L}\p{M}]/u.test(character))
    for (const [bit, test] of scriptTests.entries()) if (test.test(character)) mask |= 1 << bit;
  if (knownScripts.size >= MOST_KNOWN) knownScripts.clear();
  knownScripts.set(codePoint, mask);
  return mask;
}
