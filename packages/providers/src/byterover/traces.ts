// The files of the knowledge tree: which of them contain a text, and deleting all of them. brv has no command that erases a note, so
// the user gets the names of the files.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { userScopeName } from "@hermes-memory/core/internal/home";
import type { ForgetReport } from "@hermes-memory/core/internal/providers";

const MAX_NAMED = 5;
/** A tree of notes has far fewer files; a link in it may lead to a large directory. */
const MAX_FILES = 20_000;

/** One sentence; undefined when there is no tree. */
export function findNoteTraces(directory: string, text: string): string | undefined {
  const files = filesBelow(join(directory, ".brv"));
  const hits = files.filter((path) => holds(path, text)).map((path) => relative(directory, path));
  const isCut = files.length >= MAX_FILES;
  if (files.length === 0) return undefined;
  if (hits.length === 0 && isCut)
    return `The ByteRover tree ${directory} has more than ${MAX_FILES} files; not all were searched for it.`;
  if (hits.length === 0)
    return `No file of the ByteRover tree ${directory} has it word for word, but brv keeps notes in a model's words and may say the same.`;
  const named = hits.slice(0, MAX_NAMED).join(", ");
  const more = hits.length > MAX_NAMED ? ` and ${hits.length - MAX_NAMED} more` : "";
  return `The ByteRover tree ${directory} has it in ${named}${more}.`;
}

/** Of one user, or without one of the owner. */
export function directoryOf(
  home: string,
  user: { readonly platform: string; readonly userId: string } | undefined,
): string {
  return user === undefined
    ? join(home, "byterover")
    : join(home, "byterover-users", userScopeName(user.platform, user.userId));
}

/** One sentence if there is a tree; undefined if not. Changes nothing. */
export function findTree(directory: string): string | undefined {
  const link = linkedTree(directory);
  if (link !== undefined) return link;
  return filesBelow(join(directory, ".brv")).length === 0
    ? undefined
    : `There is a ByteRover tree in ${directory}.`;
}

/** Deletes the tree; `erased` counts its files. */
export async function eraseTree(directory: string, isDryRun: boolean): Promise<ForgetReport> {
  const link = linkedTree(directory);
  if (link !== undefined)
    return { erased: 0, remaining: `${link} It may belong to others too, so it stays: delete it there.` };
  const erased = filesBelow(join(directory, ".brv")).length;
  if (erased === 0) return { erased: 0 };
  if (!isDryRun) await rm(join(directory, ".brv"), { recursive: true, force: true });
  return { erased, remaining: "If the tree was synced to ByteRover's cloud, delete it there too." };
}

/** `.brv` may be a file that points to a tree elsewhere, or a link. */
function linkedTree(directory: string): string | undefined {
  const stats = lstatSync(join(directory, ".brv"), { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory()) return undefined;
  return `${join(directory, ".brv")} points to a ByteRover tree in another directory.`;
}

function filesBelow(directory: string): string[] {
  const files: string[] = [];
  const waiting = [directory];
  for (let next = waiting.pop(); next !== undefined && files.length < MAX_FILES; next = waiting.pop()) {
    for (const entry of entriesOf(next)) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile()) files.push(path);
    }
  }
  return files.slice(0, MAX_FILES);
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return []; // there is no tree, or brv has just moved this directory
  }
}

function holds(path: string, text: string): boolean {
  try {
    return readFileSync(path, "utf8").includes(text);
  } catch {
    return false;
  }
}
