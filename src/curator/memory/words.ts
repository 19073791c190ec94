// Words that carry no fact, words that turn one round, and words that open a sentence without being a name. English, with
// the commonest of German, French and Spanish: for other languages fewer entries are taken for alike, never more.

/** May come and go between two wordings of the same thing. */
export const FILLERS: ReadonlySet<string> = new Set(
  "a an the is are be am that which please also just der die das ein eine ist sind le la les un une est el los las es".split(
    " ",
  ),
);

/** A sentence with one of these says that something is not so, or must not be. */
export const NEGATIONS: ReadonlySet<string> = new Set(
  (
    "not no never none nothing nobody nowhere neither nor without cannot can't don't doesn't didn't won't wouldn't shouldn't " +
    "mustn't isn't aren't wasn't weren't hasn't haven't couldn't avoid avoids stop stops refuse refuses forbid forbids forbidden " +
    "disallow disallowed disable disabled dislike dislikes hate hates nicht nie niemals kein keine keinen ohne pas jamais sans nunca"
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
