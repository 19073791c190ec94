// Which files of the knowledge tree contain a text. brv has no command that erases a note, so the user gets the names of the files.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

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
