// What the user is told about files that are not, or not wholly, in the prompt.
import { groupThousands } from "../lib/index.ts";
import type { Cut } from "./context-text.ts";

export type PromptWarning = {
  readonly kind: "cut" | "blocked" | "unusable";
  readonly path: string;
  readonly message: string;
};

export function cutWarning(label: string, path: string, cut: Cut, maxChars: number): PromptWarning {
  const message =
    `${label} (${path}) has ${groupThousands(cut.total)} characters, but the prompt takes ` +
    `${groupThousands(maxChars)} of it, so its middle was left out. Shorten it, or raise context_file_max_chars.`;
  return { kind: "cut", path, message };
}

export function blockedWarning(name: string, path: string, ids: readonly string[]): PromptWarning {
  const message =
    `${name} (${path}) was kept out of the prompt, because it matches threat pattern(s): ${ids.join(", ")}. ` +
    "If you trust the file, reword the place.";
  return { kind: "blocked", path, message };
}

export function unusableWarning(name: string, path: string, reason: string): PromptWarning {
  const message = `${name} (${path}) was not read for the prompt, because ${reason}.`;
  return { kind: "unusable", path, message };
}
