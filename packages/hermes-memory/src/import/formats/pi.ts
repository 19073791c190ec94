// pi, the coding agent: one JSONL file per session, below a folder per project.
import { basename, join } from "node:path";
import { recordOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { TranscriptReader } from "../reader.ts";
import { readPiFile } from "./pi/file.ts";

export const pi: TranscriptReader = {
  source: "pi",
  title: "pi",
  evidence: "S",
  version: 2,
  roots: ({ home, env }) => [join(env.PI_CODING_AGENT_DIR || join(home, ".pi", "agent"), "sessions")],
  units: async function* (root, walking) {
    for await (const path of filesBelow(root, { file: (name) => name.endsWith(".jsonl") }, walking))
      yield { path };
  },
  // OpenClaw and Letta Code write the same header; their readers know their own files by the path.
  recognises: ({ path, first }) => {
    const header = recordOf(first);
    return (
      header?.type === "session" &&
      typeof header.timestamp === "string" &&
      basename(path) !== "messages.jsonl" &&
      !/[\\/]agents[\\/][^\\/]+[\\/]sessions[\\/]/.test(path)
    );
  },
  read: (unit, reading) => readPiFile({ path: unit.path, nativeIdOf: (id) => id }, reading),
};
