// Output files of an export: private, written in a folder beside the target, and moved to their place when all of them are complete.
import { once } from "node:events";
import { createWriteStream, readdirSync, type Stats, statSync, type WriteStream } from "node:fs";
import { lstat, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { finished } from "node:stream/promises";
import { errnoCode, HermesError, resolveLinks, syncDirectory } from "@hermes-memory/core/internal/lib";
import { CommandFailure, type Terminal } from "../command.ts";
import { printable } from "../printing.ts";

/** A message does not cost a write of its own. */
const PIECE_BYTES = 256 * 1024;

const STAGING = ".hermes-export-";

export type OutputFile = {
  write(text: string): Promise<void>;
  close(): Promise<void>;
};

export type StagedOutput = AsyncDisposable & {
  /** `name`: the path below the target folder. */
  open(name: string): Promise<OutputFile>;
  /** Moves all files to their place. Disposing without it removes them. Returns how many there are, and their size. */
  finish(): Promise<{ readonly files: number; readonly bytes: number }>;
};

type Place = {
  /** Of files that must not be there yet; undefined if the folder must be empty. */
  readonly names: readonly string[] | undefined;
  /** Write there nevertheless. */
  readonly isForced: boolean;
  /** Neither the session database nor the files SQLite keeps beside it are replaced, even when forced. */
  readonly database: string;
};

/** `folder`: where the files go. */
export async function stagedOutput(folder: string, place: Place): Promise<StagedOutput> {
  const target = resolve(folder);
  await refuse(target, place);
  const staging = await makeStaging(target, place.names !== undefined);
  const opened = new Map<string, WriteStream>();
  return {
    open: async (name) => {
      const path = join(staging, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = createWriteStream(path, {
        flags: "wx",
        mode: 0o600,
        flush: true,
        highWaterMark: PIECE_BYTES,
      });
      opened.set(name, file);
      const written = finished(file);
      written.catch(() => {}); // reported by the next write, or by close
      return {
        write: async (text) => {
          if (!file.write(text)) await Promise.race([once(file, "drain"), written]);
        },
        close: async () => {
          file.end();
          await written;
        },
      };
    },
    finish: async () => {
      await refuse(target, place); // another process may have written there meanwhile
      await mkdir(target, { recursive: true, mode: 0o700 });
      let bytes = 0;
      for (const [name, { bytesWritten }] of opened) {
        bytes += bytesWritten;
        const path = join(target, name);
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await refuseOther(path);
        await rename(join(staging, name), path);
      }
      syncDirectory(target);
      return { files: opened.size, bytes };
    },
    [Symbol.asyncDispose]: async () => {
      for (const file of opened.values()) file.destroy();
      await rm(staging, { recursive: true, force: true });
    },
  };
}

/** For `-`: nothing is staged. */
export function stdoutOutput(io: Pick<Terminal, "out" | "drained">): StagedOutput {
  const write = async (text: string): Promise<void> => {
    io.out(text);
    await io.drained();
  };
  return {
    open: async () => ({ write, close: async () => undefined }),
    finish: async () => ({ files: 0, bytes: 0 }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** In the target if it is there, else beside it: a rename works within one file system only. */
async function makeStaging(target: string, isFolderNeeded: boolean): Promise<string> {
  try {
    const isThere = (await statOf(target)) !== undefined;
    const place = isThere || isFolderNeeded ? target : dirname(target);
    await mkdir(place, { recursive: true, mode: 0o700 });
    return await mkdtemp(join(place, STAGING));
  } catch (cause) {
    const message = `Cannot write to ${printable(target)}: ${errnoCode(cause) ?? "unknown error"}.`;
    throw new HermesError("export-not-writable", message, {
      hint: "Choose a folder that you may write to.",
      cause,
    });
  }
}

async function refuse(target: string, { names, isForced, database }: Place): Promise<void> {
  for (const name of names ?? []) {
    const path = join(target, name);
    refuseDatabase(path, database);
    await refuseOther(path);
    if (!isForced && (await statOf(path)) !== undefined) throw exists(path, "exists already");
  }
  if (names !== undefined || isForced) return;
  const there = await statOf(target);
  if (there !== undefined && !there.isDirectory()) throw exists(target, "is not a folder");
  if (there !== undefined && !readdirSync(target).every((name) => name.startsWith(STAGING)))
    throw exists(target, "is not empty");
}

/** Compares inodes, because a file can have several names, and paths, because it may not exist yet. */
function refuseDatabase(path: string, database: string): void {
  const inodeOf = (name: string): string | undefined => {
    const there = statSync(name, { bigint: true, throwIfNoEntry: false });
    return there && `${there.dev}:${there.ino}`;
  };
  const nameOf = (name: string): string => `${inodeOf(dirname(name)) ?? dirname(name)}/${basename(name)}`;
  const known = ["", "-wal", "-shm", "-journal"].map((suffix) => resolveLinks(resolve(database)) + suffix);
  const inode = inodeOf(path);
  if (known.some((one) => nameOf(one) === nameOf(path) || (inode !== undefined && inodeOf(one) === inode)))
    throw new CommandFailure(
      `${printable(path)} belongs to the session database itself. Name another file, or '-' for stdout.`,
      { details: { kind: "is-database" } },
    );
}

/** Renaming over a folder or device would replace it. */
async function refuseOther(path: string): Promise<void> {
  const there = await statOf(path);
  if (there !== undefined && !there.isFile()) throw exists(path, "is not a regular file");
}

function statOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined);
}

function exists(path: string, what: string): CommandFailure {
  return new CommandFailure(`${printable(path)} ${what}.`, {
    hint: "Name another place, or pass --force to write there; other files in it stay.",
    details: { kind: "exists" },
  });
}
