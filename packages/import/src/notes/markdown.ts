// Notes in Markdown: instructions for coding agents (CLAUDE.md, AGENTS.md, GEMINI.md) and memory files (MEMORY.md, USER.md).
import { basename, join } from "node:path";
import type { MemoryTarget } from "@hermes-memory/core/internal/curated";
import { linesOf, markdownEntries } from "../transcripts/kit/markdown.ts";
import { jsonOf, recordOf, textOf } from "../transcripts/kit/values.ts";
import type { Place } from "../transcripts/reader.ts";
import type { FoundNotes, Note, NoteFormat, TextFile } from "./note-format.ts";

/** A line that only names a file to include, as Claude Code and Gemini CLI write it. */
const IMPORT_LINE = /^\s*(?:[-*+]\s+)?@(\S+)\s*$/;
/** A file that is named within a sentence: `see @docs/style.md`. Words with an @ and no path are names of people. */
const IMPORT_WORD = /(?:^|[\s(])@((?:~|\.{1,2})?\/?[\w./-]*[/.][\w-]+)/g;
const INLINE_CODE = /`[^`\n]*`/g;

/** Headings such as `# CLAUDE.md` name the file and say nothing about the entry. */
const FILE_HEADING =
  /^(?:CLAUDE|AGENTS?|GEMINI|MEMORY|USER|SOUL|TOOLS|IDENTITY)(?:\.(?:local|override))?\.md\b/i;

function instructions(name: string, title: string, files: RegExp, places: NoteFormat["places"]): NoteFormat {
  return {
    name,
    title,
    places,
    text: { recognises: ({ path }) => files.test(basename(path)), read: markdownNotes },
  };
}

const inHome =
  (...names: readonly string[]) =>
  ({ home, cwd }: Place): string[] => [join(home, ...names), join(cwd, names.at(-1) ?? "")];

export const claudeMd = instructions(
  "claude-md",
  "CLAUDE.md",
  /^CLAUDE(?:\.local)?\.md$/i,
  inHome(".claude", "CLAUDE.md"),
);
export const agentsMd = instructions(
  "agents-md",
  "AGENTS.md",
  /^AGENTS?(?:\.override)?\.md$/i,
  ({ home, env, cwd }) => [
    join(textOf(env.CODEX_HOME) ?? join(home, ".codex"), "AGENTS.md"),
    join(cwd, "AGENTS.md"),
  ],
);
export const geminiMd = instructions(
  "gemini-md",
  "GEMINI.md",
  /^GEMINI\.md$/i,
  inHome(".gemini", "GEMINI.md"),
);

/** The files of Hermes and OpenClaw have the same names; Hermes separates entries by a line with `§`. Also `memory.jsonl` of an export. */
export const memoryFiles: NoteFormat = {
  name: "hermes",
  title: "memory files of Hermes or OpenClaw",
  places: () => [],
  text: {
    recognises: ({ path, text }) => /^(?:MEMORY|USER)\.md$/i.test(basename(path)) || isExport(text),
    read: (file) => {
      if (isExport(file.text)) return exportedEntries(file.text);
      const target: MemoryTarget = /^USER\.md$/i.test(basename(file.path)) ? "user" : "memory";
      const { notes, remarks } = markdownNotes(file);
      return { notes: notes.map((note) => ({ ...note, target })), remarks };
    },
  },
};

// ---- memory.jsonl of `hermes export` ----

type Exported = { readonly note: Note; readonly user: string | undefined };

function exportedEntry(line: string): Exported | undefined {
  const { target, text, archived, user } = recordOf(jsonOf(line)) ?? {};
  if ((target !== "memory" && target !== "user") || typeof text !== "string" || typeof archived !== "boolean")
    return undefined;
  return { note: { text, target, isArchived: archived }, user: textOf(user) };
}

function isExport(text: string): boolean {
  return (
    text.startsWith("{") && exportedEntry(text.slice(0, text.indexOf("\n") + 1 || undefined)) !== undefined
  );
}

function exportedEntries(text: string): FoundNotes {
  const notes: Note[] = [];
  const remarks: string[] = [];
  let others = 0;
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const found = exportedEntry(line);
    if (found === undefined) remarks.push(`Line ${at + 1} is no entry and was left out.`);
    else if (found.user === undefined) notes.push({ ...found.note, place: `line ${at + 1}` });
    else others += 1;
  }
  if (others > 0)
    remarks.push(
      `${others} ${others === 1 ? "entry" : "entries"} of users of the other home ${others === 1 ? "was" : "were"} not read.`,
    );
  return { notes, remarks };
}

/** Last in the list, because every text file could be one. */
export const markdown = instructions(
  "markdown",
  "notes in Markdown or plain text",
  /\.(?:md|mdc|markdown|txt)$|^\.(?:cursor|cline|windsurf)rules$/i,
  () => [],
);

/**
 * Each bullet and each paragraph becomes an entry, with its headings in front. A code block or table stays in the entry before it. Files
 * that the text includes are not read, only named.
 */
function markdownNotes(file: TextFile): FoundNotes {
  const { text, imports } = withoutImports(file.text);
  const name = basename(file.path);
  return {
    notes: markdownEntries(text, "smart", FILE_HEADING).map((entry) => ({ ...entry, place: name })),
    remarks: imports.map(
      ({ line, path }) =>
        `${name}:${line} refers to @${path}, which was not read. Name the file to import it.`,
    ),
  };
}

type Import = { readonly line: number; readonly path: string };

/** Lines that only include a file are taken out. In code, an @ has another meaning. */
function withoutImports(text: string): { readonly text: string; readonly imports: readonly Import[] } {
  const imports: Import[] = [];
  const lines = linesOf(text).map(({ raw: line, kind }, at) => {
    if (kind === "code") return line;
    const whole = IMPORT_LINE.exec(line)?.[1];
    if (whole !== undefined) {
      imports.push({ line: at + 1, path: whole });
      return "";
    }
    for (const [, path = ""] of line.replace(INLINE_CODE, "").matchAll(IMPORT_WORD))
      imports.push({ line: at + 1, path });
    return line;
  });
  return { text: lines.join("\n"), imports };
}
