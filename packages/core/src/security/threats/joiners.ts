// Where the joiners U+200C and U+200D belong: inside an emoji sequence, and inside words of scripts that cannot be
// written correctly without them. Anywhere else they only hide something.

const ZERO_WIDTH_JOINER = 0x200d;
const EMOJI_PRESENTATION = 0xfe0f;

/** Scripts whose letters connect or form conjuncts. At most 31: each is one bit of a mask. */
const JOINING_SCRIPTS =
  "Arabic Syriac Nko Mongolian Mandaic Adlam Hanifi_Rohingya Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu " +
  "Kannada Malayalam Sinhala Khmer Myanmar Tibetan Balinese Javanese Grantha Newa Tirhuta Sharada Chakma";

/** True when the writing needs the joiner at `index`. Two in a row never pass: neither is a letter to the other. */
export function isJoinerNeeded(text: string, index: number): boolean {
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
  // A skin tone and the emoji presentation selector may stand in between, one of each.
  for (let skipped = 0; skipped < 2 && codePoint !== undefined && isEmojiStyle(codePoint); skipped += 1) {
    at -= codePoint > 0xffff ? 2 : 1;
    codePoint = codePointBefore(text, at);
  }
  return codePoint !== undefined && isPictograph(codePoint);
}

function isEmojiStyle(codePoint: number): boolean {
  return codePoint === EMOJI_PRESENTATION || (codePoint >= 0x1f3fb && codePoint <= 0x1f3ff);
}

/** The character before `index`; marks that belong to no script in particular are looked through, three at most. */
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
const MOST_KNOWN = 8192; // about as many letters as these scripts have; past it the text is not writing

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
