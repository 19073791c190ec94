// Words, in the index and in queries: character classes, splitting a text into words, their spelling, and English stems
// and word lists. Pure.

// ---- Character classes ----
// The classes are stored here instead of using `\p{L}` of the running JavaScript: an index is read by programs with other Unicode
// versions, and all of them must agree on the words.

const SEPARATOR = 0;
// 1 stands for a letter; no code refers to it.
/** Accents, Hebrew points, Arabic harakat, joiners: ignored inside a word; between words they separate. */
const IGNORED = 2;
/** Letters of scripts written without blanks between words: Thai, Lao, Tibetan, Myanmar, Khmer, Han, Kana, Bopomofo, Hangul. */
const UNSPACED = 3;
/** Each emoji is a word. */
const EMOJI = 4;

/**
 * Runs of characters of one class, from U+0000 on: the class (Separator, Letter, Ignored, Unspaced, Emoji), then the length of
 * the run in base 36. Made from Unicode 16: letters, numbers, private use and unassigned characters are letters; so are combining
 * marks (vowel signs), except the ignored ones.
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

/** The class of each character. */
const CHARACTER_CLASSES: Uint8Array = new Uint8Array(0x110000);

let next = 0;
for (const [, name = "", length = ""] of CLASSES.matchAll(/([SLIUE])([0-9a-z]+)/g)) {
  const from = next;
  next += Number.parseInt(length, 36);
  CHARACTER_CLASSES.fill("SLIUE".indexOf(name), from, next);
}
// Characters after the last run are of its class.
CHARACTER_CLASSES.fill(CHARACTER_CLASSES[next - 1] ?? SEPARATOR, next);

/**
 * Lower-case letters that the index spells differently: other shapes of a letter, and letters that people replace when typing.
 */
const VARIANTS: Readonly<Record<string, string>> = Object.fromEntries(
  wordPairs(`
  µ:μ ſ:s ς:σ ϐ:β ϑ:θ ϕ:φ ϖ:π ϰ:κ ϱ:ρ ϵ:ε ё:е ß:ss æ:ae œ:oe þ:th ð:d đ:d ħ:h ı:i ł:l ø:o ŧ:t ĳ:ij
  ﬀ:ff ﬁ:fi ﬂ:fl ﬃ:ffi ﬄ:ffl ﬅ:st ﬆ:st
`),
);

/** Latin and Greek letters lose their accents. In other scripts (й, が) the mark is part of the letter. */
const WITH_ACCENTS = /[\u00c0-\u0233\u0370-\u03ff\u1e00-\u1ffc\u212b]/u;
const folded = new Map<string, string>();

/** One composed character as the index spells it: lower case, Latin and Greek without accents, "" for ignored characters. */
function foldCharacter(character: string): string {
  // From the CJK radicals on, letters with two cases are rare, and there are too many others to cache.
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

/** Full-width and half-width letters, and half-width voicing marks. */
const WIDTHS = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]/;
const ALL_WIDTHS = new RegExp(`${WIDTHS.source}+`, "g");

/** Converts letters to normal width and combines them with their marks: decomposed kana and Hangul become one character. */
export function compose(word: string): string {
  if (!WIDTHS.test(word)) return word.normalize("NFC");
  return word.replace(ALL_WIDTHS, (wide) => wide.normalize("NFKC")).normalize("NFC");
}

function classOf(character: string): number {
  return CHARACTER_CLASSES[character.codePointAt(0) ?? 0] ?? SEPARATOR;
}

// ---- Splitting into words ----
// FTS5 gets the terms joined by blanks; its `ascii` tokenizer takes them unchanged. Only its cut of terms longer than 32,768
// bytes is not repeated here.

/** `start` and `end` are UTF-16 offsets. Accents after the last letter belong to the word. */
export type Token = { readonly term: string; readonly start: number; readonly end: number };

const NOT_ASCII = /[^\x00-\x7f]/;

/** The words of a text. A run of a script without blanks is one token, and so is an emoji. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  eachWord(text, (start, end, spelling) => {
    tokens.push({ term: spell(text.slice(start, end), spelling), start, end });
  });
  return tokens;
}

/** `plain`: only a-z and 0-9, so the term is a slice of the text. */
type Spelling = "plain" | "ascii" | "other";

/** Visits the position of each word without creating strings. */
export function eachWord(
  text: string,
  visit: (start: number, end: number, spelling: Spelling) => void,
): void {
  const length = text.length;
  let i = 0;
  while (i < length) {
    const kind = classAt(text, i);
    if (kind === SEPARATOR || kind === IGNORED) {
      i += isPairAt(text, i) ? 2 : 1;
      continue;
    }
    const start = i;
    let isPlain = true;
    let isAscii = true;
    for (; i < length; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) {
        if (CHARACTER_CLASSES[unit] !== kind) break;
        if (unit <= 0x5a && unit >= 0x41) isPlain = false;
        continue;
      }
      const here = classAt(text, i);
      if (here !== IGNORED && (here !== kind || (kind === EMOJI && i > start))) break;
      isAscii = false;
      if (isPairAt(text, i)) i += 1;
    }
    visit(start, i, isAscii ? (isPlain ? "plain" : "ascii") : "other");
  }
}

export function spell(word: string, spelling: Spelling): string {
  if (spelling === "plain") return word;
  return spelling === "ascii" ? word.toLowerCase() : foldTerm(word);
}

/** A word as the index spells it. */
export function foldTerm(word: string): string {
  let term = "";
  for (const character of compose(word)) term += foldCharacter(character);
  return term;
}

/** True when part of the text is in a script without blanks, where words cannot be separated. */
export function containsUnspaced(text: string): boolean {
  if (!NOT_ASCII.test(text)) return false;
  for (let i = 0; i < text.length; i += 1) if (classAt(text, i) === UNSPACED) return true;
  return false;
}

/** For a term from `tokenize`: true when it is a run of a script without blanks. */
export function isUnspacedTerm(term: string): boolean {
  return term.charCodeAt(0) >= 0x80 && classAt(term, 0) === UNSPACED;
}

/**
 * The terms that FTS5 indexes for a text: its words and, for a run without blanks, every pair of neighbouring characters and the
 * last character.
 */
export function indexTerms(text: string): string[] {
  const terms: string[] = [];
  for (const { term } of tokenize(text)) {
    if (isUnspacedTerm(term)) pushBigrams(terms, term, { isLast: false });
    else terms.push(term);
  }
  return terms;
}

/** `indexTerms` joined by blanks. ASCII text is returned unchanged: the tokenizer folds and splits it the same way. */
export function indexText(text: string): string {
  return NOT_ASCII.test(text) ? indexTerms(text).join(" ") : text;
}

/**
 * The terms that are adjacent in the index where these words (as `tokenize` gives them) are adjacent in a text. A run without
 * blanks matches anywhere inside a longer run; between two words of the phrase, the run must end where the word ends.
 */
export function phraseTerms(
  phrase: readonly string[],
  isPrefix: boolean,
): { readonly terms: readonly string[]; readonly isPrefix: boolean } {
  const terms: string[] = [];
  phrase.forEach((word, index) => {
    if (isUnspacedTerm(word)) pushBigrams(terms, word, { isLast: index === phrase.length - 1 });
    else terms.push(word);
  });
  const last = phrase.at(-1) ?? "";
  return { terms, isPrefix: isUnspacedTerm(last) ? isSingle(last) : isPrefix };
}

function pushBigrams(terms: string[], run: string, { isLast }: { readonly isLast: boolean }): void {
  let before = "";
  for (const character of run) {
    if (before !== "") terms.push(before + character);
    before = character;
  }
  if (!isLast || before.length === run.length) terms.push(before);
}

function isSingle(run: string): boolean {
  return run.length === (isPairAt(run, 0) ? 2 : 1);
}

function classAt(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  const isPair = (unit & 0xfc00) === 0xd800 && isPairAt(text, index);
  return CHARACTER_CLASSES[isPair ? (text.codePointAt(index) ?? 0) : unit] ?? SEPARATOR;
}

function isPairAt(text: string, index: number): boolean {
  if ((text.charCodeAt(index) & 0xfc00) !== 0xd800) return false;
  return (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
}

// ---- English word lists ----
// Irregular verbs and nouns, and words too common to search for.

/** Base form, then its other forms. Forms that are usually another word (`rose`, `ground`, `lay`) are left out. */
const FORMS = `
  be am is are was were been being | have has had having | do does did done doing | go goes went gone
  arise arose arisen | awake awoke awoken | bear borne | beat beaten | become became | begin began begun | bend bent
  bet | bind bound | bite bitten | bleed bled | blow blew blown | break broke broken | breed bred | bring brought
  build built | burn burnt | buy bought | catch caught | choose chose chosen | cling clung | come came | creep crept
  deal dealt | dig dug | draw drew drawn | dream dreamt | drink drank drunk | drive drove driven | eat ate eaten
  fall fell fallen | feed fed | feel felt | fight fought | find found | flee fled | fly flew flown | forbid forbade forbidden
  forget forgot forgotten | forgive forgave forgiven | freeze froze frozen | get got gotten | give gave given
  grow grew grown | hang hung | hear heard | hide hid hidden | hold held | keep kept | kneel knelt | know knew known
  lead led | lean leant | leap leapt | learn learnt | leave left | lend lent | light lit | lose lost | make made
  mean meant | meet met | mislead misled | mistake mistook mistaken | oversee oversaw overseen | overcome overcame | pay paid
  prove proven | rebuild rebuilt | rewrite rewrote rewritten | ride rode ridden | ring rang rung | rise risen | run ran
  say said | see saw seen | seek sought | sell sold | send sent | sew sewn | shake shook shaken | shine shone | shoot shot
  show shown | shrink shrank shrunk | sing sang sung | sink sank sunk | sit sat | sleep slept | slide slid | speak spoke spoken
  spell spelt | spend spent | spill spilt | spin spun | spring sprang sprung | stand stood | steal stole stolen | stick stuck
  sting stung | stink stank stunk | strike struck stricken | strive strove striven | swear swore sworn | sweep swept | swell swollen
  swim swam swum | swing swung | take took taken | teach taught | tear tore torn | tell told | think thought
  throw threw thrown | undergo underwent undergone | understand understood | undertake undertook undertaken | undo undid undone
  wake woke woken | wear wore worn | weave wove woven | weep wept | win won | withdraw withdrew withdrawn | write wrote written
  child children | man men | woman women | person people | foot feet | tooth teeth | goose geese | mouse mice
  knife knives | wife wives | half halves | shelf shelves | wolf wolves | loaf loaves
  thief thieves | calf calves | self selves | scarf scarves | analysis analyses | crisis crises | thesis theses
  hypothesis hypotheses | diagnosis diagnoses | criterion criteria | phenomenon phenomena | index indices | matrix matrices
  vertex vertices | appendix appendices | grandchild grandchildren | ox oxen
`;

const IRREGULAR: ReadonlyMap<string, string> = new Map(
  FORMS.split(/[|\n]/).flatMap((line) => {
    const [base = "", ...forms] = line.trim().split(/\s+/);
    return forms.map((form) => [form, base] as const);
  }),
);

const STOP_WORDS: ReadonlySet<string> = wordSet(`
  a an the this that these those some any each every both all such other another same own
  i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
  it its itself they them their theirs themselves one ones someone anyone everyone something anything everything
  what which who whom whose when where why how whether
  am is are was were be been being do does did doing done have has had having will would shall should can could may might must
  and or but nor not no so if then than because as until while although though
  of in on at by for with about against between into through during before after above below to from up down out off over
  under again further once here there very too just also only more most much many few ever yet
  s t d ll m re ve don doesn didn isn aren wasn weren haven hasn hadn wouldn shouldn couldn can ain let
`);

/** Words that frame a question; its answer rarely repeats them. */
export const FRAME_WORDS: ReadonlySet<string> = wordSet(`
  kind kinds type types sort sorts way ways thing things reason reasons example examples name names
  mention mentions mentioned describe describes described say says said tell told talk talked talking discuss discussed
  share shared call called happen happened use used do make made get got
  ago past last day days week weeks month months year years time times earlier recently previous previously
  current currently initially
`);

/** Words that say when something happened. */
export const TIME_WORDS: ReadonlySet<string> = wordSet(`
  today yesterday tomorrow tonight ago last next since week weeks weekend month months year years day days
  monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter
  january february march april june july august september october november december
  morning afternoon evening night recently
`);

export const NUMBER_WORDS: ReadonlySet<string> = wordSet(`
  one two three four five six seven eight nine ten eleven twelve dozen hundred thousand once twice thrice
  couple several half
`);

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}

/** From words such as `from:to`. */
function wordPairs(text: string): (readonly [from: string, to: string])[] {
  return [...wordSet(text)].map((pair) => {
    const [from = "", to = ""] = pair.split(":");
    return [from, to];
  });
}

// ---- English stems ----
// The published rules of the Snowball English stemmer (Porter2), after a table of irregular forms. Words with digits or letters
// beyond a-z are their own stem.

/** Takes a folded word. */
export function stem(word: string): string {
  if (!/^[a-z']+$/.test(word)) return word;
  const base = IRREGULAR.get(word) ?? word;
  return EXCEPTIONS.get(base) ?? (base.length <= 2 ? base : applyRules(base));
}

/** Irregular forms whose base form has this stem. */
export function irregularForms(root: string): readonly string[] {
  return FORMS_BY_STEM.get(root) ?? [];
}

/** Question words and function words, which the answer to a question need not contain. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

const EXCEPTIONS: ReadonlyMap<string, string> = new Map(
  wordPairs(`
  skis:ski skies:sky dying:die lying:lie tying:tie idly:idl gently:gentl ugly:ugli early:earli only:onli
  singly:singl sky:sky news:news howe:howe atlas:atlas cosmos:cosmos bias:bias andes:andes
`),
);

/** Words that are finished once their plural ending is removed. */
const DONE_AFTER_PLURAL = wordSet("inning outing canning herring earring proceed exceed succeed");

/** Longer suffixes come before shorter ones with the same ending. */
const STEP_2: readonly (readonly [suffix: string, replacement: string])[] = wordPairs(`
  ization:ize ational:ate fulness:ful ousness:ous iveness:ive tional:tion biliti:ble lessli:less entli:ent
  ation:ate alism:al aliti:al ousli:ous iviti:ive fulli:ful enci:ence anci:ance abli:able izer:ize ator:ate
  alli:al bli:ble
`);

const STEP_3: readonly (readonly [suffix: string, replacement: string])[] = wordPairs(`
  ational:ate tional:tion alize:al icate:ic iciti:ic ical:ic ness: ful:
`);

const STEP_4 = "ement ance ence able ible ment ant ent ism ate iti ous ive ize al er ic".split(" ");

const EARLY_REGION = /^(?:gener|commun|arsen)/;
const REGION = /[aeiouy][^aeiouy]/;
/** The end of a short syllable such as `hop`: the removed ending may have doubled the consonant or replaced an e. */
const SHORT_SYLLABLE = /(?:^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY])$/;
const VOWEL = /[aeiouy]/;
const DOUBLE = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;

/** The word being stemmed; `r1` and `r2` are where the regions begin in which endings may be removed. */
type Shape = { readonly word: string; readonly r1: number; readonly r2: number };

function applyRules(original: string): string {
  const word = markConsonantY(original.replace(/^'/, ""));
  const r1 = EARLY_REGION.exec(word)?.[0].length ?? regionAfter(word, 0);
  const shape: Shape = { word, r1, r2: regionAfter(word, r1) };
  const singular = withoutPlural(word.replace(/'s?'?$/, ""));
  if (DONE_AFTER_PLURAL.has(singular)) return singular;
  let stemmed = withoutVerbEnding(singular, shape.r1);
  stemmed = stemmed.replace(/(?<=.[^aeiouy])[yY]$/, "i");
  stemmed = replaceDerived(stemmed, shape.r1);
  stemmed = shortenDerived(stemmed, shape);
  stemmed = dropDerived(stemmed, shape.r2);
  return dropFinal(stemmed, shape).toLowerCase();
}

/** A consonant y is written as Y until the end. */
function markConsonantY(word: string): string {
  return word.replace(/^y/, "Y").replace(/([aeiouy])y/g, "$1Y");
}

function regionAfter(word: string, from: number): number {
  const match = REGION.exec(word.slice(from));
  return match === null ? word.length : from + match.index + 2;
}

function withoutPlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (word.endsWith("ied") || word.endsWith("ies")) return word.slice(0, word.length > 4 ? -2 : -1);
  if (!word.endsWith("s") || word.endsWith("us") || word.endsWith("ss")) return word;
  return VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word;
}

function withoutVerbEnding(word: string, r1: number): string {
  const eed = /eed(?:ly)?$/.exec(word);
  if (eed !== null) return eed.index >= r1 ? `${word.slice(0, eed.index)}ee` : word;
  const ending = /(?:ed|ing)(?:ly)?$/.exec(word);
  if (ending === null) return word;
  const rest = word.slice(0, ending.index);
  if (!VOWEL.test(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (DOUBLE.test(rest)) return rest.slice(0, -1);
  return rest.length <= r1 && SHORT_SYLLABLE.test(rest) ? `${rest}e` : rest;
}

function replaceDerived(word: string, r1: number): string {
  for (const [suffix, replacement] of STEP_2) {
    if (word.endsWith(suffix)) return isWithin(word, suffix, r1) ? cut(word, suffix) + replacement : word;
  }
  if (word.endsWith("ogi"))
    return isWithin(word, "ogi", r1) && word.endsWith("logi") ? word.slice(0, -1) : word;
  if (word.endsWith("li") && isWithin(word, "li", r1) && /[cdeghkmnrt]li$/.test(word)) return cut(word, "li");
  return word;
}

function shortenDerived(word: string, { r1, r2 }: Shape): string {
  for (const [suffix, replacement] of STEP_3) {
    if (word.endsWith(suffix)) return isWithin(word, suffix, r1) ? cut(word, suffix) + replacement : word;
  }
  return word.endsWith("ative") && isWithin(word, "ative", r2) ? cut(word, "ative") : word;
}

function dropDerived(word: string, r2: number): string {
  for (const suffix of STEP_4) {
    if (word.endsWith(suffix)) return isWithin(word, suffix, r2) ? cut(word, suffix) : word;
  }
  return /[st]ion$/.test(word) && isWithin(word, "ion", r2) ? cut(word, "ion") : word;
}

function dropFinal(word: string, { r1, r2 }: Shape): string {
  const rest = word.slice(0, -1);
  if (word.endsWith("e")) {
    if (rest.length >= r2 || (rest.length >= r1 && !SHORT_SYLLABLE.test(rest))) return rest;
  } else if (word.endsWith("ll") && rest.length >= r2) return rest;
  return word;
}

function isWithin(word: string, suffix: string, region: number): boolean {
  return word.length - suffix.length >= region;
}

function cut(word: string, suffix: string): string {
  return word.slice(0, -suffix.length);
}

const FORMS_BY_STEM: ReadonlyMap<string, readonly string[]> = new Map(
  [...Map.groupBy([...IRREGULAR], ([, base]) => stem(base))].map(([root, pairs]) => [
    root,
    [...new Set(pairs.flat())],
  ]),
);
