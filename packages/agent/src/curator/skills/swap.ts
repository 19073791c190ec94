// Puts one whole state of the skills in another's place by renaming, and takes a swap back that was cut off. All of it is done
// under the skills' change lock.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { namesIn, randomHex, syncDirectory, writeFileAtomic } from "@hermes-memory/core/lib";
import type { TarEntry } from "../tar.ts";

export const BACKUPS = ".curator_backups";

/** What belongs to now and not to the skills' texts: a pause, pins, the record of changes, who runs. */
const LIVE: ReadonlySet<string> = new Set([
  ".curator_state",
  ".usage.json",
  ".history",
  ".curator_running.json",
]);

const UNFINISHED = /^\.restore-/;
/** A stage gets such a name in the moment its swap counts as done. */
const DISCARDED = /^\.discard-/;
const MARKER = "moving.json";

/**
 * The new state is complete beside the old one before anything moves. A failure half-way moves everything back; after a kill
 * half-way `mendSwap` does.
 */
export function swap(skills: string, names: readonly string[], entries: readonly TarEntry[]): void {
  const stage = join(skills, BACKUPS, `.restore-${randomHex(4)}`);
  const fresh = join(stage, "new");
  const old = join(stage, "old");
  const wanted = entries.filter(({ path }) => !LIVE.has(path.split("/")[0] ?? ""));
  try {
    mkdirSync(fresh, { recursive: true, mode: 0o700 });
    mkdirSync(old, { mode: 0o700 });
    for (const entry of wanted) unpack(fresh, entry);
    for (const { path, link } of wanted) if (link !== undefined) symlinkSync(link, join(fresh, path));
    const arriving = readdirSync(fresh);
    writeFileAtomic(join(stage, MARKER), JSON.stringify({ arriving }));
    for (const name of names.filter((each) => !LIVE.has(each)))
      renameSync(join(skills, name), join(old, name));
    for (const name of arriving) renameSync(join(fresh, name), join(skills, name));
    syncDirectory(skills);
  } catch (cause) {
    takeBack(skills, stage);
    discard(skills, stage);
    throw cause;
  }
  discard(skills, stage);
}

export function hasUnfinishedSwap(skills: string): boolean {
  return namesIn(join(skills, BACKUPS)).some((name) => UNFINISHED.test(name) || DISCARDED.test(name));
}

/** Brings back the state from before a swap that was cut off. What is to be told of it, if anything. */
export function mendSwap(skills: string): string[] {
  const backups = join(skills, BACKUPS);
  for (const name of namesIn(backups).filter((each) => DISCARDED.test(each)))
    rmSync(join(backups, name), { recursive: true, force: true });
  return namesIn(backups)
    .filter((name) => UNFINISHED.test(name))
    .flatMap((name) => {
      const stage = join(backups, name);
      const back = takeBack(skills, stage);
      const kept = keepAside(backups, stage);
      discard(skills, stage);
      if (back === 0 && kept === undefined) return [];
      const rest = kept === undefined ? "" : ` What stood in their place is in ${kept}.`;
      return [`A restore of the skills had been cut off. They are as they were before it.${rest}`];
    });
}

/**
 * Can itself be cut off and begun again: what arrived is what the marker names and is no longer in `new`, nor put aside.
 * What stands in the way is put aside and not deleted, for somebody may have written it since.
 */
function takeBack(skills: string, stage: string): number {
  const aside = join(stage, "aside");
  const putAside = (name: string): void => {
    if (!namesIn(skills).includes(name)) return;
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    const isTaken = namesIn(aside).includes(name);
    renameSync(join(skills, name), join(aside, isTaken ? `${name}-${randomHex(4)}` : name));
  };
  const waiting = new Set([...namesIn(join(stage, "new")), ...namesIn(aside)]);
  for (const name of arrivingIn(stage)) if (!waiting.has(name)) putAside(name);
  const left = namesIn(join(stage, "old"));
  for (const name of left) {
    putAside(name);
    renameSync(join(stage, "old", name), join(skills, name));
  }
  if (left.length > 0) syncDirectory(skills);
  return left.length;
}

/** Outside the stage, which goes. */
function keepAside(backups: string, stage: string): string | undefined {
  const aside = join(stage, "aside");
  if (!existsSync(aside)) return undefined;
  const kept = join(backups, `aside-${randomHex(4)}`);
  renameSync(aside, kept);
  return kept;
}

function discard(skills: string, stage: string): void {
  if (!existsSync(stage)) return;
  const gone = join(skills, BACKUPS, `.discard-${randomHex(4)}`);
  renameSync(stage, gone);
  rmSync(gone, { recursive: true, force: true });
}

function arrivingIn(stage: string): string[] {
  try {
    const { arriving } = JSON.parse(readFileSync(join(stage, MARKER), "utf8")) as Record<string, unknown>;
    const names: readonly unknown[] = Array.isArray(arriving) ? arriving : [];
    return names.filter((name): name is string => typeof name === "string" && !/^\.{0,2}$|[/\0]/.test(name));
  } catch {
    return []; // cut off before the first move
  }
}

/** Without the old times: what is put back is new to whoever keeps a catalogue by time and size. */
function unpack(root: string, { path, mode, data, link }: TarEntry): void {
  const place = join(root, path);
  if (link !== undefined) return; // after everything else, so that nothing is written through one
  if (data === undefined) {
    mkdirSync(place, { recursive: true, mode: mode | 0o700 });
    return;
  }
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
  writeFileSync(place, data, { mode: mode | 0o600, flag: "wx" });
}
