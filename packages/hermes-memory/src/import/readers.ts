// Every format that can be imported.
import { chatgpt } from "./formats/chatgpt.ts";
import { claudeAi } from "./formats/claude-ai.ts";
import { discord } from "./formats/discord.ts";
import { librechat } from "./formats/librechat.ts";
import { openWebui } from "./formats/open-webui.ts";
import { slack } from "./formats/slack.ts";
import { telegram } from "./formats/telegram.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [
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
