// Every format that can be imported.
import { aider } from "./formats/aider.ts";
import { amp } from "./formats/amp.ts";
import { chatgpt } from "./formats/chatgpt.ts";
import { claudeAi } from "./formats/claude-ai.ts";
import { claudeCode } from "./formats/claude-code.ts";
import { cline, roo } from "./formats/cline.ts";
import { codex } from "./formats/codex.ts";
import { continueDev } from "./formats/continue.ts";
import { copilotCli } from "./formats/copilot-cli.ts";
import { cursor } from "./formats/cursor.ts";
import { discord } from "./formats/discord.ts";
import { droid } from "./formats/droid.ts";
import { gemini } from "./formats/gemini.ts";
import { goose } from "./formats/goose.ts";
import { hermes } from "./formats/hermes.ts";
import { kimi } from "./formats/kimi.ts";
import { kiro } from "./formats/kiro.ts";
import { letta } from "./formats/letta.ts";
import { librechat } from "./formats/librechat.ts";
import { openWebui } from "./formats/open-webui.ts";
import { openclaw } from "./formats/openclaw.ts";
import { kilo, opencode } from "./formats/opencode.ts";
import { openhands } from "./formats/openhands.ts";
import { pi } from "./formats/pi.ts";
import { qwenCode } from "./formats/qwen-code.ts";
import { slack } from "./formats/slack.ts";
import { telegram } from "./formats/telegram.ts";
import { vscodeChat } from "./formats/vscode-chat.ts";
import { warp } from "./formats/warp.ts";
import { zed } from "./formats/zed.ts";
import type { TranscriptReader } from "./reader.ts";

/**
 * In the order in which `--from auto` looks for them and in which an unknown file is tried. Kilo comes before opencode, which also
 * recognises Kilo's database; products that are made from another one come after it.
 */
export const READERS: readonly TranscriptReader[] = [
  claudeCode,
  codex,
  openclaw,
  letta,
  pi,
  kilo,
  opencode,
  gemini,
  qwenCode,
  kimi,
  goose,
  cursor,
  cline,
  roo,
  continueDev,
  copilotCli,
  vscodeChat,
  zed,
  aider,
  openhands,
  droid,
  amp,
  warp,
  kiro,
  hermes,
  chatgpt,
  claudeAi,
  librechat,
  openWebui,
  slack,
  discord,
  telegram,
];

export { openclaw };

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
