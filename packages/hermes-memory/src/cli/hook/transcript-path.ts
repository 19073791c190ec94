// Whether a path that came with a hook may be imported: it is text from outside, so it has to be a regular file in a folder of its client.
import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { errnoCode, isWithin } from "@hermes-memory/core/internal/lib";

export type PathVerdict = "usable" | "missing" | "refused";

/** `missing`: not there yet, which is normal at the beginning of a session. */
export function judgeTranscript(path: string, roots: readonly string[]): PathVerdict {
  if (!isAbsolute(path) || path.includes("\0") || path.split(/[\\/]/).includes("..")) return "refused";
  try {
    if (!lstatSync(path).isFile()) return "refused"; // also a link, a pipe and a folder
    const real = realpathSync(path);
    return roots.some((root) => isInside(real, root)) ? "usable" : "refused";
  } catch (cause) {
    const isGone = errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR";
    return isGone && roots.some((root) => isBelow(path, root)) ? "missing" : "refused";
  }
}

/** Cursor sends only the id of a conversation; the file is in the folder of the project. */
export function cursorTranscript(root: string, conversationId: string): string | undefined {
  const projects = join(root, "projects");
  try {
    return readdirSync(projects)
      .map((slug) => join(projects, slug, "agent-transcripts", conversationId, `${conversationId}.jsonl`))
      .find((path) => judgeTranscript(path, [root]) === "usable");
  } catch {
    return undefined; // no such folder: Cursor keeps its conversations in a database then
  }
}

/** Claude Code keeps what subagents of `x.jsonl` wrote in `x/subagents`. Undefined when there is no such folder, or a link leads elsewhere. */
export function subagentsOf(transcript: string): string | undefined {
  const folder = join(transcript.replace(/\.jsonl$/, ""), "subagents");
  try {
    const isPlain =
      lstatSync(folder).isDirectory() &&
      realpathSync(folder) === join(realpathSync(dirname(transcript)), relative(dirname(transcript), folder));
    return isPlain ? folder : undefined;
  } catch {
    return undefined; // the session ran no subagents
  }
}

function isInside(real: string, root: string): boolean {
  try {
    return isBelow(real, realpathSync(root));
  } catch {
    return false;
  }
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && isWithin(folder, path);
}
