// pi, the coding agent: one JSONL file per session, below a folder per project.
import { basename, join } from "node:path";
import { format } from "../declare.ts";
import { recordOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import { readPiFile } from "./pi/file.ts";

export const pi = format({
  source: "pi",
  title: "pi",
  evidence: "S",
  version: 2,
  keepsEmpty: true,
  roots: ({ home, env }) => [join(env.PI_CODING_AGENT_DIR || join(home, ".pi", "agent"), "sessions")],
  units: unitsOf((path) => path.endsWith(".jsonl")),
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
});
