// Every format that can be imported.
import { aider } from "./formats/aider.ts";
import { antigravity } from "./formats/antigravity.ts";
import { claudeCode } from "./formats/claude-code.ts";
import { codex } from "./formats/codex.ts";
import { copilotCli } from "./formats/copilot-cli.ts";
import { deepseek } from "./formats/deepseek.ts";
import { devin } from "./formats/devin.ts";
import { droid } from "./formats/droid.ts";
import { gptme } from "./formats/gptme.ts";
import { grok } from "./formats/grok.ts";
import { hermes } from "./formats/hermes.ts";
import { iflow } from "./formats/iflow.ts";
import { kiro } from "./formats/kiro.ts";
import { letta } from "./formats/letta.ts";
import { omp } from "./formats/omp.ts";
import { openclaude } from "./formats/openclaude.ts";
import { openclaw } from "./formats/openclaw.ts";
import { openhands } from "./formats/openhands.ts";
import { pi } from "./formats/pi.ts";
import { traex } from "./formats/traex.ts";
import { vibe } from "./formats/vibe.ts";
import { vscodeChat } from "./formats/vscode-chat.ts";
import { windsurf } from "./formats/windsurf.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [
  aider,
  copilotCli,
  vscodeChat,
  antigravity,
  devin,
  gptme,
  kiro,
  openhands,
  vibe,
  windsurf,
  claudeCode,
  droid,
  grok,
  hermes,
  codex,
  deepseek,
  letta,
  omp,
  openclaw,
  pi,
  iflow,
  openclaude,
  traex,
];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
