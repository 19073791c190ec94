// The text of an outcome for a person, derived from the value that `--json` prints: a sentence (`message`), then a line per field, then a
// table per list. A command has lines of its own only where this cannot say it.
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { Paint } from "./command.ts";
import { counted, displayWidth, localTime, oneLine, printable, sizeText } from "./printing.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A column with longer texts is shown below the rows, unless it is the last. */
const CELL_CHARS = 80;
const LAST_CELL_CHARS = 240;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
/** For programs: the exit code and the text say it to a person. */
const FOR_PROGRAMS: ReadonlySet<string> = new Set(["success", "kind", "message"]);
const SENTENCE: ReadonlySet<string> = new Set(["message"]);

export function render(value: unknown, paint: Paint): string[] {
  const [only, ...others] = isRecord(value) && value.message === undefined ? shownIn(value) : [];
  const isAlone = only !== undefined && others.length === 0 && typeof only[1] !== "number"; // a path, a list
  const lines = linesOf(isAlone ? only[1] : value, paint);
  return lines.length === 0 && value !== undefined ? [nothingIn(value)] : lines;
}

/** A person who sees nothing would wait for more. */
function nothingIn(value: unknown): string {
  const list = isRecord(value) && Object.keys(value).find((name) => Array.isArray(value[name]));
  return list ? `No ${labelOf(list)}.` : "Nothing.";
}

function linesOf(value: unknown, paint: Paint, hidden = FOR_PROGRAMS): string[] {
  if (Array.isArray(value)) return listLines(value, paint);
  if (!isRecord(value)) return isEmpty(value) ? [] : [printable(String(value))];
  const shown = shownIn(value, hidden);
  const sentence = typeof value.message === "string" ? value.message : "";
  const fields = shown.filter(([, each]) => !isBlock(each) && !isSaid(each, sentence));
  const blocks = shown.filter(([, each]) => isBlock(each));
  const head = [
    ...(sentence === "" ? [] : [printable(sentence)]),
    ...fieldLines(fields.map(([name, each]) => [labelOf(name), scalar(each, name)])),
  ];
  return [
    ...head,
    ...blocks.flatMap(([name, each], index) => [
      ...(head.length + index > 0 ? [""] : []),
      paint("bold", Array.isArray(each) ? `${labelOf(name)} (${each.length})` : labelOf(name)),
      ...linesOf(each, paint).map((line) => (line === "" ? "" : `  ${line}`)),
    ]),
  ];
}

/** What the sentence says is not said again; that it is so, or is not, needs no field beside it. */
function isSaid(value: unknown, sentence: string): boolean {
  if (sentence === "") return false;
  if (typeof value === "number") return value === 0 || sentence.split(/\W+/).includes(String(value));
  return typeof value === "boolean" || (typeof value === "string" && sentence.includes(value));
}

function shownIn(value: Fields, hidden = FOR_PROGRAMS): [name: string, value: unknown][] {
  return Object.entries(value).filter(([name, each]) => !hidden.has(name) && !isEmpty(each));
}

/** `name  value`, the values below each other. Later lines of a value are indented like its first. */
function fieldLines(fields: readonly (readonly [name: string, text: string])[]): string[] {
  const width = Math.max(0, ...fields.map(([name]) => displayWidth(name)));
  return fields.map(([name, text]) =>
    `${padded(name, width)}  ${text.replaceAll("\n", `\n${" ".repeat(width + 2)}`)}`.trimEnd(),
  );
}

/** Cells below each other; the last column is not filled up. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column] ?? ""))),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function listLines(list: readonly unknown[], paint: Paint): string[] {
  const records = list.filter(isRecord);
  if (records.length < list.length || records.length === 0) return list.map((each) => scalar(each));
  if (records.some((each) => Object.values(each).some(isSection)))
    return records.flatMap((each, index) => [...(index > 0 ? [""] : []), ...linesOf(each, paint, SENTENCE)]);
  const names = [...new Set(records.flatMap((each) => Object.keys(each)))].filter((name) =>
    records.some((each) => !isEmpty(each[name]) && !isBlock(each[name])),
  );
  const isWide = (name: string): boolean =>
    records.some((each) => scalar(each[name], name).length > CELL_CHARS);
  const columns = names.filter((name, index) => index === names.length - 1 || !isWide(name));
  const [heads = "", ...rows] = table([
    columns.map(labelOf),
    ...records.map((each) => columns.map((name) => oneLine(scalar(each[name], name), LAST_CELL_CHARS))),
  ]);
  return [
    ...(columns.length > 1 ? [paint("dim", heads)] : []),
    ...rows.flatMap((row, index) => [row, ...belowRow(records[index] ?? {}, columns)]),
  ];
}

/** What is too wide for a column, and the sentences of records, such as the last error of a queue. */
function belowRow(record: Fields, columns: readonly string[]): string[] {
  return Object.entries(record).flatMap(([name, each]) => {
    const text = isRecord(each)
      ? each.message
      : columns.includes(name) || isBlock(each)
        ? ""
        : scalar(each, name);
    return isEmpty(text) ? [] : [`  ${labelOf(name)}: ${oneLine(scalar(text), LAST_CELL_CHARS)}`];
  });
}

/** A list that is more than a few words, or a record with fields of its own. */
function isBlock(value: unknown): boolean {
  return (
    isRecord(value) ||
    (Array.isArray(value) && value.some((each) => isRecord(each) || String(each).length > 40))
  );
}

/** Too much for a row: lists, and records that are more than a sentence. */
function isSection(value: unknown): boolean {
  return isBlock(value) && !isEmpty(value) && !(isRecord(value) && typeof value.message === "string");
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.values(value as Fields).every((each) => each === 0 || isEmpty(each));
}

function scalar(value: unknown, name = ""): string {
  if (isEmpty(value)) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && /(^|_)bytes(_|$)/.test(name)) return sizeText(value);
  if (typeof value === "number" && name.endsWith("_at"))
    return localTime(new Date(value * 1000).toISOString());
  if (typeof value === "number")
    return Number.isInteger(value) ? value.toLocaleString("en-US") : String(value);
  if (Array.isArray(value)) return value.map((each) => scalar(each)).join(", ");
  if (isRecord(value)) return counted(Object.keys(value).length, "field");
  const text = String(value);
  return ISO_TIME.test(text) ? localTime(text) : printable(text);
}

/** `changed_at` and `changedAt` read "changed at". */
function labelOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}
