// Every format that can be imported.
import { aider } from "./formats/aider.ts";
import { copilotCli } from "./formats/copilot-cli.ts";
import { vscodeChat } from "./formats/vscode-chat.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [aider, copilotCli, vscodeChat];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
