// A private file that is written piece by piece and appears under its name when it is whole.
import { statSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errnoCode, HermesError, randomHex, resolveLinks, syncDirectory } from "@hermes-memory/core/lib";
import { CommandFailure } from "../command.ts";
import { statOf } from "../inspect-files.ts";
import { printable } from "../printing.ts";

export type OutputFile = AsyncDisposable & {
  write(text: string): Promise<void>;
  /** Until this is done the file under the final name is the old one, or none. Disposing without it leaves no trace. */
  finish(): Promise<void>;
};

export type OutputOptions = {
  /** Replaces a file that is there. */
  readonly isForced: boolean;
  /** The database: neither it nor a file that SQLite keeps beside it is ever replaced, forced or not. */
  readonly database: string;
};

export async function openOutputFile(
  name: string,
  { isForced, database }: OutputOptions,
): Promise<OutputFile> {
  const target = resolveLinks(resolve(name));
  refuseDatabase(name, target, database);
  refuseWhatIsThere(name, target, isForced);
  const temp = join(dirname(target), `.${basename(target)}.${randomHex(6)}.tmp`);
  let file: FileHandle | undefined = await create(temp, name);
  const close = async (): Promise<void> => {
    await file?.close();
    file = undefined;
  };
  return {
    write: async (text) => {
      await file?.writeFile(text);
    },
    finish: async () => {
      await file?.sync();
      await close();
      refuseDatabase(name, target, database);
      refuseWhatIsThere(name, target, isForced); // somebody may have made one meanwhile
      await rename(temp, target);
      syncDirectory(dirname(target));
    },
    [Symbol.asyncDispose]: async () => {
      await close();
      await rm(temp, { force: true });
    },
  };
}

const BESIDE_DATABASE = ["", "-wal", "-shm", "-journal"];

/** By the file itself, since it can have other names, and by name, since it may not be there yet. */
function refuseDatabase(name: string, target: string, database: string): void {
  const there = fileAt(target);
  const real = resolveLinks(resolve(database));
  const isOfDatabase = BESIDE_DATABASE.map((suffix) => real + suffix).some(
    (path) => placeOf(path) === placeOf(target) || (there !== undefined && fileAt(path) === there),
  );
  if (!isOfDatabase) return;
  throw new CommandFailure(
    `${printable(name)} belongs to the session database itself. Name another file, or '-' for stdout.`,
    { details: { kind: "is-database" } },
  );
}

function fileAt(path: string): string | undefined {
  const there = statSync(path, { bigint: true, throwIfNoEntry: false });
  return there && `${there.dev}:${there.ino}`;
}

/** The directory by what it is, since it can have other names too. */
function placeOf(path: string): string {
  return `${fileAt(dirname(path)) ?? dirname(path)}/${basename(path)}`;
}

function refuseWhatIsThere(name: string, target: string, isForced: boolean): void {
  const there = statOf(target);
  if (there === undefined) return;
  if (!there.isFile()) {
    // Renaming onto a device would replace the device.
    throw new CommandFailure(
      `${printable(name)} is not a regular file. Name another one, or '-' for stdout.`,
      {
        details: { kind: "not-a-file" },
      },
    );
  }
  if (!isForced) {
    throw new CommandFailure(`${printable(name)} exists already. Name another file, or pass --force.`, {
      details: { kind: "exists" },
    });
  }
}

async function create(temp: string, name: string): Promise<FileHandle> {
  try {
    return await open(temp, "wx", 0o600);
  } catch (cause) {
    const code = errnoCode(cause);
    const why = code === "ENOENT" ? "its directory does not exist" : code === undefined ? "" : code;
    throw new HermesError("export-not-writable", `Cannot write ${printable(name)}: ${why}.`, {
      hint: "Choose a directory that exists and that you may write to.",
      cause,
    });
  }
}
