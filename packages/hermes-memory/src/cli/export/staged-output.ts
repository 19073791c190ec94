// Output files of an export: private, written in a folder beside the target, and moved to their place when all of them are complete.
import { readdirSync } from "node:fs";
import { type FileHandle, lstat, mkdir, mkdtemp, open, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errnoCode, HermesError, syncDirectory } from "@hermes-memory/core/internal/lib";
import { CommandFailure } from "../command.ts";
import { printable } from "../printing.ts";

/** Texts are joined to pieces of this size, so that a message does not cost a write of its own. */
const PIECE_CHARS = 256 * 1024;

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

/** `folder`: where the files go; `names`: those that must not be there yet, or undefined if the folder must be empty. */
export async function stagedOutput(
  folder: string,
  names: readonly string[] | undefined,
  isForced: boolean,
): Promise<StagedOutput> {
  const target = resolve(folder);
  if (!isForced) await refuseExisting(target, names);
  const staging = await makeStaging(target, names !== undefined);
  const opened = new Set<string>();
  const files = new Set<FileHandle>();
  let bytes = 0;
  return {
    open: async (name) => {
      const path = join(staging, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const file = await open(path, "wx", 0o600);
      opened.add(name);
      files.add(file);
      const written = (count: number): void => {
        bytes += count;
      };
      const output = outputFile(file, written);
      const close = async (): Promise<void> => {
        await output.close();
        files.delete(file);
      };
      return { ...output, close };
    },
    finish: async () => {
      if (!isForced) await refuseExisting(target, names); // another process may have written there meanwhile
      await mkdir(target, { recursive: true, mode: 0o700 });
      for (const name of opened) {
        const place = join(target, name);
        await mkdir(dirname(place), { recursive: true, mode: 0o700 });
        await refuseOther(place);
        await rename(join(staging, name), place);
      }
      syncDirectory(target);
      return { files: opened.size, bytes };
    },
    [Symbol.asyncDispose]: async () => {
      for (const file of files) await file.close();
      await rm(staging, { recursive: true, force: true });
    },
  };
}

function outputFile(file: FileHandle, written: (bytes: number) => void): OutputFile {
  let waiting: string[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    if (chars === 0) return;
    const bytes = Buffer.from(waiting.join(""));
    waiting = [];
    chars = 0;
    await file.writeFile(bytes);
    written(bytes.length);
  };
  return {
    write: async (text) => {
      waiting.push(text);
      chars += text.length;
      if (chars >= PIECE_CHARS) await flush();
    },
    close: async () => {
      await flush();
      await file.sync();
      await file.close();
    },
  };
}

/** In the target if it is there, else beside it: a rename works within one file system only. */
async function makeStaging(target: string, isFolderNeeded: boolean): Promise<string> {
  try {
    const isThere = (await lstat(target).catch(() => undefined)) !== undefined;
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

async function refuseExisting(target: string, names: readonly string[] | undefined): Promise<void> {
  const there = await lstat(target).catch(() => undefined);
  if (there === undefined) return;
  if (names === undefined) {
    const isEmpty = there.isDirectory() && readdirSync(target).every((name) => name.startsWith(STAGING));
    if (isEmpty) return;
    throw exists(target, there.isDirectory() ? "is not empty" : "is not a folder");
  }
  for (const name of names)
    if ((await lstat(join(target, name)).catch(() => undefined)) !== undefined)
      throw exists(join(target, name), "exists already");
}

/** Renaming over a folder or device would replace it. */
async function refuseOther(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined && !there.isFile()) throw exists(path, "is not a regular file");
}

function exists(path: string, what: string): CommandFailure {
  return new CommandFailure(`${printable(path)} ${what}.`, {
    hint: "Name another place, or pass --force to write there; other files in it stay.",
    details: { kind: "exists" },
  });
}
