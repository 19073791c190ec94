// Every format that can be imported.
import { amp } from "./formats/amp.ts";
import { chatgpt } from "./formats/chatgpt.ts";
import { claudeAi } from "./formats/claude-ai.ts";
import { claudeCode } from "./formats/claude-code.ts";
import { cline } from "./formats/cline.ts";
import { codex } from "./formats/codex.ts";
import { continueDev } from "./formats/continue.ts";
import { cursor } from "./formats/cursor.ts";
import { deepseek } from "./formats/deepseek.ts";
import { discord } from "./formats/discord.ts";
import { droid } from "./formats/droid.ts";
import { grok } from "./formats/grok.ts";
import { hermes } from "./formats/hermes.ts";
import { kiloLegacy } from "./formats/kilo-legacy.ts";
import { letta } from "./formats/letta.ts";
import { librechat } from "./formats/librechat.ts";
import { omp } from "./formats/omp.ts";
import { openWebui } from "./formats/open-webui.ts";
import { openclaw } from "./formats/openclaw.ts";
import { pi } from "./formats/pi.ts";
import { roo } from "./formats/roo.ts";
import { slack } from "./formats/slack.ts";
import { telegram } from "./formats/telegram.ts";
import { warp } from "./formats/warp.ts";
import { zed } from "./formats/zed.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [
  claudeCode,
  codex,
  openclaw,
  letta,
  omp,
  deepseek,
  pi,
  cursor,
  cline,
  roo,
  kiloLegacy,
  continueDev,
  zed,
  grok,
  droid,
  amp,
  warp,
  hermes,
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
