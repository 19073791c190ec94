// TraeX: a fork of Codex CLI with the same rollout files in a folder of its own.
import { join } from "node:path";
import type { TranscriptReader } from "../reader.ts";
import { codex } from "./codex.ts";

export const traex: TranscriptReader = {
  ...codex,
  source: "traex",
  title: "TraeX",
  evidence: "P",
  isExperimental: true,
  roots: ({ home }) => [join(home, ".trae", "cli")],
  recognises: () => false, // a file alone does not tell the fork from the original
};
