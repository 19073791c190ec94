// Parses moments as users and models write them: `2026-01-31`, `7d`, `yesterday`, a number of seconds.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** As seconds this is the year 5138; a larger number is in milliseconds. */
const MOST_SECONDS = 1e11;
/** The range of a Date. */
const MOST_MILLISECONDS = 8.64e15;

const COUNT = /^[+-]?\d+(?:\.\d+)?$/;
const AGO = /^-?(\d+(?:\.\d+)?) ?([a-z]+)(?: ago)?$/;
const DATE = /^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$/;
const COMPACT_DATE = /^(\d{4})(\d{2})(\d{2})$/;
const DATE_TIME =
  /^(\d{4})-(\d{1,2})-(\d{1,2})[t ](\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))? ?(z|utc|[+-]\d{2}(?::?\d{2})?)?$/;

const LENGTHS: Readonly<Record<string, number>> = {
  s: SECOND,
  sec: SECOND,
  second: SECOND,
  m: MINUTE,
  min: MINUTE,
  minute: MINUTE,
  h: HOUR,
  hr: HOUR,
  hour: HOUR,
  d: DAY,
  day: DAY,
  w: 7 * DAY,
  wk: 7 * DAY,
  week: 7 * DAY,
};
const MONTHS: Readonly<Record<string, number>> = { mo: 1, mon: 1, month: 1, y: 12, yr: 12, year: 12 };

/** Seconds since 1970; undefined when it is not a moment. Without a time zone, local time. */
export function parseMoment(text: string | number, now: Date): number | undefined {
  const milliseconds = typeof text === "number" ? fromCount(text) : fromText(text, now);
  if (milliseconds === undefined || !(Math.abs(milliseconds) <= MOST_MILLISECONDS)) return undefined;
  return milliseconds / SECOND;
}

function fromText(text: string, now: Date): number | undefined {
  const written = text.trim().toLowerCase();
  if (written === "now") return now.getTime();
  if (written === "today") return startOfDay(now, 0);
  if (written === "yesterday") return startOfDay(now, -1);
  // Four digits are a year and eight may be a date: as seconds, both would be in 1970.
  return fromDate(written) ?? fromAgo(written, now) ?? fromDigits(written);
}

function fromDigits(written: string): number | undefined {
  return COUNT.test(written) ? fromCount(Number(written)) : undefined;
}

function fromCount(count: number): number {
  return Math.abs(count) > MOST_SECONDS ? count : count * SECOND;
}

/** NaN for a month or an hour that does not exist. Without a zone, in local time. */
function fromDate(written: string): number | undefined {
  const match = DATE.exec(written) ?? COMPACT_DATE.exec(written) ?? DATE_TIME.exec(written);
  if (match === null) return undefined;
  const [, year, month = "1", day = "1", hour = "0", minute = "00", second = "00", zone = ""] = match;
  // `Date.parse` takes the 30th of February for the 2nd of March, and 24:00 for the next day.
  const days = new Date(Number(year), Number(month), 0).getDate();
  if (Number(day) > days || Number(hour) > 23) return undefined;
  const date = [year, month.padStart(2, "0"), day.padStart(2, "0")].join("-");
  const offset = zone
    .replace(/^(?:z|utc)$/, "Z")
    .replace(/^([+-]\d{2}):?(\d{2})?$/, (_, hours, minutes = "00") => `${hours}:${minutes}`);
  return Date.parse(`${date}T${hour.padStart(2, "0")}:${minute}:${second.replace(",", ".")}${offset}`);
}

function fromAgo(written: string, now: Date): number | undefined {
  const match = AGO.exec(written);
  if (match === null) return undefined;
  const [, digits = "", name = ""] = match;
  const count = Number(digits);
  const unit = name.length > 2 && name.endsWith("s") ? name.slice(0, -1) : name;
  const length = LENGTHS[unit];
  if (length !== undefined) return now.getTime() - count * length;
  const months = MONTHS[unit];
  return months === undefined || !Number.isInteger(count) ? undefined : monthsBefore(now, count * months);
}

/** The same day and hour, or the last day of a shorter month. */
function monthsBefore(now: Date, months: number): number {
  const date = new Date(now);
  date.setMonth(date.getMonth() - months);
  if (date.getDate() !== now.getDate()) date.setDate(0);
  return date.getTime();
}

function startOfDay(now: Date, days: number): number {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days).getTime();
}
