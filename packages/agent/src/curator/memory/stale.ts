// Entries that speak of a day long past: with a date behind a word like "until", or with "this week" in a note that is months old.
import { sentencesOf } from "./fold.ts";

const DAY_MS = 86_400_000;
/** A deadline of last week may still matter. */
const STALE_AFTER_DAYS = 30;

export type Staleness = {
  /** The words that show it, such as `until 2024-03-01`. */
  readonly sign: string;
  /** The last day it speaks of, `2024-03-01`. */
  readonly day: string;
  /** Nothing else is in the entry. */
  readonly isWhole: boolean;
};

/** `knownSince`: when the entry was written, if anybody knows. */
export function findStale(text: string, now: Date, knownSince: Date | undefined): Staleness | undefined {
  const due = deadline(text);
  const found = due ?? relativeTime(text, knownSince);
  if (!found) return undefined;
  if (now.getTime() - found.day.getTime() < STALE_AFTER_DAYS * DAY_MS) return undefined;
  // "Today" in an old note may be part of a rule ("ask what was done today"), so that is only worth a look.
  const isWhole = due !== undefined && sentencesOf(text).length === 1;
  return { sign: found.sign, day: found.day.toISOString().slice(0, 10), isWhole };
}

type Sign = { readonly sign: string; readonly day: Date };

const MARKER =
  "until|till|through|before|by|due(?: on| by)?|deadline(?: is| on|:)?|expires?(?: on| at)?|expiring(?: on)?|ends?(?: on)?|valid (?:until|through)|scheduled for|planned for|bis(?: zum)?|jusqu'au|hasta(?: el)?";
const MONTHS =
  "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
const DATES = [
  String.raw`(?<y1>\d{4})[-/](?<m1>\d{1,2})[-/](?<d1>\d{1,2})`,
  String.raw`(?<d2>\d{1,2})\.\s?(?<m2>\d{1,2})\.\s?(?<y2>\d{4})`,
  String.raw`(?<n3>${MONTHS})\.? (?<d3>\d{1,2})(?:st|nd|rd|th)?,? (?<y3>\d{4})`,
  String.raw`(?<d4>\d{1,2})(?:st|nd|rd|th)? (?<n4>${MONTHS})\.?,? (?<y4>\d{4})`,
  String.raw`(?<n5>${MONTHS})\.?,? (?<y5>\d{4})`,
];
const DEADLINE = new RegExp(
  String.raw`\b(?:${MARKER})\s+(?:the\s+)?(?:end of\s+)?(?:${DATES.join("|")})`,
  "giu",
);

/** What is told of the past was over when it was written, and is kept for that: "Lived in Rome until 2019". */
const TOLD =
  /\b(?:was|were|had|did|used to|went|ran|held|kept|taught|led|built|wrote|spent|met|left|sold|made|came|began|war|hatte|wohnte|était|fue|(?!scheduled|planned|closed|blocked|paused|disabled|delayed|postponed|expected|needed|required|allowed|reserved|booked)\p{L}{3,}ed)\b/iu;

/** A day that only says which ones are meant: "Invoices until 2019-12-31 are in the archive". And rules. */
const LASTING =
  /\b(?:are|is|lie|lies|live|lives|kept|stored|archived|filed)\s+(?:in|on|at|under|with)\b|\b(?:always|never|every|each|whenever)\b/iu;

/** The latest of several: an entry is past when all of its days are. */
function deadline(text: string): Sign | undefined {
  if (TOLD.test(text) || LASTING.test(text)) return undefined;
  const signs = [...text.matchAll(DEADLINE)].flatMap((match): Sign[] => {
    const day = dayOf(match.groups ?? {});
    return day ? [{ sign: match[0].replace(/\s+/g, " "), day }] : [];
  });
  return signs.toSorted((a, b) => b.day.getTime() - a.day.getTime())[0];
}

function dayOf(groups: Readonly<Record<string, string | undefined>>): Date | undefined {
  const first = (letter: string): string | undefined =>
    Object.entries(groups).find(([name, value]) => name.startsWith(letter) && value !== undefined)?.[1];
  const year = Number(first("y"));
  const name = first("n")?.slice(0, 3).toLowerCase();
  const month = name === undefined ? Number(first("m")) : monthNumber(name);
  const day = first("d");
  if (month < 1 || month > 12 || year < 1990 || year > 2200) return undefined;
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const number = day === undefined ? last : Number(day);
  return number < 1 || number > last ? undefined : new Date(Date.UTC(year, month - 1, number));
}

function monthNumber(name: string): number {
  return "janfebmaraprmayjunjulaugsepoctnovdec".indexOf(name) / 3 + 1;
}

/** What the words span, in days from the day they were written. */
const SPANS: readonly (readonly [RegExp, number])[] = [
  [/\b(?:today|tonight|this (?:morning|afternoon|evening)|heute)\b/iu, 1],
  [/\b(?:tomorrow|morgen früh)\b/iu, 2],
  [/\b(?:this week|diese woche|by friday|by monday)\b/iu, 7],
  [/\b(?:next week|nächste woche|this sprint)\b/iu, 14],
  [/\bthis month\b/iu, 31],
  [/\bnext month\b/iu, 62],
  [/\bthis quarter\b/iu, 92],
];

function relativeTime(text: string, since: Date | undefined): Sign | undefined {
  if (since === undefined) return undefined;
  const found = SPANS.flatMap(([pattern, days]) => {
    const match = pattern.exec(text);
    return match ? [{ sign: match[0], day: new Date(since.getTime() + days * DAY_MS) }] : [];
  });
  return found.toSorted((a, b) => b.day.getTime() - a.day.getTime())[0];
}
