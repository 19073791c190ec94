// iFlow CLI: transcripts in the shape of Claude Code's, in a folder of its own.
import { join } from "node:path";
import type { TranscriptReader } from "../reader.ts";
import { claudeCode } from "./claude-code.ts";

export const iflow: TranscriptReader = {
  ...claudeCode,
  source: "iflow",
  title: "iFlow CLI",
  evidence: "P",
  isExperimental: true,
  roots: ({ home }) => [join(home, ".iflow", "projects")],
  recognises: () => false, // a file alone does not tell it from Claude Code's
};
