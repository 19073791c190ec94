// Reads the files of a prompt: SOUL.md of the home and the context files of the working directory. Problems with a file become
// warnings; nothing is thrown.
import { accessSync, constants, existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { codePointLength, describeCause, groupThousands, pyStrip } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import {
  type Cut,
  cutMiddle,
  fileSection,
  isMissing,
  MAX_FILE_BYTES,
  projectContext,
  type ReadRules,
  readTextFile,
  screenFile,
  withoutFrontMatter,
} from "./file-text.ts";
import { DEFAULT_IDENTITY } from "./guidance.ts";

type PromptFileOptions = {
  readonly home: string;
  /** See `contextDirectory`. */
  readonly directory: string;
  /** `context_file_max_chars`: for SOUL.md and for each kind of context file. */
  readonly maxChars: number;
  readonly skipContextFiles?: boolean;
  /** Read the identity from SOUL.md even when context files are skipped. */
  readonly loadSoulIdentity?: boolean;
  readonly uid?: number;
};

/** The files that belong to a prompt: identity (SOUL.md) and context files. */
export type PromptFiles = {
  /** For `PromptParts.identity`; undefined: the default identity. */
  readonly identity: string | undefined;
  /** For `PromptParts.contextFiles`; "" when there are none. */
  readonly contextFiles: string;
  readonly files: readonly PromptFile[];
  /** For the user; only about this call. */
  readonly warnings: readonly PromptWarning[];
};

/** Reads SOUL.md and the context files for a prompt. */
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

/** The home belongs to the user, so links are followed anywhere. */
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
    // An agent that is only told that a file was blocked would have no identity.
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

/** The directory of the context files: the session's own, then TERMINAL_CWD, then the directory the program started in. */
export function contextDirectory(sources: {
  readonly session?: string;
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

// Context files: instructions that a project brings. The first kind of file that has text is used, the others are not read.

type PromptFile = {
  /** As in its heading in the prompt. */
  readonly name: string;
  readonly path: string;
  readonly state: "loaded" | "cut" | "blocked";
  /** Characters of the file before it was cut. */
  readonly chars: number;
  /** Threat patterns of a blocked file. */
  readonly ids: readonly string[];
};

/** The section of the prompt with project files such as AGENTS.md. */
export type ContextFiles = {
  /** With headings, cut to the limit; "" when there is no such file. */
  readonly section: string;
  readonly files: readonly PromptFile[];
  readonly warnings: readonly PromptWarning[];
};

type ContextFileOptions = {
  /** Absolute. */
  readonly directory: string;
  readonly maxChars: number;
  /** User id that files above the directory must have. Default: the id of this process, if the system has ids. */
  readonly uid?: number;
};

/** Reads the context files of a working directory, cut to their limits and scanned for threats. */
export function readContextFiles(options: ContextFileOptions): ContextFiles {
  const closed = accessProblem(options.directory);
  if (closed !== undefined) {
    const warnings = [unusableWarning("The working directory", options.directory, closed)];
    return { section: "", files: [], warnings };
  }
  const search = new ProjectSearch(options);
  const { directory } = options;
  const found =
    hermesFile(search, directory) ??
    search.firstOf(directory, ["AGENTS.md", "agents.md"]) ??
    search.firstOf(directory, ["CLAUDE.md", "claude.md"]) ??
    cursorRules(search, directory);
  if (found === undefined) return { section: "", files: [], warnings: search.warnings };
  return withinLimit(found, search.warnings, options.maxChars);
}

type Candidate = Omit<PromptFile, "state"> & { readonly section: string };
type Found = { readonly label: string; readonly candidates: readonly Candidate[] };

function hermesFile(search: ProjectSearch, directory: string): Found | undefined {
  for (const place of search.placesFrom(directory)) {
    for (const name of [".hermes.md", "HERMES.md"]) {
      const found = search.read(join(place, name), name, { isAbove: place !== directory });
      if (found !== undefined) return { label: ".hermes.md", candidates: [found] };
    }
  }
  return undefined;
}

function cursorRules(search: ProjectSearch, directory: string): Found | undefined {
  const rules = join(directory, ".cursor", "rules");
  const names = search.namesIn(rules).filter((name) => name.endsWith(".mdc"));
  const candidates = [
    search.read(join(directory, ".cursorrules"), ".cursorrules"),
    ...names.sort().map((name) => search.read(join(rules, name), `.cursor/rules/${name}`)),
  ].filter((found) => found !== undefined);
  return candidates.length === 0 ? undefined : { label: ".cursorrules", candidates };
}

/** The limit applies to all files of a kind together, headings included. */
function withinLimit(found: Found, earlier: readonly PromptWarning[], maxChars: number): ContextFiles {
  const path = found.candidates[0]?.path ?? "";
  // For the model several files are one text, so that text is scanned too: a payload may be spread over the files.
  const whole = screenFile(found.label, found.candidates.map(({ section }) => section).join("\n\n"));
  if (whole.ids.length > 0) {
    const files = found.candidates.map(
      ({ section: _, ...file }): PromptFile => ({ ...file, state: "blocked", ids: whole.ids }),
    );
    const warnings = [...earlier, blockedWarning(found.label, path, whole.ids)];
    return { section: fileSection(found.label, whole.text), files, warnings };
  }
  const { text, cut } = cutMiddle(whole.text, found.label, maxChars);
  const files = found.candidates.map(({ section: _, ...file }): PromptFile => {
    const state = file.ids.length > 0 ? "blocked" : cut === undefined ? "loaded" : "cut";
    return { ...file, state };
  });
  const warnings = cut === undefined ? earlier : [...earlier, cutWarning(found.label, path, cut, maxChars)];
  return { section: text, files, warnings };
}

/** One search through a project: keeps its root, the warnings and how many bytes may still be read. */
class ProjectSearch {
  readonly warnings: PromptWarning[] = [];
  readonly #gitRoot: string | undefined;
  readonly #uid: number | undefined;
  #bytesLeft = MAX_FILE_BYTES;

  constructor(options: ContextFileOptions) {
    this.#gitRoot = ancestors(options.directory).find((place) => existsSync(join(place, ".git")));
    this.#uid = options.uid ?? process.getuid?.();
  }

  /** The directory, then its parents up to the project's root. */
  placesFrom(directory: string): string[] {
    const places = ancestors(directory);
    return this.#gitRoot === undefined ? places : places.slice(0, places.indexOf(this.#gitRoot) + 1);
  }

  firstOf(directory: string, names: readonly [string, string]): Found | undefined {
    for (const name of names) {
      const found = this.read(join(directory, name), name);
      if (found !== undefined) return { label: names[0], candidates: [found] };
    }
    return undefined;
  }

  /** Undefined when the file does not exist, has no text or cannot be used; the last case adds a warning. */
  read(path: string, name: string, { isAbove = false } = {}): Candidate | undefined {
    if (isUnsafeName(name)) return this.#refuse("A file", path, "its name could be taken for an instruction");
    const rules: ReadRules = {
      within: this.#gitRoot ?? dirname(path),
      // Any user may put a file into a directory like /tmp, above all projects there.
      ownUid: isAbove ? this.#uid : undefined,
      maxBytes: this.#bytesLeft,
    };
    const file = readTextFile(path, rules);
    if (file.kind === "missing") return undefined;
    if (file.kind === "unusable") return this.#refuse(name, path, file.reason);
    this.#bytesLeft -= file.bytes;
    const stripped = pyStrip(file.text);
    if (stripped === "") return undefined;
    const { text, ids } = screenFile(
      name,
      /hermes\.md$/i.test(name) ? withoutFrontMatter(stripped) : stripped,
    );
    if (ids.length > 0) this.warnings.push(blockedWarning(name, path, ids));
    return { name, path, chars: codePointLength(stripped), ids, section: fileSection(name, text) };
  }

  namesIn(directory: string): string[] {
    try {
      return readdirSync(directory);
    } catch (cause) {
      if (!isMissing(cause)) this.#refuse(".cursor/rules", directory, describeCause(cause));
      return [];
    }
  }

  #refuse(name: string, path: string, reason: string): undefined {
    this.warnings.push(unusableWarning(name, path, reason));
  }
}

/** One warning for a directory without access, instead of one for every file that might be in it. */
function accessProblem(directory: string): string | undefined {
  try {
    accessSync(`${directory}/.`, constants.X_OK);
    return undefined;
  } catch (cause) {
    return isMissing(cause) ? undefined : describeCause(cause);
  }
}

/** The project chooses the name of a rules file, and the name is part of the prompt. */
function isUnsafeName(name: string): boolean {
  return /\p{Cc}/u.test(name) || scanThreats(name, "context").length > 0;
}

function ancestors(directory: string): string[] {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...ancestors(above)];
}

// Warnings for the user about files that are missing from the prompt or were cut.

/** A file that was cut, refused or not readable. */
export type PromptWarning = {
  readonly kind: "cut" | "blocked" | "unusable";
  readonly path: string;
  readonly message: string;
};

function cutWarning(label: string, path: string, cut: Cut, maxChars: number): PromptWarning {
  const message =
    `${label} (${path}) has ${groupThousands(cut.total)} characters, but the prompt takes ` +
    `${groupThousands(maxChars)} of it, so its middle was left out. Shorten it, or raise context_file_max_chars.`;
  return { kind: "cut", path, message };
}

function blockedWarning(name: string, path: string, ids: readonly string[]): PromptWarning {
  const message =
    `${name} (${path}) was kept out of the prompt, because it matches threat pattern(s): ${ids.join(", ")}. ` +
    "If you trust the file, reword the place.";
  return { kind: "blocked", path, message };
}

function unusableWarning(name: string, path: string, reason: string): PromptWarning {
  const message = `${name} (${path}) was not read for the prompt, because ${reason}.`;
  return { kind: "unusable", path, message };
}
