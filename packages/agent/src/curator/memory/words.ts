// Words that carry no fact, words that turn one round, and words that open a sentence without being a name. English, with
// the commonest of other languages. No list of words that turn a sentence round is complete, so entries are dropped without a
// model by the lists of words that do not (HARMLESS, STATING); the others serve to check what a model wrote.

/** Two entries that differ in nothing but these say the same. A word belongs here only if no place of it changes what is said. */
export const HARMLESS: ReadonlySet<string> = new Set("a an the is are please also currently".split(" "));

/**
 * A sentence of nothing but these, names, numbers and paths states a fact of its own: it says nothing about the sentences around it.
 * No word that points back ("it", "this") or judges may be here.
 */
export const STATING: ReadonlySet<string> = new Set(
  (
    "a an the is are and in on at of for to by with from via has have use uses run runs live lives speak speaks user users user's " +
    "team project server servers service services database api app office repository repo test tests build builds backup backups " +
    "deploy deploys port host path version timezone language languages editor shell name email phone manager meeting meetings " +
    "daily weekly monthly"
  ).split(" "),
);

/** May come and go between two wordings of the same thing. */
export const FILLERS: ReadonlySet<string> = new Set(
  "a an the is are be that which please also just der die das ein eine ist sind le la les un une est el los las es".split(
    " ",
  ),
);

/** A sentence with one of these says that something is not so, or must not be. */
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

/** A word that does nothing but deny. */
export function isNegatingWord(word: string): boolean {
  return NEGATIONS.has(word) || /.n't$/.test(word);
}

/** Make what a sentence says doubtful, rare or small. A rewording may neither lose nor add one. */
export const HEDGES: ReadonlySet<string> = new Set(
  (
    "hardly barely scarcely seldom rarely almost nearly maybe perhaps possibly probably supposedly allegedly reportedly " +
    "apparently presumably unlikely likely few little vielleicht kaum selten angeblich peut-être rarement forse quizás " +
    "kanske belki возможно почти редко"
  ).split(" "),
);

/** These narrow or move what a sentence says; two sentences that differ in one of them say different things. */
export const MODIFIERS: ReadonlySet<string> = new Set(
  (
    "only except unless if when until till before after but instead formerly previously no-longer rarely sometimes usually " +
    "always often must may might should could would was were will had or than under over above below less more most least " +
    "rather else otherwise however although though while during whenever wherever versus vs nur außer wenn bis aber sondern"
  ).split(" "),
);

/** No rewording may weaken these: "don't" is less than "never", and nothing says as much as "always". */
export const ABSOLUTES: ReadonlySet<string> = new Set(
  (
    "always never must only all every each both everyone everything nobody none exactly ever " +
    "immer nie niemals nur alle jeder jede jedes toujours jamais tous siempre nunca solo todos"
  ).split(" "),
);

/** What they say holds for the words behind them; it may not come to hold for others. */
export const SCOPED: ReadonlySet<string> = new Set(
  "always only must except unless if when until till before after immer nur wenn bis toujours siempre solo".split(
    " ",
  ),
);

/** Numbers in letters. */
export const NUMBER_WORDS: ReadonlySet<string> = new Set(
  (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen " +
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half quarter double " +
    "triple first second third fourth fifth once twice last"
  ).split(" "),
);

/** Numbers in letters that a sentence may also have for other reasons: "in one place". */
export const VAGUE_NUMBERS: ReadonlySet<string> = new Set("one first second last once".split(" "));

/** A rewording may leave these out though they are neither fillers nor in every sentence. */
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

/** Verbs and openings that notes begin with. Any other capitalised word counts as a name. */
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
