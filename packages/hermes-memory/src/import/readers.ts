// Every format that can be imported.
import { chatgpt } from "./formats/chatgpt.ts";
import { claudeAi } from "./formats/claude-ai.ts";
import { codex } from "./formats/codex.ts";
import { deepseek } from "./formats/deepseek.ts";
import { discord } from "./formats/discord.ts";
import { letta } from "./formats/letta.ts";
import { librechat } from "./formats/librechat.ts";
import { omp } from "./formats/omp.ts";
import { openWebui } from "./formats/open-webui.ts";
import { openclaw } from "./formats/openclaw.ts";
import { pi } from "./formats/pi.ts";
import { slack } from "./formats/slack.ts";
import { telegram } from "./formats/telegram.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [
  codex,
  openclaw,
  letta,
  omp,
  deepseek,
  pi,
  chatgpt,
  claudeAi,
  librechat,
  openWebui,
  slack,
  discord,
  telegram,
];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
