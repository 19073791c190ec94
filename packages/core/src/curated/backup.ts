// Copies of a file we refuse to touch: byte for byte, private, one per distinct content.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { namesIn, sha256, writeFileAtomic } from "../lib/index.ts";

/** `<file>.bak.<unix seconds>`, as an absolute path. Content that is backed up already is not copied again. */
export function backUp(file: string, bytes: Uint8Array, now: Date): string {
  const wanted = sha256(bytes);
  const existing = knownBackups(file).find((path) => hashOf(path) === wanted);
  if (existing) return existing;
  const path = backupPathFor(file, now);
  writeFileAtomic(path, bytes, { mode: 0o600 });
  return path;
}

/** A name that is free. */
export function backupPathFor(file: string, now: Date): string {
  let seconds = Math.floor(now.getTime() / 1000);
  while (existsSync(backupPath(file, seconds))) seconds += 1; // another content, backed up in the same second
  return backupPath(file, seconds);
}

/** All backups of a file, oldest first. */
export function listBackups(file: string): string[] {
  const prefix = `${basename(file)}.bak.`;
  const isBackup = (name: string): boolean =>
    name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length));
  return namesIn(dirname(file))
    .filter(isBackup)
    .sort((a, b) => Number(a.slice(prefix.length)) - Number(b.slice(prefix.length)))
    .map((name) => resolve(join(dirname(file), name)));
}

function backupPath(file: string, seconds: number): string {
  return resolve(`${file}.bak.${seconds}`);
}

/** For finding an equal one. Where that is not possible, one copy too many is the better mistake. */
function knownBackups(file: string): string[] {
  try {
    return listBackups(file);
  } catch {
    return [];
  }
}

function hashOf(path: string): string | undefined {
  try {
    return sha256(readFileSync(path));
  } catch {
    return undefined; // unreadable: then it cannot serve as a backup, and a new one is made
  }
}
