// `<home>/.hermes_history`: sent messages, for the arrow keys. Hermes Agent writes the same format: per entry a comment with the time,
// then its lines, each after a `+`.
import { appendFileSync, chmodSync, readFileSync } from "node:fs";
import { chatHistoryPath } from "@hermes-memory/core/internal/home";
import { type Clock, errnoCode, normalizeNewlines, writeFileAtomic } from "@hermes-memory/core/internal/lib";

export type HistoryFile = {
  readonly entries: readonly string[];
  /** Why the file cannot be used, if it cannot. */
  readonly trouble: string | undefined;
  /** Never throws: a chat goes on without its history. */
  append(text: string): void;
};

export type HistoryOptions = { readonly clock: Clock; readonly maxEntries?: number };

/** More than a user steps back through, and still read within a few milliseconds. */
const MAX_ENTRIES = 10_000;

export function openHistory(home: string, { clock, maxEntries = MAX_ENTRIES }: HistoryOptions): HistoryFile {
  const path = chatHistoryPath(home);
  let entries: readonly string[] = [];
  let trouble: string | undefined;
  try {
    const all = parseHistory(readFileSync(path, "utf8"));
    entries = all.slice(-maxEntries);
    // Cut only when it is half as long again, so that the file is not rewritten at every start.
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
      if (trouble !== undefined) return; // a file that could not be read is not written
      try {
        appendFileSync(path, historyEntry(text, clock.now()), { mode: 0o600 });
      } catch {
        // The agent itself reports a home that cannot be written.
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
