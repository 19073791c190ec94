// How much of a large database one search looks at. None of these decides whether a match can be found: they bound how many
// messages are compared with each other by their text before the best are shown.

export type Bounds = {
  /** So many matches of an expression are looked at for further lineages. */
  readonly matchesRanked: number;
  /** With more matches than `readAll`, so many of the newest are read and ranked, and the answer says so. */
  readonly newestRanked: number;
  /** Of a term with more holders than these, the newest are looked at first; the rest only where rarer terms do not decide. */
  readonly probeRows: number;
  /** The longest list of holders that is looked at. */
  readonly listRows: number;
  /** How many messages are read and ranked; more for later pages. */
  readonly rowsRead: number;
  /** With no more candidates than these, all are read. */
  readonly readAll: number;
  /** Messages with all words of the question that are read in any case. */
  readonly fullMatches: number;
  /** Longer lists of sessions are filtered row by row. */
  readonly sessionTokens: number;
  /** Rows looked at in the first step of a walk; each further step takes twice as many. */
  readonly firstStep: number;
};

export const BOUNDS: Bounds = {
  matchesRanked: 5000,
  newestRanked: 160,
  probeRows: 4000,
  listRows: 60_000,
  rowsRead: 120,
  readAll: 160,
  fullMatches: 80,
  sessionTokens: 100,
  firstStep: 64,
};
