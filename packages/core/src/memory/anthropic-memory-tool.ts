// Anthropic's memory tool (`memory_20250818`) on a person's memory. `/memories/MEMORY.md` and `/memories/USER.md` are the curated
// files: an edit of their text becomes operations on entries, so that scan, lock, budget, journal, undo and approval apply to it. Other
// paths are files of the model's own, which no prompt contains. Answers have the words that the tool documents; a failure is thrown,
// and its message is for the model.
import { existsSync } from "node:fs";
import { isApprovalOn, type MemoryConfig } from "../config/index.ts";
import {
  committedWrites,
  fileNameOf,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryOp,
  type MemoryStore,
  parseEntries,
  placeholder,
  type ScanOptions,
  scanOptions,
  stageOperations,
  withoutDuplicates,
} from "../curated/index.ts";
import { groupThousands, HermesError, normalizeNewlines, preview, type Result } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import { entriesIn } from "./entries.ts";
import { MemoryFailure } from "./memory-failure.ts";
import { badPath, checkedPath, type FilePath, MemoryFiles } from "./memory-files.ts";
import type { Person } from "./types.ts";
import type { EntryTarget, UserMemory } from "./user-memory.ts";

/** Fits `MemoryToolHandlers` of `@anthropic-ai/sdk/helpers/beta/memory`. Names as the model sends them. */
export type AnthropicMemoryHandlers = {
  view(command: { readonly path: string; readonly view_range?: readonly number[] }): Promise<string>;
  create(command: { readonly path: string; readonly file_text: string }): Promise<string>;
  str_replace(command: {
    readonly path: string;
    readonly old_str: string;
    readonly new_str: string;
  }): Promise<string>;
  insert(command: {
    readonly path: string;
    readonly insert_line: number;
    readonly insert_text: string;
  }): Promise<string>;
  delete(command: { readonly path: string }): Promise<string>;
  rename(command: { readonly old_path: string; readonly new_path: string }): Promise<string>;
};

/**
 * The handlers for `betaMemoryTool(anthropicMemory(me))`. The calls of a model may come from anywhere, so with `memory.write_approval`
 * changes of the curated files are staged, and files of the model's own cannot be changed.
 */
export function anthropicMemory(me: UserMemory): AnthropicMemoryHandlers {
  const { layers: person } = me;
  return {
    async view({ path, view_range }) {
      const place = placeOf(path);
      const desk = await openDesk(person);
      if (place.kind === "file" && desk.files.find(place.path) !== "file")
        return listing(desk, place.path, path);
      const text =
        place.kind === "curated" ? shownText(desk, place.target, path) : fileText(desk, place.path, path);
      return `Here's the content of ${path} with line numbers:\n${numbered(text, view_range)}`;
    },

    /** For a curated file: replaces its entries. */
    async create({ path, file_text }) {
      const place = placeOf(path);
      const text = textArgument("file_text", file_text);
      const desk = await openDesk(person);
      if (place.kind === "curated") {
        const note = await replaceEntries(desk, place.target, () => text, "rewrite");
        return `File created successfully at: ${path}${note}`;
      }
      refuseRoot(place.path, path, "be created");
      await changeFiles(desk, () => {
        if (desk.files.find(place.path) !== undefined) throw failure(`File ${path} already exists`);
        desk.files.write(place.path, checkedText(desk, text));
      });
      return `File created successfully at: ${path}`;
    },

    async str_replace({ path, old_str, new_str }) {
      const place = placeOf(path);
      const [old, next] = [textArgument("old_str", old_str), textArgument("new_str", new_str ?? "")];
      const desk = await openDesk(person);
      const edit = (text: string): string => replaceOnce(text, old, next, path);
      let snippet = "";
      const edited = (text: string): string => {
        const after = edit(text);
        snippet = snippetAround(after, text.indexOf(old), next);
        return after;
      };
      let note = "";
      if (place.kind === "curated") {
        shownText(desk, place.target, path);
        note = await replaceEntries(desk, place.target, edited, "edit");
      } else await changeFiles(desk, () => editFile(desk, place.path, path, edited));
      return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}${note}`;
    },

    /** In a curated file, text between two entries is a new entry; text inside an entry belongs to that entry. */
    async insert({ path, insert_line, insert_text }) {
      const place = placeOf(path);
      const text = textArgument("insert_text", insert_text);
      const desk = await openDesk(person);
      let note = "";
      if (place.kind === "curated") {
        shownText(desk, place.target, path);
        const edit = (before: string): string => insertLines(before, insert_line, text, true);
        note = await replaceEntries(desk, place.target, edit, "edit");
      } else
        await changeFiles(desk, () =>
          editFile(desk, place.path, path, (before) => insertLines(before, insert_line, text, false)),
        );
      return `The file ${path} has been edited.${note}`;
    },

    /** Of a curated file: all entries, as one change that `undo` takes back. */
    async delete({ path }) {
      const place = placeOf(path);
      const desk = await openDesk(person);
      if (place.kind === "curated") {
        shownText(desk, place.target, path);
        const note = await replaceEntries(desk, place.target, () => "", "rewrite");
        return `Successfully deleted ${path}${note}`;
      }
      refuseRoot(place.path, path, "be deleted");
      await changeFiles(desk, () => {
        if (desk.files.find(place.path) === undefined) throw missing(path);
        desk.files.remove(place.path);
      });
      return `Successfully deleted ${path}`;
    },

    async rename({ old_path, new_path }) {
      const [from, to] = [placeOf(old_path), placeOf(new_path)];
      const desk = await openDesk(person);
      if (from.kind === "curated" || to.kind === "curated")
        throw failure(
          `${from.kind === "curated" ? old_path : new_path} is a fixed file and cannot be renamed or replaced by a rename. Use create and delete.`,
        );
      refuseRoot(from.path, old_path, "be renamed");
      await changeFiles(desk, () => {
        if (desk.files.find(from.path) === undefined) throw missing(old_path);
        if (desk.files.find(to.path) !== undefined)
          throw failure(`The destination ${new_path} already exists`);
        if (from.path.every((name, at) => to.path[at] === name))
          throw failure(`${new_path} is inside ${old_path}, so it cannot be its new path.`);
        desk.files.move(from.path, to.path);
      });
      return `Successfully renamed ${old_path} to ${new_path}`;
    },
  };
}

// ---- Paths ----

const ROOT = "/memories";

type Place =
  | { readonly kind: "curated"; readonly target: EntryTarget }
  | { readonly kind: "file"; readonly path: FilePath };

function placeOf(path: unknown): Place {
  if (typeof path !== "string" || !(path === ROOT || path.startsWith(`${ROOT}/`)))
    throw badPath(preview(String(path), 100), `it does not begin with ${ROOT}`);
  const names = path.slice(ROOT.length + 1).replace(/\/$/, "");
  const checked = names === "" ? [] : checkedPath(names.split("/"), preview(path, 200));
  const [name = ""] = checked;
  const target = MEMORY_TARGETS.find((each) => fileNameOf(each).toLowerCase() === name.toLowerCase());
  if (target === undefined) return { kind: "file", path: checked };
  if (checked.length === 1 && name === fileNameOf(target)) return { kind: "curated", target };
  throw badPath(preview(path, 200), `it differs too little from ${ROOT}/${fileNameOf(target)}`);
}

function refuseRoot(path: FilePath, shown: string, what: string): void {
  if (path.length === 0) throw failure(`The directory ${shown} itself cannot ${what}.`);
}

// ---- What the handlers work on ----

type Desk = {
  readonly person: Person;
  readonly store: MemoryStore;
  readonly files: MemoryFiles;
  readonly config: MemoryConfig;
  readonly scan: ScanOptions;
};

async function openDesk(person: Person): Promise<Desk> {
  const config = await person.memory.memoryConfig();
  const store = await person.curated({ isLoaded: existsSync(person.directory) });
  if (store === undefined)
    throw new MemoryFailure({ kind: "disabled", message: "Memory is switched off in this home." });
  const scan = scanOptions(config.scanAllow, config.allowSecrets);
  return { person, store, files: new MemoryFiles(person.directory), config, scan };
}

function textArgument(name: string, value: unknown): string {
  if (typeof value === "string") return normalizeNewlines(value);
  throw failure(`\`${name}\` must be a text, but is ${value === undefined ? "missing" : typeof value}.`);
}

function failure(message: string): HermesError {
  return new HermesError("memory-tool", message, { hint: "The model reads the message and can try again." });
}

function missing(path: string): HermesError {
  return failure(`The path ${path} does not exist. Please provide a valid path.`);
}

// ---- Directories ----

const LISTED_LEVELS = 2;

function listing(desk: Desk, path: FilePath, shown: string): string {
  const root = shown.replace(/\/$/, "");
  const below = desk.files.list(path);
  const curated = path.length === 0 ? curatedFiles(desk) : [];
  if (path.length > 0 && desk.files.find(path) === undefined) throw missing(shown);
  const files = below.filter((item) => item.path.length - path.length <= LISTED_LEVELS);
  const total = [...curated, ...below.filter(({ kind }) => kind === "file")];
  const lines = [
    `${size(total.reduce((sum, { bytes }) => sum + bytes, 0))}\t${root}`,
    ...curated.map(({ name, bytes }) => `${size(bytes)}\t${root}/${name}`),
    ...files.map(({ kind, path: at, bytes }) => {
      const name = at.slice(path.length).join("/");
      return `${size(bytes)}\t${root}/${name}${kind === "directory" ? "/" : ""}`;
    }),
  ];
  return [
    `Here're the files and directories up to ${LISTED_LEVELS} levels deep in ${root}, excluding hidden items and node_modules:`,
    ...lines,
  ].join("\n");
}

function curatedFiles({ store }: Desk): readonly { readonly name: string; readonly bytes: number }[] {
  return MEMORY_TARGETS.filter((target) => store.isEnabled(target)).flatMap((target) => {
    const entries = entriesIn(store, target);
    if (entries.length === 0) return [];
    return [{ name: fileNameOf(target), bytes: Buffer.byteLength(joined(entries.map(({ text }) => text))) }];
  });
}

/** `0B`, `512B`, `1.5K` */
function size(bytes: number): string {
  const unit = bytes < 1024 ? 0 : bytes < 1024 ** 2 ? 1 : 2;
  const value = bytes / 1024 ** unit;
  return `${Number.isInteger(value) ? value : value.toFixed(1)}${["B", "K", "M"][unit]}`;
}

// ---- Text ----

const NUMBER_WIDTH = 6;
const SNIPPET_LINES = 2;

function numbered(text: string, range: readonly number[] | undefined): string {
  const lines = text.split("\n");
  const [first, last] = checkedRange(range, lines.length);
  return withNumbers(lines.slice(first - 1, last), first);
}

function withNumbers(lines: readonly string[], first: number): string {
  return lines.map((line, at) => `${String(first + at).padStart(NUMBER_WIDTH)}\t${line}`).join("\n");
}

/** An end of -1 means the last line; a later end is cut. */
function checkedRange(range: readonly number[] | undefined, count: number): readonly [number, number] {
  if (range === undefined || range === null) return [1, count];
  const [first = 0, end = 0] = Array.isArray(range) ? range : [];
  const last = end === -1 ? count : Math.min(end, count);
  if (
    range.length === 2 &&
    [first, end].every(Number.isInteger) &&
    first >= 1 &&
    first <= count &&
    last >= first
  )
    return [first, last];
  throw failure(
    `Invalid \`view_range\` parameter: ${preview(JSON.stringify(range), 60)}. It should be within the range of lines of the file: [1, ${count}]`,
  );
}

function replaceOnce(text: string, old: string, next: string, path: string): string {
  const quoted = `\`${preview(old, 200)}\``;
  const places = old === "" ? [] : placesOf(text, old);
  const [at] = places;
  if (at === undefined)
    throw failure(`No replacement was performed, old_str ${quoted} did not appear verbatim in ${path}.`);
  if (places.length > 1) {
    const lines = places.map((place) => lineAt(text, place)).join(", ");
    throw failure(
      `No replacement was performed. Multiple occurrences of old_str ${quoted} in lines: ${lines}. Please ensure it is unique`,
    );
  }
  return text.slice(0, at) + next + text.slice(at + old.length);
}

function placesOf(text: string, part: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) places.push(at);
  return places;
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}

function snippetAround(text: string, at: number, part: string): string {
  const first = lineAt(text, at);
  const start = Math.max(1, first - SNIPPET_LINES);
  const end = first + part.split("\n").length - 1 + SNIPPET_LINES;
  return withNumbers(text.split("\n").slice(start - 1, end), start);
}

const SEPARATOR = "§";

/** `isOwnEntry`: between two entries the text becomes an entry of its own. */
function insertLines(text: string, line: number, inserted: string, isOwnEntry: boolean): string {
  const lines = text.split("\n");
  if (!(Number.isInteger(line) && line >= 0 && line <= lines.length))
    throw failure(
      `Invalid \`insert_line\` parameter: ${preview(String(line), 40)}. It should be within the range of lines of the file: [0, ${lines.length}]`,
    );
  const added = inserted.replace(/\n$/, "");
  const isEdge = (at: number): boolean => lines[at] === undefined || lines[at] === SEPARATOR;
  if (!isOwnEntry || !(isEdge(line - 1) || isEdge(line))) return lines.toSpliced(line, 0, added).join("\n");
  const before = lines.slice(0, line);
  const after = lines.slice(line);
  if (before.at(-1) === SEPARATOR) before.pop();
  if (after[0] === SEPARATOR) after.shift();
  return joined([before.join("\n"), added, after.join("\n")].filter((part) => part !== ""));
}

function joined(entries: readonly string[]): string {
  return entries.join(`\n${SEPARATOR}\n`);
}

// ---- The curated files ----

/** An entry as the model may see it: one in which the scanner finds something is replaced by the placeholder of the prompt. */
type Shown = { readonly text: string; readonly shown: string };

function shownEntries({ store, scan }: Desk, target: EntryTarget): Shown[] {
  return entriesIn(store, target).map(({ text }) => {
    const ids = scanThreats(text, "strict", scan).map(({ id }) => id);
    return { text, shown: ids.length === 0 ? text : placeholder(target, ids) };
  });
}

/** Throws if the file has no entries, or is switched off: then it does not exist for the model. */
function shownText(desk: Desk, target: EntryTarget, path: string): string {
  const entries = desk.store.isEnabled(target) ? shownEntries(desk, target) : [];
  if (entries.length === 0) throw missing(path);
  return joined(entries.map(({ shown }) => shown));
}

/**
 * Carries out an edit of the text as operations on entries. An entry that is shown as a placeholder stays what it is as long as its
 * placeholder stays. `edit`: an entry that is missing afterwards and one that is new are taken for the same one, changed. Returns what
 * the model should know besides.
 */
async function replaceEntries(
  desk: Desk,
  target: EntryTarget,
  edit: (text: string) => string,
  how: "edit" | "rewrite",
): Promise<string> {
  const before = shownEntries(desk, target);
  const hidden = before.filter(({ text, shown }) => text !== shown);
  const next = parseEntries(edit(joined(before.map(({ shown }) => shown)))).map((text) => {
    const at = hidden.findIndex(({ shown }) => shown === text);
    return at < 0 ? text : (hidden.splice(at, 1)[0] as Shown).text;
  });
  const wanted = withoutDuplicates(next);
  const gone = before.map(({ text }) => text).filter((text) => !wanted.includes(text));
  const came = wanted.filter((text) => !before.some((entry) => entry.text === text));
  const ops = operations(gone, came, how);
  if (ops.length === 0) return "";
  return applied(desk, target, ops);
}

function operations(gone: readonly string[], came: readonly string[], how: "edit" | "rewrite"): MemoryOp[] {
  const pairs = how === "edit" ? Math.min(gone.length, came.length) : 0;
  return [
    ...gone.map((oldText, at): MemoryOp => {
      const content = at < pairs ? came[at] : undefined;
      if (content === undefined) return { action: "remove", oldText, match: "entry" };
      return { action: "replace", oldText, content, match: "entry" };
    }),
    ...came.slice(pairs).map((content): MemoryOp => ({ action: "add", content })),
  ];
}

async function applied(desk: Desk, target: EntryTarget, ops: readonly MemoryOp[]): Promise<string> {
  const { person, store, config } = desk;
  if (isApprovalOn(config.writeApproval) && ops.every((op) => store.check(op) === undefined)) {
    orThrow(stageOperations(person.pendingDirectory, target, ops, "assistant_tool"), target);
    return "\nThe change waits for the user's approval and is not saved yet.";
  }
  const outcome = orThrow(await store.applyAll(target, ops, { origin: "tool" }), target);
  // The file is written; a provider that fails must not make the model write it again.
  await person.provider.mirror(committedWrites(outcome), "library");
  const { archived = [] } = outcome;
  return archived.length === 0
    ? ""
    : `\n${archived.length} of the oldest entries moved to the archive to make room.`;
}

function orThrow<T>(outcome: Result<T, MemoryError>, target: EntryTarget): T {
  if (outcome.ok) return outcome.value;
  const { error } = outcome;
  const { code, message, hint } = new MemoryFailure(error, target);
  throw new HermesError(code, forModel(error, target) ?? message, { hint });
}

function forModel(error: MemoryError, target: EntryTarget): string | undefined {
  const path = `${ROOT}/${fileNameOf(target)}`;
  switch (error.kind) {
    case "over_limit":
      return `The change does not fit: ${groupThousands(error.usedChars)} of ${groupThousands(error.charLimit)} characters of ${path} are used. Nothing was changed. Shorten or remove entries of it first, or keep the text in another file below ${ROOT}.`;
    case "no_match":
      return `${path} was changed by another program meanwhile. Nothing was changed. View it and try again.`;
    default:
      return undefined;
  }
}

// ---- Files of the model's own ----

function fileText({ files, scan }: Desk, path: FilePath, shown: string): string {
  const text = files.read(path);
  const ids = scanThreats(text, "strict", scan).map(({ id }) => id);
  if (ids.length === 0) return text;
  throw failure(
    `${shown} is not shown: it contains threat pattern(s): ${ids.join(", ")}. It can be deleted.`,
  );
}

function editFile(desk: Desk, path: FilePath, shown: string, edit: (text: string) => string): void {
  const found = desk.files.find(path);
  if (found === undefined) throw missing(shown);
  if (found !== "file") throw failure(`The path ${shown} is not a file.`);
  desk.files.write(path, checkedText(desk, edit(fileText(desk, path, shown))));
}

/** A file comes back into a conversation, so the checks of an entry apply. Only the separator of entries is an ordinary character. */
function checkedText({ store }: Desk, text: string): string {
  const content = text.replaceAll(SEPARATOR, " ");
  const problem = content.trim() === "" ? undefined : store.check({ action: "add", content });
  if (problem === undefined) return text;
  const { code, hint } = new MemoryFailure(problem);
  throw new HermesError(code, problem.message, { hint });
}

async function changeFiles(desk: Desk, work: () => void): Promise<void> {
  if (isApprovalOn(desk.config.writeApproval))
    throw failure(
      `Changes need the user's approval here, which works for ${ROOT}/MEMORY.md and ${ROOT}/USER.md only. Keep the text there.`,
    );
  await desk.files.exclusively(work);
}
