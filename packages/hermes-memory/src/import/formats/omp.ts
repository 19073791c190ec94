// omp, a fork of pi: the same files in other folders, with titles as records and subagents in a folder beside their parent.
import { join } from "node:path";
import { recordOf, textOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { TranscriptReader } from "../reader.ts";
import { readPiFile } from "./pi/file.ts";

const TITLE_TYPES: ReadonlySet<string> = new Set(["title", "title_change"]);

export const omp: TranscriptReader = {
  source: "omp",
  title: "omp",
  evidence: "P",
  version: 1,
  roots: ({ home, env }) => [
    join(home, ".omp", "agent", "sessions"),
    join(home, ".omp", "profiles"),
    join(env.XDG_DATA_HOME || join(home, ".local", "share"), "omp", "sessions"),
  ],
  units: async function* (root, walking) {
    const isInside = /[\\/]sessions(?:[\\/]|$)/.test(root);
    const isSession = (path: string): boolean =>
      path.endsWith(".jsonl") && (isInside || path === root || /[\\/]sessions[\\/]/.test(path));
    for await (const path of filesBelow(root, { file: isSession }, walking)) yield { path };
  },
  recognises: ({ path, first }) => {
    const type = textOf(recordOf(first)?.type) ?? "";
    return TITLE_TYPES.has(type) || (type === "session" && /[\\/]\.?omp[\\/]/.test(path));
  },
  read: async function* (unit, reading) {
    let parent: string | undefined;
    for await (const event of readPiFile(
      {
        path: unit.path,
        nativeIdOf: (id) => id,
        mayPrecede: (type) => TITLE_TYPES.has(type),
        factsFrom: (type, entry) => {
          if (TITLE_TYPES.has(type)) return { title: textOf(entry.title) };
          // Only subagents begin with the task that they were given.
          return type === "session_init" ? { visibility: "subagent", parent } : undefined;
        },
      },
      reading,
    )) {
      if (event.kind === "session") parent = event.facts.continues?.session ?? parent;
      yield event;
    }
  },
};
