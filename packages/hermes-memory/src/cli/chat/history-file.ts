// `<home>/.hermes_history`: what was sent, for the arrow keys. The Python edition writes the same file: per entry a comment
// with the time, then its lines, each behind a `+`.
import { appendFileSync, chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, errnoCode, normalizeNewlines, writeFileAtomic } from "@hermes-memory/core/lib";

export type HistoryFile = {
  readonly entries: readonly string[];
  /** Undefined, or why nothing is kept. */
  readonly trouble: string | undefined;
  /** Never throws: a chat goes on without its history. */
  append(text: string): void;
};

export type HistoryOptions = { readonly clock: Clock; readonly maxEntries?: number };

/** More than anybody goes back with an arrow key, and still read in a few milliseconds. */
const MAX_ENTRIES = 10_000;

function historyPath(home: string): string {
  return join(home, ".hermes_history");
}

export function openHistory(home: string, { clock, maxEntries = MAX_ENTRIES }: HistoryOptions): HistoryFile {
  const path = historyPath(home);
  let entries: readonly string[] = [];
  let trouble: string | undefined;
  try {
    const all = parseHistory(readFileSync(path, "utf8"));
    entries = all.slice(-maxEntries);
    // Half as many again before anything is cut: the file is not written anew at every start.
    if (all.length > maxEntries * 1.5)
      writeFileAtomic(path, keptText(readFileSync(path, "utf8"), entries.length));
    chmodSync(path, 0o600);
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT")
      trouble = `The input history ${path} cannot be read (${reason(cause)}).`;
  }
  return {
    entries,
    trouble,
    append: (text) => {
      if (trouble !== undefined) return; // what could not be read is not written either
      try {
        appendFileSync(path, historyEntry(text, clock.now()), { mode: 0o600 });
      } catch {
        // A home that cannot be written to is told about by the agent; the history is the least of it.
      }
    },
  };
}

export function parseHistory(text: string): string[] {
  const entries: string[] = [];
  let lines: string[] = [];
  const end = (): void => {
    if (lines.length > 0) entries.push(lines.join("\n"));
    lines = [];
  };
  for (const line of text.split("\n")) {
    if (line.startsWith("+")) lines.push(line.slice(1));
    else end();
  }
  end();
  return entries;
}

export function historyEntry(text: string, now: Date): string {
  const two = (value: number, digits = 2): string => String(value).padStart(digits, "0");
  const day = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const time = `${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`;
  const lines = normalizeNewlines(text)
    .split("\n")
    .map((line) => `+${line}\n`);
  return `\n# ${day} ${time}.${two(now.getMilliseconds(), 3)}000\n${lines.join("")}`;
}

/** The newest entries with their comments, byte for byte. */
function keptText(text: string, count: number): string {
  return text
    .split(/(?=\n# )/)
    .slice(-count)
    .join("");
}

function reason(cause: unknown): string {
  return errnoCode(cause) ?? (cause instanceof Error ? cause.message : String(cause));
}
