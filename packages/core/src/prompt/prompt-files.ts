// The files of a prompt in one go: SOUL.md of the home, the context files of the working directory. Nothing that can be
// wrong with them is thrown.
import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { codePointLength, pyStrip } from "../lib/index.ts";
import { type PromptFile, readContextFiles } from "./context-files.ts";
import { cutMiddle, projectContext, screenFile } from "./context-text.ts";
import { DEFAULT_IDENTITY } from "./guidance.ts";
import { readTextFile } from "./read-text.ts";
import { blockedWarning, cutWarning, type PromptWarning, unusableWarning } from "./warnings.ts";

export type PromptFileOptions = {
  readonly home: string;
  /** See `contextDirectory`. */
  readonly directory: string;
  /** `context_file_max_chars`: for SOUL.md and for each kind of context file. */
  readonly maxChars: number;
  readonly skipContextFiles?: boolean;
  /** Take the identity from SOUL.md although context files are skipped. */
  readonly loadSoulIdentity?: boolean;
  readonly uid?: number | undefined;
};

export type PromptFiles = {
  /** For `PromptParts.identity`; undefined: the default one. */
  readonly identity: string | undefined;
  /** For `PromptParts.contextFiles`; "" for none. */
  readonly contextFiles: string;
  readonly files: readonly PromptFile[];
  /** Of this reading alone; meant for the user. */
  readonly warnings: readonly PromptWarning[];
};

export function readPromptFiles(options: PromptFileOptions): PromptFiles {
  const isContextRead = options.skipContextFiles !== true;
  const soul = isContextRead || options.loadSoulIdentity ? readSoul(options.home, options.maxChars) : NO_SOUL;
  const context = isContextRead ? readContextFiles(options) : undefined;
  return {
    identity: soul.identity,
    contextFiles: projectContext(context?.section ?? ""),
    files: [...soul.files, ...(context?.files ?? [])],
    warnings: [...soul.warnings, ...(context?.warnings ?? [])],
  };
}

type Soul = {
  readonly identity: string | undefined;
  readonly files: readonly PromptFile[];
  readonly warnings: readonly PromptWarning[];
};

const NO_SOUL: Soul = { identity: undefined, files: [], warnings: [] };
const SOUL = "SOUL.md";

/** The home is the user's own, so links are followed wherever they lead. */
function readSoul(home: string, maxChars: number): Soul {
  const path = join(home, SOUL);
  const file = readTextFile(path);
  if (file.kind === "missing") return NO_SOUL;
  if (file.kind === "unusable") return { ...NO_SOUL, warnings: [unusableWarning(SOUL, path, file.reason)] };
  const stripped = pyStrip(file.text);
  if (stripped === "") return NO_SOUL;
  const described = { name: SOUL, path, chars: codePointLength(stripped) };
  const { text, ids } = screenFile(SOUL, stripped);
  if (ids.length > 0) {
    // An agent that is told only that something was blocked would not know who it is.
    return {
      identity: `${DEFAULT_IDENTITY}\n\n${text}`,
      files: [{ ...described, state: "blocked", ids }],
      warnings: [blockedWarning(SOUL, path, ids)],
    };
  }
  const { text: identity, cut } = cutMiddle(text, SOUL, maxChars);
  return {
    identity,
    files: [{ ...described, state: cut === undefined ? "loaded" : "cut", ids }],
    warnings: cut === undefined ? [] : [cutWarning(SOUL, path, cut, maxChars)],
  };
}

/** Where context files are looked for: the session's own place, then TERMINAL_CWD, then where the program started. */
export function contextDirectory(sources: {
  readonly session?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly launch: string;
  readonly userHome: string;
}): string {
  const terminal = pyStrip(sources.env.TERMINAL_CWD ?? "");
  const chosen = sources.session || (terminal === "" ? sources.launch : expanded(terminal, sources.userHome));
  const directory = resolve(sources.launch, chosen);
  try {
    return realpathSync(directory);
  } catch {
    return directory; // it need not exist; then no file is found there
  }
}

function expanded(path: string, userHome: string): string {
  return path === "~" || /^~[/\\]/.test(path) ? join(userHome, path.slice(1)) : path;
}
