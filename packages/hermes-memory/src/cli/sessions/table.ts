// Sessions as lines of a table, in the widths other programs know.
import type { ListedSession } from "@hermes-memory/core/sessions";
import type { Paint } from "../command.ts";
import { printable } from "../printing.ts";
import { relativeTime } from "./relative-time.ts";
import { fitToWidth } from "./width.ts";

type Column = {
  readonly head: string;
  readonly width: number;
  readonly text: (row: ListedSession) => string;
};

export type TableOptions = { readonly now: Date; readonly paint: Paint };

/** With a title somewhere: title, preview, activity, id. Otherwise the source tells more than an empty column. */
export function sessionTable(rows: readonly ListedSession[], { now, paint }: TableOptions): string[] {
  const active: Column = {
    head: "Last Active",
    width: 13,
    text: ({ last_active }) => relativeTime(last_active, now),
  };
  const columns: readonly Column[] = rows.some(({ title }) => title !== null)
    ? [
        { head: "Title", width: 30, text: ({ title }) => (title === null ? "-" : flat(title)) },
        { head: "Preview", width: 38, text: ({ preview }) => flat(preview) },
        active,
      ]
    : [
        { head: "Preview", width: 48, text: ({ preview }) => flat(preview) },
        active,
        { head: "Src", width: 8, text: ({ source }) => flat(source) },
      ];
  const head = [...columns.map(({ head: name, width }) => name.padEnd(width)), "ID"].join("  ");
  return [
    paint("bold", head),
    ...rows.map((row) => {
      const cells = columns.map(({ width, text }) => fitToWidth(text(row), width));
      const mark = row.archived ? paint("dim", "  (archived)") : "";
      return `${[...cells, flat(row.id)].join("  ")}${mark}`;
    }),
  ];
}

/** What is stored, in one line that a terminal only shows. */
export function flat(text: string): string {
  return printable(text.replaceAll(/[\r\n\t\u2028\u2029]+/g, " "));
}

/** What identifies a session to a person: its title, else how it begins. */
export function nameOf({ title, preview }: { title: string | null; preview?: string }): string {
  return flat(title ?? (preview === undefined || preview === "" ? "(untitled)" : preview));
}

/** `12.3`; in steps of 1024, as the original counts. */
export function megabytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1);
}
