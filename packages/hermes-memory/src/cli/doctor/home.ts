// The home directory: there, writable, private, with room to write; and the profile that was chosen.
import { accessSync, constants, rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { memoriesDirectory, pendingWritesDirectory, readActiveProfile } from "@hermes-memory/core/home";
import { describeCause, randomHex } from "@hermes-memory/core/lib";
import { listProfiles } from "@hermes-memory/core/profiles";
import { isDirectory, statOf } from "../inspect-files.ts";
import { bytes, type Finding, fail, fine, quoted, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";

export function checkProfile({ root }: Patient): Finding[] {
  const active = readActiveProfile(root)?.toLowerCase();
  if (active === undefined) return [fine("profile", "The default profile is active.")];
  if (listProfiles(root).some(({ name }) => name === active))
    return [fine("profile", `The profile '${active}' is active.`)];
  const remedy = "hermes profile use default";
  return [fail("profile", `The active profile '${active}' does not exist in ${root}.`, remedy)];
}

export function checkHome({ home }: Patient): Finding[] {
  const stats = statOf(home);
  if (stats === undefined) return [futureHome(home)];
  if (!stats.isDirectory())
    return [fail("home", `${home} is not a directory.`, "Move it away, or set HERMES_HOME.")];
  const directories = [home, memoriesDirectory(home), pendingWritesDirectory(home)].filter(isDirectory);
  return directories.map((directory) => {
    const trouble = writeProbe(directory);
    if (trouble === undefined) return fine("home", `${directory} can be written.`);
    const remedy = `Let your user write there: ls -ld ${quoted(directory)} shows owner and mode.`;
    return fail("home", `${directory} cannot be written: ${trouble}.`, remedy);
  });
}

/** Nothing is made for the sake of looking: the first write makes the home. */
function futureHome(home: string): Finding {
  const parent = nearestDirectory(dirname(home));
  try {
    accessSync(parent, constants.W_OK);
    return fine("home", `${home} does not exist yet; the first write makes it.`);
  } catch {
    const remedy = `Make ${parent} writable, or set HERMES_HOME to a directory of your own.`;
    return fail("home", `${home} does not exist and cannot be made in ${parent}.`, remedy);
  }
}

/** Whoever may list a directory sees names; whoever may enter it can read files that are not private themselves. */
export function checkModes({ home, env }: Patient): Finding[] {
  if (process.platform === "win32") return []; // modes mean nothing there
  const memories = memoriesDirectory(home);
  const directories = [
    home,
    memories,
    join(memories, ".history"),
    join(memories, ".archive"),
    dirname(pendingWritesDirectory(home)),
    pendingWritesDirectory(home),
  ].filter(isDirectory);
  const chosen = /^(0o)?[0-7]{1,4}$/.test(env.HERMES_HOME_MODE?.trim() ?? "") ? env.HERMES_HOME_MODE : "700";
  const allowed = Number.parseInt(chosen?.trim().replace("0o", "") ?? "700", 8);
  const open = directories.filter((directory) => (modeOf(directory) & 0o077 & ~allowed) !== 0);
  if (open.length === 0)
    return directories.length === 0 ? [] : [fine("modes", "Other users cannot look into the home.")];
  return open.map((directory) => {
    const mode = modeOf(directory).toString(8);
    return warn(
      "modes",
      `Other users may enter ${directory} (mode ${mode}).`,
      `chmod 700 ${quoted(directory)}`,
    );
  });
}

const TIGHT_BYTES = 100 * 1024 ** 2;
const FULL_BYTES = 1024 ** 2; // less, and a journal line or a backup may not fit

export function checkDisk({ home }: Patient): Finding[] {
  const directory = nearestDirectory(home);
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const message = `${bytes(free)} free for ${home}`;
  const remedy = "Free some space on this file system: writes fail when it is full.";
  if (free < FULL_BYTES) return [fail("disk", `Only ${message}.`, remedy)];
  return [free < TIGHT_BYTES ? warn("disk", `Only ${message}.`, remedy) : fine("disk", message)];
}

function writeProbe(directory: string): string | undefined {
  const probe = join(directory, `.doctor-${randomHex(6)}.tmp`);
  try {
    writeFileSync(probe, "", { flag: "wx", mode: 0o600 });
    rmSync(probe);
    return undefined;
  } catch (cause) {
    return describeCause(cause);
  }
}

function modeOf(path: string): number {
  return (statOf(path)?.mode ?? 0) & 0o777;
}

function nearestDirectory(path: string): string {
  let current = path;
  while (!isDirectory(current) && dirname(current) !== current) current = dirname(current);
  return current;
}
