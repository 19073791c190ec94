// What FTS5's `unicode61` tokenizer makes of single characters. Its tables are those of an old Unicode version in which
// emoji of later years were unassigned, and unassigned characters are parts of words to it: \p{L} and \p{N} of today's
// JavaScript would read other words. Found by asking SQLite about every code point; a test asks it again.

/** Ranges of characters between words, in base 36: steps from the end of one range to the start of the next, then its length. */
const SEPARATORS = `
  0 1b b 6 r 5 r 1a 2 6 3 0 2 2 3 0 4 0 o 0 w 0 cr 3 d d 6 6 2 0 2 g 6 0 8 1 2 0 2 8 2 6 7 3 3 0 3 1p
  6 0 9 0 6 1 2 0 33 0 3w 7 5t 5 16 1 5 0 2 1i 18 1 c 4 2 l 3 1 18 k b 3 3 0 2s 0 2 e 3 6 g 1 2 d 2 0
  2 0 v q 2k a 1n 8 3 3 t 3 2 8 2 2 2 4 3 e r 2 3 0 3q q 2 3 1j 2 2 h 2 6 b 3 b 0 h 2 1l 0 2 6 3 1 3 2
  a 0 b 1 f 1 7 1 6 2 1l 0 2 4 5 1 3 2 4 0 v 1 4 0 c 2 1l 0 2 7 2 2 2 2 l 1 d 1 g 2 1l 0 2 6 3 1 3 2 9 1
  b 1 d 0 i 0 1o 4 4 2 2 3 a 0 s 7 7 2 1n 6 2 2 2 3 8 1 c 1 s 0 3 1 1l 0 2 6 2 2 2 3 8 1 c 1 v 1 1n 6
  2 2 2 3 a 0 b 1 m 0 9 1 1z 0 5 5 2 0 2 7 j 2 1p 0 3 6 5 0 8 8 b 1 2e 0 3 5 2 1 c 5 1g u l b 1e m 6 a
  2 z 2 e 2 c 29 j c 5 7 3 5 2 2 2 3 6 4 3 e b 2 0 b 5 2k 0 gy b 14 9 2v 0 h9 1 i 0 r 1 27 2 11 2 u 4
  s 1 v 1 1t y 2 3 2 0 z e 4b 0 3b b 5 b 5 0 4 1 2z g 8 1 l x o 4 3 1 1i 9 2 s 3 0 x 6 2 5 2b 4 1c g m y
  4 2 v c 1l d 9 3 11 j 4 4 1r 1 1t 7 9 o 5 0 5 2 5o 12 m 3 ce 0 2 2 c 2 e 2 e 2 e 1 2 2s 6 5 b 4 c 4
  i p n w g 1 2 3 2 1 b 0 2 2 6 5 2 0 2 0 2 0 5 0 c 1 5 4 6 3 2 0 1t gz d 12 q a 2a 25 n e7 2 38 v qg
  4 9 b0 5 5 2 8 3 2 1 35 0 f 0 2p 26 2 b 1x p 2 2g d 5x r b 5 4 4 o a 6 6 1 6 2 2i 3 4 0 2j 0 45 1 5 9
  x z t u c t 9 0 g v b 12 g 1q 2 73 535 1r h3l 1i 1k 1 7i 2 2o f x 0 29 7 9 m a 1 2w 1 3c 0 4 0 5 0 o 8
  b 3 1n 3 9 1 1f g a 1 h h 7 2 18 9 o c c 0 x 3 1c q h 1 22 d d 0 9 1 f 3 o 2 2 0 1h 0 2 2 3 1 6 1 2 0
  t 1 c 6 4 1 6l a fn5 0 b 0 3t f al 1 59 1 3 p 7 6 a y 2 i 2 3 44 0 2 e b 6 r 5 r a 3f 6 2 6 b 6 75 2
  1h 8 1m g 7 b 1h 19 bm 0 1d 0 w7 0 5k 0 w 0 5e 2 2 1 6 3 15 2 5 0 h 8 13 0 56 6 xt 2 1i l 1f 2 1a h
  1r 2 11 d c 3 1p 2 1d d 5 3 yr c 2pl 3 ese 19 h 3 j1q 6t b 12 3 50 z 1x 57 2e ob 0 q 0 w 0 q 0 w 0 q 0
  w 0 q 0 w 0 q 0 4kt 1 7j 17 5 2r d e 3 d 3 e 2 e 1d u 2 1n 5 16 24 s e 16 6 8 8 1 4v w g 5 2 1x 4 j
  d 10 2 4 m g g 1q 2 0 2 51 2 3 4 1p 3 3 d n 44 1x 5 a 1d 1x 1n 37 gwi6 0 v 2n 3l 6n
`;

/** Accents that stand behind their letter. Inside a word they are left out, outside of words they separate. */
const ACCENTS =
  "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030f\u0311\u031b" +
  "\u0323\u0324\u0325\u0326\u0327\u0328\u032d\u032e\u0330\u0331";

/** Spellings of a letter that lower-casing keeps apart. */
const VARIANTS: Readonly<Record<string, string>> = {
  µ: "μ",
  ſ: "s",
  ẛ: "s",
  ς: "σ",
  ϐ: "β",
  ϑ: "θ",
  ϕ: "φ",
  ϖ: "π",
  ϰ: "κ",
  ϱ: "ρ",
  ϵ: "ε",
};

/** Letters that keep their accent although Unicode takes it off. */
const KEPT = /[ǠǡǢǣǮǯǼǽǾǿ]/u;
const LATIN = /[\u00c0-\u0233\u1e00-\u1e9b\u1ea0-\u1ef9\u1fbe\u212b]/u;
/** Upper-case letters whose lower case came with a later Unicode version. */
const UNCASED =
  /[\u037f\u0528-\u052e\u13a0-\u13f5\u1c89-\u1cbf\u2c2f\ua698-\ua69a\ua796-\ua79e\ua7ab-\ua7f5\u{104b0}-\u{104d3}\u{10570}-\u{10595}\u{10c80}-\u{10cb2}\u{10d50}-\u{10d65}\u{118a0}-\u{118bf}\u{16e40}-\u{16e5f}\u{16ea0}-\u{16eb8}\u{1e900}-\u{1e921}]/u;

export const SEPARATOR = 0;
export const LETTER = 1;
export const ACCENT = 2;

const LAST_OF_BMP = 0xffff;

/** For each UTF-16 unit outside of surrogate pairs: SEPARATOR, LETTER or ACCENT. */
export const UNIT_CLASSES: Uint8Array = new Uint8Array(LAST_OF_BMP + 1).fill(LETTER);
const astralSeparators: (readonly [from: number, to: number])[] = [];

for (const [from, to] of decodeRanges(SEPARATORS)) {
  if (from <= LAST_OF_BMP) UNIT_CLASSES.fill(SEPARATOR, from, to + 1);
  else astralSeparators.push([from, to]);
}
// Half a surrogate pair reaches SQLite as U+FFFD, which separates.
UNIT_CLASSES.fill(SEPARATOR, 0xd800, 0xe000);
for (const accent of ACCENTS) UNIT_CLASSES[accent.charCodeAt(0)] = ACCENT;

export function isAstralLetter(codePoint: number): boolean {
  let low = 0;
  let high = astralSeparators.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const range = astralSeparators[middle];
    if (range === undefined) break;
    if (codePoint < range[0]) high = middle - 1;
    else if (codePoint > range[1]) low = middle + 1;
    else return false;
  }
  return true;
}

const folded = new Map<string, string>();

/** One character as the index spells it: lower case, Latin letters without accents, nothing for an accent. */
export function foldCharacter(character: string): string {
  // From the CJK radicals on, what has two cases is rare and far apart, and what has one is too much to remember.
  if (character >= "\u2e80") return hasOneCase(character) ? character : computeFold(character);
  const known = folded.get(character);
  if (known !== undefined) return known;
  const result = computeFold(character);
  folded.set(character, result);
  return result;
}

function hasOneCase(character: string): boolean {
  return character < "\ua640" || (character >= "\uac00" && character < "\ud800");
}

function computeFold(character: string): string {
  if (ACCENTS.includes(character)) return "";
  const variant = VARIANTS[character];
  if (variant !== undefined) return variant;
  if (UNCASED.test(character)) return character;
  if (!LATIN.test(character) || KEPT.test(character)) return character.toLowerCase();
  const [base] = character.toLowerCase().normalize("NFD");
  return base ?? character;
}

function* decodeRanges(encoded: string): Generator<readonly [from: number, to: number]> {
  const steps = encoded.trim().split(/\s+/);
  let end = 0;
  for (let i = 0; i + 1 < steps.length; i += 2) {
    const from = end + Number.parseInt(steps[i] ?? "", 36);
    end = from + Number.parseInt(steps[i + 1] ?? "", 36);
    yield [from, end];
  }
}
