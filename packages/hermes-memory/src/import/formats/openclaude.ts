// OpenClaude: a fork of Claude Code with the same transcripts in a folder of its own.
import { join } from "node:path";
import type { TranscriptReader } from "../reader.ts";
import { claudeCode } from "./claude-code.ts";

export const openclaude: TranscriptReader = {
  ...claudeCode,
  source: "openclaude",
  title: "OpenClaude",
  evidence: "P",
  isExperimental: true,
  roots: ({ home }) => [join(home, ".openclaude", "projects")],
  recognises: () => false, // a file alone does not tell the fork from the original
};
