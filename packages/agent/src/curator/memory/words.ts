// How the curator reads texts: lists of words by what they do to a statement, and splitting a text into words and sentences for
// comparison. The lists are English, with the commonest words of other languages. No list of words that reverse a statement is
// complete, so the rules drop entries only by the lists of words that do not (HARMLESS, STATING); the other lists serve to check
// what a model wrote. Pure.

/** Two entries that differ only in these say the same. A word belongs here only if it changes nothing in any position. */
export const HARMLESS: ReadonlySet<string> = new Set("a an the is are please also currently".split(" "));

/**
 * A sentence of only these words, names, numbers and paths states an independent fact: it says nothing about the sentences around
 * it. No word that points back ("it", "this") or judges may be here.
 */
export const STATING: ReadonlySet<string> = new Set(
  (
    "a an the is are and in on at of for to by with from via has have use uses run runs live lives speak speaks user users user's " +
    "team project server servers service services database api app office repository repo test tests build builds backup backups " +
    "deploy deploys port host path version timezone language languages editor shell name email phone manager meeting meetings " +
    "daily weekly monthly"
  ).split(" "),
);

/** Two wordings of the same thing may differ in these. */
export const FILLERS: ReadonlySet<string> = new Set(
  "a an the is are be that which please also just der die das ein eine ist sind le la les un une est el los las es".split(
    " ",
  ),
);

/** A sentence with one of these says that something is not so, or must not be done. */
const NEGATIONS: ReadonlySet<string> = new Set(
  (
    "not no never none nothing nobody nowhere neither nor without cannot can't don't doesn't didn't won't wouldn't shouldn't " +
    "mustn't isn't aren't wasn't weren't hasn't haven't couldn't dont doesnt didnt isnt arent wasnt werent couldnt wouldnt " +
    "shouldnt mustnt hasnt havent avoid avoids stop stops refuse refuses forbid forbids forbidden " +
    "disallow disallowed disable disabled dislike dislikes hate hates nicht nichts nie niemals niemand kein keine keinen keinem " +
    "keiner keines weder ohne verboten pas jamais sans rien aucun aucune interdit nunca nada ninguno ninguna sin tampoco niet " +
    "geen nooit zonder não nem " +
    "stopped stopping quit quits quitting fail fails failed failing refused refusing avoided avoiding deprecated obsolete outdated " +
    "false falsely wrong wrongly abandoned dropped removed banned prohibited unsupported " +
    "non mai nessuno nessuna niente nulla senza neanche nemmeno neppure vietato " + // Italian
    "inte aldrig ingen inget inga utan ikke aldri ingenting ei " + // Swedish, Danish, Norwegian, Finnish
    "değil yok hiç asla hayır olmaz " + // Turkish
    "không chưa đừng chẳng chả " + // Vietnamese
    "не нет ни никогда никто ничего нельзя без нету ні ніколи немає " + // Russian, Ukrainian
    "nie nigdy nic bez nikdy není tidak bukan jangan δεν μην όχι " + // Polish, Czech, Indonesian, Greek
    "لا ليس ليست لم لن ما بدون غير ممنوع לא אין בלי " + // Arabic, Hebrew
    "नहीं नही न मत ना बिना 안 못 아니 말고"
  ) // Hindi, Korean
    .split(" "),
);

/** Negations inside a word or a line without spaces: Japanese, Korean, Chinese, Thai. */
const INNER_NEGATION = /ない|なく|なかっ|ません|ずに|않|없|아니|못하|不|没|沒|無|别|勿|ไม่/u;

export function isNegation(word: string): boolean {
  return isNegatingWord(word) || INNER_NEGATION.test(word);
}

/** A word that is nothing but a negation. */
export function isNegatingWord(word: string): boolean {
  return NEGATIONS.has(word) || /.n't$/.test(word);
}

/** Words that make a statement doubtful, rare or small. A rewording may neither lose nor add one. */
export const HEDGES: ReadonlySet<string> = new Set(
  (
    "hardly barely scarcely seldom rarely almost nearly maybe perhaps possibly probably supposedly allegedly reportedly " +
    "apparently presumably unlikely likely few little vielleicht kaum selten angeblich peut-être rarement forse quizás " +
    "kanske belki возможно почти редко"
  ).split(" "),
);

/** Words that narrow or shift a statement; two sentences that differ in one of them say different things. */
export const MODIFIERS: ReadonlySet<string> = new Set(
  (
    "only except unless if when until till before after but instead formerly previously no-longer rarely sometimes usually " +
    "always often must may might should could would was were will had or than under over above below less more most least " +
    "rather else otherwise however although though while during whenever wherever versus vs nur außer wenn bis aber sondern"
  ).split(" "),
);

/** No rewording may lose these: "don't" is weaker than "never", and no other word is as strong as "always". */
export const ABSOLUTES: ReadonlySet<string> = new Set(
  (
    "always never must only all every each both everyone everything nobody none exactly ever " +
    "immer nie niemals nur alle jeder jede jedes toujours jamais tous siempre nunca solo todos"
  ).split(" "),
);

/** These apply to the words after them; a rewording may not apply them to other words. */
export const SCOPED: ReadonlySet<string> = new Set(
  "always only must except unless if when until till before after immer nur wenn bis toujours siempre solo".split(
    " ",
  ),
);

/** Numbers written as words. */
export const NUMBER_WORDS: ReadonlySet<string> = new Set(
  (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen " +
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half quarter double " +
    "triple first second third fourth fifth once twice last"
  ).split(" "),
);

/** Number words that may also be used in another sense: "in one place". */
export const VAGUE_NUMBERS: ReadonlySet<string> = new Set("one first second last once".split(" "));

/** A rewording may leave these out, although they are not fillers. */
export const REPLACEABLE: ReadonlySet<string> = new Set(
  "done made being been located based regarding concerning really very quite well etc so then thing things way ways".split(
    " ",
  ),
);

/** Too common to show that two entries are about the same thing. */
export const COMMON: ReadonlySet<string> = new Set(
  (
    "user users he she they it we you i me my his her their our your its this these those there here to of in on at by for from " +
    "with into onto as and via per about has have do does did can get gets use uses used using want wants like likes prefer " +
    "prefers need needs make makes go goes work works run runs set sets all any some every each one two first last new old und " +
    "oder mit von zu im am auf für bei et de du des en y con para"
  ).split(" "),
);

/** Words that notes often begin with. Any other capitalised first word counts as a name. */
export const OPENINGS: ReadonlySet<string> = new Set(
  (
    "add adds allow allows answer answers apply applies ask asks be begin begins bring brings build builds call calls change " +
    "changes check checks choose clean close code comes commit commits config configure contact copy create creates currently " +
    "daily default defaults delete deploy deploys deployment deployments describe do does don't each edit email enable enables " +
    "ensure enjoys every everyone everything expects explain fetch file files find first fix follow follows for found from " +
    "generally get give goes has have how however i if import important in include install installs into is it keep keeps knows " +
    "last leave likes likely list lives loves make makes meeting meetings move name named need needs note on once open our " +
    "output owner package packages pair pass path please prefer prefers production project projects provide pull push put read " +
    "reads release releases remember remove repo repository reply request requires responds restart review run running runs save " +
    "schedule send sends server servers service services set sets setup shares ship should show shows since sleeps some speaks " +
    "start starts store stores such switch takes talk team tell test testing tests that their then there these they thinks this " +
    "those timezone to today tool tools treat tries try type update updates use used user user's users uses using usually version " +
    "wants was watch we what when where which while who will with within work works writes write you your staging database api " +
    "app application backup backups branch browser build cli client cluster dev docs editor environment host language laptop " +
    "machine main management network office phone port python shell site system terminal web website weekly yearly monthly"
  ).split(" "),
);

// Splitting a text into words and sentences

export type Word = {
  /** As written, without the punctuation around it. */
  readonly raw: string;
  /** In lower case, unless the case may matter. */
  readonly folded: string;
  readonly isFirst: boolean;
  /** A comma that may reverse the meaning: "No, deploy on Friday" and "No deploy on Friday". Otherwise empty. */
  readonly pause: string;
};

export type Sentence = {
  readonly words: readonly Word[];
  /** The words of the heading line above it. */
  readonly under: readonly Word[];
  readonly key: string;
};

/**
 * The sentences of a text. Lines after one that ends with a colon, and the items of a list, count together with the line above them:
 * "deploy on Friday" under "Things to avoid" is not advice to deploy on Friday.
 */
export function sentencesOf(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  let heading: readonly Word[] = [];
  let isUnderColon = false;
  for (const line of text.split("\n")) {
    const isPoint = /^\s*(?:[-*•+]|\d+[.)])\s/u.test(line);
    if (line.trim() === "" || (!isPoint && !isUnderColon)) heading = [];
    const parts = line.split(/(?<=[.!?])\s+/u).map(wordsOfPart);
    for (const words of parts) {
      if (words.length === 0) continue;
      const key = [...heading, ...words].map(({ folded, pause }) => folded + pause).join(" ");
      sentences.push({ words, under: heading, key });
    }
    const isColon = /:\s*$/.test(line);
    if (isColon || !(isPoint || isUnderColon)) heading = parts.flat();
    isUnderColon = isColon || (isUnderColon && line.trim() !== "");
  }
  return sentences;
}

export function wordsOf(text: string): Word[] {
  return sentencesOf(text).flatMap(({ words }) => words);
}

/** Texts with the same result differ only in spacing, letter case and punctuation without meaning. */
export function foldedText(text: string): string {
  return sentencesOf(text)
    .map(({ key }) => key)
    .join("\n");
}

/** Words that a rewording may not lose: all except fillers; plural and singular are the same. */
export function significant(text: string): string[] {
  return wordsOf(text)
    .filter(({ folded }) => !FILLERS.has(folded))
    .map(stemmed);
}

/**
 * Texts with the same result differ only in words of HARMLESS, in plurals, and as `foldedText` allows. Any word that is on no list, in
 * any language, is part of the result.
 */
export function essence(text: string): string {
  return sentencesOf(text)
    .map(({ under, words }) => [...essentialWords(under), ...essentialWords(words)].join(" "))
    .join("\n");
}

function essentialWords(words: readonly Word[]): string[] {
  return words
    .filter((word, index) => !isHarmless(word, words[index + 1]))
    .map((word) => stemmed(word) + word.pause);
}

const ADVERBS = /^(?:please|also|currently)$/;

/** Whether a word of HARMLESS is harmless in its position, which it is not in "Licht an", "vitamin A", "Is it up" and "a few". */
function isHarmless({ raw, folded, isFirst }: Word, next: Word | undefined): boolean {
  if (!HARMLESS.has(folded) || (!isFirst && raw !== folded)) return false;
  if (ADVERBS.test(folded)) return true;
  if (next === undefined || /^(?:few|little)$/.test(next.folded)) return false;
  return !isFirst || !/^(?:is|are)$/.test(folded);
}

/** Names keep their `s`: `Peter Williams` and `Peter William` are two people. Weekdays such as `Tuesdays` do not. */
function stemmed({ raw, folded, isFirst }: Word): string {
  const isName = !isFirst && /^\p{Lu}/u.test(raw) && !/days?$/.test(folded);
  return isName ? folded : stem(folded);
}

/** Words that show what a text is about. */
export function topicWords(text: string): Set<string> {
  return new Set(significant(text).filter((word) => !COMMON.has(word) && !isTurning(word)));
}

/** A word that reverses, narrows or questions a statement. */
export function isTurning(word: string): boolean {
  const lower = word.toLowerCase(); // two-letter words in capitals, `NO` and `US`, were not folded
  return isNegation(lower) || MODIFIERS.has(lower) || word.endsWith("?");
}

/** Removes the ending of plurals and of the third person only: a stronger stem would make different words equal. */
export function stem(word: string): string {
  const bare = word.replace(/'s$/, "");
  if (!/^\p{L}{4,}$/u.test(bare) || /(?:ss|us|is)$/.test(bare) || !bare.endsWith("s")) return bare;
  return bare.endsWith("oes") ? bare.slice(0, -2) : bare.slice(0, -1);
}

const OPENING_MARKS = /^[("'`“”‘’«»[{]+/u;
const CLOSING_MARKS = /[.,;:!)"'`“”‘’«»\]}…]+$/u;
const PLAIN_WORD = /^[\p{L}\p{M}]+(?:['-][\p{L}\p{M}]+)*$/u;

function wordsOfPart(part: string): Word[] {
  const words: Word[] = [];
  for (const piece of part.normalize("NFC").split(/\s+/u)) {
    const raw = bareWord(piece.replaceAll("’", "'"), words.length === 0);
    if (raw === "") continue;
    const isFirst = words.length === 0;
    const folded = withBrackets(piece, foldWord(raw));
    // The first word may be a "no" in any language; later only known negations count.
    const pause = /[,;]$/.test(piece) && (isFirst || isNegation(folded)) ? "," : "";
    words.push({ raw, folded, isFirst, pause });
  }
  return words;
}

/** Brackets around numbers have a meaning: in accounting `(100)` is -100, and 5 is in `[0, 5]` but not in `[0, 5)`. */
function withBrackets(piece: string, folded: string): string {
  if (!/\p{N}/u.test(piece)) return folded;
  const opening = /^["'`*_]*([([{]+)/u.exec(piece)?.[1] ?? "";
  const closing = /([)\]}]+)[.,;:!"'`*_]*$/u.exec(piece)?.[1] ?? "";
  return `${opening}${folded}${closing}`;
}

/**
 * Without bullets, quotes, brackets, emphasis and the punctuation that ends a sentence. A question mark stays, because it changes the
 * meaning; so do signs within a line (`make > log`, `- 5`) and dots that are a word (`cd ..`).
 */
function bareWord(piece: string, isFirst: boolean): string {
  if (isFirst && /^[-*•–—+#>]+$/u.test(piece)) return "";
  if (/^\.+$/.test(piece)) return piece;
  let word = piece.replace(OPENING_MARKS, "").replace(CLOSING_MARKS, "");
  const emphasis = /^(\*{1,3}|_{1,2})(.+?)\1$/u.exec(word);
  if (emphasis?.[2] !== undefined) word = emphasis[2].replace(CLOSING_MARKS, "");
  return word;
}

/** Names of files, commands and variables keep their case: `Data` and `data` may be two directories. */
function foldWord(raw: string): string {
  const word = raw.replace(/\?+$/, "");
  if (!PLAIN_WORD.test(word) || /\p{Ll}\p{Lu}|^\p{Lu}{2}$/u.test(word)) return raw; // also `US` and `us`
  return raw.toLowerCase();
}
