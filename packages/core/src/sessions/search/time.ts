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
  return fromDate(written) ?? fromDateTime(written) ?? fromAgo(written, now) ?? fromDigits(written);
}

function fromDigits(written: string): number | undefined {
  return COUNT.test(written) ? fromCount(Number(written)) : undefined;
}

function fromCount(count: number): number {
  return Math.abs(count) > MOST_SECONDS ? count : count * SECOND;
}

function fromDate(written: string): number | undefined {
  const match = DATE.exec(written) ?? COMPACT_DATE.exec(written);
  if (match === null) return undefined;
  const [, year, month = "1", day = "1"] = match;
  return localTime(Number(year), Number(month), Number(day))?.getTime();
}

function fromDateTime(written: string): number | undefined {
  const match = DATE_TIME.exec(written);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = "0", zone] = match;
  const date = localTime(Number(year), Number(month), Number(day));
  const seconds = Number(second.replace(",", "."));
  if (date === undefined || Number(hour) > 23 || Number(minute) > 59 || seconds >= 60) return undefined;
  const clock = [Number(hour), Number(minute), Math.trunc(seconds), (seconds % 1) * SECOND] as const;
  if (zone === undefined) return date.setHours(...clock);
  const utc = new Date(0);
  utc.setUTCFullYear(date.getFullYear(), date.getMonth(), date.getDate());
  utc.setUTCHours(...clock);
  return utc.getTime() - offsetOf(zone);
}

/** Midnight; undefined for the 30th of February. */
function localTime(year: number, month: number, day: number): Date | undefined {
  const date = new Date(2000, 0, 1);
  date.setFullYear(year, month - 1, day);
  return date.getMonth() === month - 1 && date.getDate() === day ? date : undefined;
}

function offsetOf(zone: string): number {
  if (zone === "z" || zone === "utc") return 0;
  const digits = zone.slice(1).replace(":", "");
  const offset = Number(digits.slice(0, 2)) * HOUR + Number(digits.slice(2)) * MINUTE;
  return zone.startsWith("-") ? -offset : offset;
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
