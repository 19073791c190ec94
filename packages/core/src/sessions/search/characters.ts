// How single characters are read when a text is split into words. The classes are written down here instead of being asked
// from the running JavaScript (`\p{L}`): an index in a file is read by programs with other Unicode versions, and a word
// must be the same word for all of them.

export const SEPARATOR = 0;
// 1 stands for a letter; no code asks for it.
/** Accents, Hebrew points, Arabic harakat, joiners: left out inside a word, between words they separate. */
export const IGNORED = 2;
/** Letters of scripts written without blanks between words: Thai, Lao, Tibetan, Myanmar, Khmer, Han, Kana, Bopomofo, Hangul. */
export const UNSPACED = 3;
/** A word of its own. */
export const EMOJI = 4;

/**
 * Runs of characters of one class from U+0000 on: the class (Separator, Letter, Ignored, Unspaced, Emoji), then the length
 * of the run in base 36. Made from Unicode 16: letters, numbers, private use and unassigned characters are letters; so are
 * combining marks (vowel signs), except those that are ignored.
 */
const CLASSES = `
  S1cLaS7LqS6LqS1bL1S2I1S4L2S1L1S3L2S1L3S1LnS1LvS1LcqS4LcSeL5S7L1S1L1ShI34L5S1L8S1L5S2L1S1L32S1L3vS1L5zS6L15S2L2S3
  L1I19S1I1S1I2S1I2S1I1L17S2LbSgIbS5LwI1LaIlLaS4L2I1L2rS1L1I7S2I6L2I2S1I4LfS2L1SeL1S1L1I1LuIrL4rS4L4S2L1cSfLvS1L15
  S1L7S2L6I8L16IoS1ItL2sS2LaS1L3lS2L6S2L1S1L3cS1L3dS2L3iS1L3mS8L3gS1L7S1L4S1L5mS1L15S1L3eS1LbU1rS1UfS1UaS2U4lSnU2
  S6UkS1U1S1U1S1U1S4U1zS1U1kS8U1S6U1SdU33S6U26S2L2jS1L4U74L9sS9L13SaL2uS1Lh8S2LhS1LqS2L26S3L1zS2L21U2cS3U1S4U10Sb
  I3S1I1L8gS1L3S2L48SyLuS2L3kS7L1S6L2I28L26S2LaShL9ScL3gS4L1nS5L1qS2L1sS8LbS1L6kI1sLcdS1L1S3LbS3LdS3LdS3LdS2L1ScI2
  S2aI1S4L1SaLaS5LbS5LhSyLeIxLfS2L1S4L1S2LaS1L1S3L5S6L1S1L1S1L1S1L4S1LbS2L4S5L5S4L1S1L1mS2L4SayE2S5pE4S3E1S2E1S1i
  LmSbL29S26LmS71E2S1E5S9E1S2E1S2E2S2E1S4E1S2E1S1E2S2E1S3E1S3E2S8E3S5E1S1E1S5EcSbE2S2E1S1E2S1E1SiE1S2E2SiE6S1E1S1
  E2S3E2S5E1S2E2S4E2SbE2S5E2S2E1S5E2S1E1S1E2SkE2S5E6S1E4S2E1S4E1S2E1S2E6S1E1S2E1S1E1S1E1S6E1S3E1S6E1SaE2SfE1S2E1S4
  E1S1E1S4E3S1E1SbE2ShLuS1E3S9E1SeE1SeE1SacE2ScvE3SjE2S1fE1S4E1SuL2S3uL6dS6LeS4L1S2L34S1L3zS1bL1S1aLySqU1S2hUcS5y
  UqSlU3SpUfS1U5S2U5S3U2jS2U3S1U2iS1U44S2U4SaUwS12U9S1UgSvUbSuU8S1UfSwUaS13UfS8wU534S1sUg74LwgS1jL1jS2L7hS3L2rS1La
  S1L37S6L8SnL9S2L2vS2L4dS4LaS4L1mS4L2eS2L14S3L1S1L1dS2L1bS1UwL1tSdLgS2L3gS4LnS3L2sS2LgS2L2xS1LeS2L3jS1LkU8owS1kw
  L4xsUe8L15S1L3sSxLa3SiL1sS2L1iS14LcS4IgSaL6IgSzL1SjL1S4L43I1L1SfLaS7LqS6LqSbU3bL3S7L1S7LaS7L74S3L1gS9L1lShL2S3L1
  SdL3S1L1bS19LbmS1L1cS1LbiS1LknS1LvS2L4mS1LvS1L7kS9L12S1L20S1L13S7L1uS7L2hS4LcxS1LvS2L7xS1LyS9L3gS5L18S4L59S7L31
  S7LbS1L36S4L1cS2L27S4L4S1LdS1L1S3L2gS6L2zS1L8aS2L1S2L36S5LaS2L1S1L2wS1L6ySnL2xS3LsSdL24S1L3mS4L6zS1L7cS3L4bS1L2k
  S8L2bS3L1S5L2lSaL5zS1L2nS5L16S2LhxS2L22SdL3pStLdS1LvkS5L29oS2Lu5SgLapaS2L3pS1L1tS9L4S2LfbS3L87S4L93S1Lf5lS1L2S5
  L318S6oLaS3L3Sc4L6SnLfShL2nS38L1oS6uLaS13L2S1oL5S3L6S8L8S2L7SuL4S1pLlS1uL3S1L56S2fLoaS1LpS1LvS1LpS1LvS1LpS1LvS1
  LpS1LvS1LpS1L1oSe8L1jS4L1eS8L1SeL1S7L1c3S1LbzS1LlbS1LnyS2LngS1L3S1L3hS1LchS2L7iS4E1S13E4S2sEcSfE2SfE1SeE2S11EaLd
  S2rE2ScE2SeE1S2EaSjE2aS1EfSaE1SkE1S2E9S1E4S9EnS6E58S2E34S2E2S1E3S2E2bS2E3S1E4I5E72S1E1rSbE6S1EoS7E2S2E8ScE1S2E4
  S2E1S4E2SdE2S2E1S8E2S9E1S5E3ScE3S8E3S2E1S1E1S4E1S6E1S3E1S6E2eS1cE1yS5E8S2EhS3E1S1E6S2EdS62E12ScE4S1kE8SaE6S14E8
  SuE2ScE4S2EeS9E13ScE1bS1EaS1E55S2gE8SeE42S43L1S2kLaS1L5EseS2U1ekeS2U1ekeSe1vmI6oS1e6oL1ekeS2L1ekeS2
`;

const LAST_OF_BMP = 0xffff;

/** For each UTF-16 unit outside of surrogate pairs its class. */
export const UNIT_CLASSES: Uint8Array = new Uint8Array(LAST_OF_BMP + 1);
const astralStarts: number[] = [];
const astralClasses: number[] = [];

let next = 0;
for (const [, name = "", length = ""] of CLASSES.matchAll(/([SLIUE])([0-9a-z]+)/g)) {
  const from = next;
  next += Number.parseInt(length, 36);
  const kind = "SLIUE".indexOf(name);
  if (from <= LAST_OF_BMP) UNIT_CLASSES.fill(kind, from, Math.min(next, LAST_OF_BMP + 1));
  if (next > LAST_OF_BMP + 1) {
    astralStarts.push(from);
    astralClasses.push(kind);
  }
}

/** The class of a character beyond U+FFFF. */
export function astralClass(codePoint: number): number {
  let low = 0;
  let high = astralStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((astralStarts[middle] ?? 0) <= codePoint) low = middle;
    else high = middle - 1;
  }
  return astralClasses[low] ?? SEPARATOR;
}

/** Small letters that are spelled differently in the index: other shapes of a letter, and letters people type as others. */
const VARIANTS: Readonly<Record<string, string>> = {
  µ: "μ",
  ſ: "s",
  ς: "σ",
  ϐ: "β",
  ϑ: "θ",
  ϕ: "φ",
  ϖ: "π",
  ϰ: "κ",
  ϱ: "ρ",
  ϵ: "ε",
  ё: "е",
  ß: "ss",
  æ: "ae",
  œ: "oe",
  þ: "th",
  ð: "d",
  đ: "d",
  ħ: "h",
  ı: "i",
  ł: "l",
  ø: "o",
  ŧ: "t",
  ĳ: "ij",
  ﬀ: "ff",
  ﬁ: "fi",
  ﬂ: "fl",
  ﬃ: "ffi",
  ﬄ: "ffl",
  ﬅ: "st",
  ﬆ: "st",
};

/** Latin and Greek letters, which are read without their accents. Those of other scripts (й, が) belong to the letter. */
const WITH_ACCENTS = /[\u00c0-\u0233\u0370-\u03ff\u1e00-\u1ffc\u212b]/u;
const folded = new Map<string, string>();

/** One composed character as the index spells it: lower case, Latin and Greek without accents, nothing for what is ignored. */
export function foldCharacter(character: string): string {
  // From the CJK radicals on, letters with two cases are rare, and the others are too many to remember.
  if (character >= "\u2e80" && hasOneCase(character)) return character;
  const known = folded.get(character);
  if (known !== undefined) return known;
  const result = computeFold(character);
  if (character < "\u2e80") folded.set(character, result);
  return result;
}

function hasOneCase(character: string): boolean {
  return character < "\ua640" || (character >= "\uac00" && character < "\ud800");
}

function computeFold(character: string): string {
  if (classOf(character) === IGNORED) return "";
  const lower = character.toLowerCase();
  const [letter = lower] = WITH_ACCENTS.test(character) ? lower.normalize("NFD") : [lower];
  return VARIANTS[letter] ?? letter;
}

/** Letters of full and of half width, and half-width voicing marks. */
const WIDTHS = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]/;
const ALL_WIDTHS = new RegExp(`${WIDTHS.source}+`, "g");

/** Letters of usual width, each with the marks that belong to it: decomposed kana and Hangul are one character. */
export function compose(word: string): string {
  if (!WIDTHS.test(word)) return word.normalize("NFC");
  return word.replace(ALL_WIDTHS, (wide) => wide.normalize("NFKC")).normalize("NFC");
}

function classOf(character: string): number {
  const codePoint = character.codePointAt(0) ?? 0;
  return codePoint > LAST_OF_BMP ? astralClass(codePoint) : (UNIT_CLASSES[codePoint] ?? SEPARATOR);
}
