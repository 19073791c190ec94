// Renames leftover OpenClaw folders, so that no program takes them for current ones. Never deletes anything.
import { existsSync, lstatSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { earlierRuns, isSameFolder, stampOf } from "./runs.ts";
import { isFolder, namesOf } from "./source-files.ts";

const WORKSPACE_FILES = ["todo.json", "SOUL.md", "MEMORY.md", "USER.md"];
const STATE_NAMES = ["todo.json", "sessions", "logs"];
const SHOWN_WORKSPACES = 5;
const SHOWN_STATE = 8;

export type Leftover = {
  readonly folder: string;
  readonly renamedTo: string;
  /** The first five. */
  readonly workspaces: readonly { readonly name: string; readonly files: readonly string[] }[];
  readonly workspaceCount: number;
  /** The first eight, relative to the folder. */
  readonly stateFiles: readonly string[];
  /** A run without errors has migrated this folder. */
  readonly isMigrated: boolean;
  /** It has transcripts, and no run has imported any. */
  readonly hasUnimportedSessions: boolean;
};

export function describeLeftover(folder: string, home: string, now: Date): Leftover {
  const children = namesOf(folder).filter((name) => !name.startsWith(".") && isFolder(join(folder, name)));
  const workspaces = children.flatMap((name) => {
    const files = WORKSPACE_FILES.filter((file) => existsSync(join(folder, name, file)));
    return files.length === 0 ? [] : [{ name, files }];
  });
  const within = (name: string, wanted: readonly string[]): string[] =>
    wanted.filter((file) => existsSync(join(folder, name, file))).map((file) => join(name, file));
  const agents = namesOf(join(folder, "agents"));
  const transcripts = agents.filter((agent) => namesOf(join(folder, "agents", agent, "sessions")).length > 0);
  const stateFiles = [
    ...within("", STATE_NAMES),
    ...children.flatMap((name) => within(name, [...STATE_NAMES, "memory"])),
    ...transcripts.map((agent) => join("agents", agent, "sessions")),
  ];
  const runs = earlierRuns(home).filter(({ sourceRoot }) => isSameFolder(sourceRoot, folder));
  return {
    folder,
    renamedTo: freeName(folder, now),
    workspaces: workspaces.slice(0, SHOWN_WORKSPACES),
    workspaceCount: workspaces.length,
    stateFiles: stateFiles.slice(0, SHOWN_STATE),
    isMigrated: runs.some(({ isFinished, errors }) => isFinished && errors === 0),
    hasUnimportedSessions: transcripts.length > 0 && !runs.some(({ hasSessions }) => hasSessions),
  };
}

/** The error, or undefined when the folder was renamed. */
export function renameLeftover({ folder, renamedTo }: Leftover): string | undefined {
  try {
    if (isTaken(renamedTo)) return `${basename(renamedTo)} exists already`;
    renameSync(folder, renamedTo);
    return undefined;
  } catch (cause) {
    return describeCause(cause);
  }
}

function freeName(folder: string, now: Date): string {
  const plain = `${folder}.pre-migration`;
  if (!isTaken(plain)) return plain;
  const dated = `${plain}-${stampOf(now).slice(0, 10).replaceAll("-", "")}`;
  let name = dated;
  for (let count = 2; isTaken(name); count += 1) name = `${dated}-${count}`;
  return name;
}

/** Also for a link that leads nowhere. */
function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
