// Files of the home that hold a text and that `forget` does not change: memories of the home's users, their fact stores, skills.
import { createReadStream, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { pendingWritesDirectory, usersDirectory } from "@hermes-memory/core/home";
import { pendingSkillsDirectory, skillsDirectory, snapshotPath } from "@hermes-memory/core/skills";

/** `reach` is a sentence: what erases it there. */
export type LeftBehind = { readonly path: string; readonly reach: string };

const CHUNK_BYTES = 1 << 20;
const SKILL =
  "Skills are not memory: edit or delete the file yourself ('hermes skills path' prints where skills are).";

export async function findLeftBehind(home: string, text: string): Promise<LeftBehind[]> {
  const wanted = [...new Set([text, JSON.stringify(text).slice(1, -1)])].map((each) => Buffer.from(each));
  const users = usersDirectory(home);
  const staged = dirname(pendingWritesDirectory(home, join(users, "any")));
  const places: readonly { readonly root: string; readonly reach: (path: string) => string }[] = [
    ...[users, staged].map((root) => ({ root, reach: (path: string) => userReach(users, root, path) })),
    ...[skillsDirectory(home), pendingSkillsDirectory(home), snapshotPath(home)].map((root) => ({
      root,
      reach: () => SKILL,
    })),
  ];
  const left: LeftBehind[] = [];
  for (const { root, reach } of places) {
    for (const path of filesIn(root)) {
      const state = await lookInto(path, wanted);
      if (state === "holds") left.push({ path, reach: reach(path) });
      if (state === "unreadable")
        left.push({ path, reach: "It could not be read, so look into it yourself." });
    }
  }
  return left;
}

/** A text may be anywhere in a user's folder, and one command erases it in all of its files. */
function userReach(users: string, root: string, path: string): string {
  const [scope = ""] = relative(root, path).split(sep);
  return `It belongs to one user of several: 'hermes memory forget --dir ${join(users, scope)} ...' erases it there.`;
}

function filesIn(root: string): string[] {
  const stats = statSync(root, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (!stats.isDirectory()) return [root];
  return readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .sort();
}

async function lookInto(path: string, wanted: readonly Buffer[]): Promise<"holds" | "clean" | "unreadable"> {
  const overlap = Math.max(...wanted.map(({ length }) => length)) - 1;
  let tail = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
      const piece = Buffer.concat([tail, chunk as Buffer]);
      if (wanted.some((each) => piece.includes(each))) return "holds";
      tail = piece.subarray(Math.max(0, piece.length - overlap));
    }
    return "clean";
  } catch {
    return "unreadable";
  }
}
