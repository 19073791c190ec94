// A ZIP of the Hermes home, made before the first write of a migration. Streams, so that a large session database needs no memory.
import {
  closeSync,
  createReadStream,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { crc32, createDeflateRaw } from "node:zlib";
import { errnoCode, HermesError } from "@hermes-memory/core/internal/lib";
import { stampOf } from "./runs.ts";

const PREFIX = "pre-migration-";
const KEPT = 5;
const TEMP = ".pre-migration-";
/** The reference's own checkout; a skill of that name further down is kept. */
const LEFT_OUT_AT_ROOT = ["hermes-agent", "gateway.pid", "cron.pid"];
const LEFT_OUT_FOLDERS = ["__pycache__", ".git", "node_modules", "backups", "checkpoints"];
// Lock files have no content, and closing a descriptor of one would drop the lock of this process.
const LEFT_OUT_FILES = /\.(?:pyc|pyo|db-wal|db-shm|db-journal|lock|lock-journal)$/;

export type Snapshot = {
  /** Undefined when the home has no files. */
  readonly path: string | undefined;
  readonly files: number;
  /** Files that could not be read. */
  readonly leftOut: readonly string[];
};

export async function snapshotHome(home: string, now: Date): Promise<Snapshot> {
  const names = [...filesOf(home, "")];
  if (names.length === 0) return { path: undefined, files: 0, leftOut: [] };
  const folder = join(home, "backups");
  const path = freeName(folder, `${PREFIX}${stampOf(now).replace("T", "-")}`);
  const temp = join(folder, `${TEMP}${process.pid}.zip.tmp`);
  const leftOut: string[] = [];
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeTemps(folder);
    const zip = new ZipWriter(temp);
    try {
      for (const name of names) {
        const added = await addFile(zip, home, folder, name);
        if (!added) leftOut.push(name);
      }
      zip.finish();
    } finally {
      zip.close();
    }
    renameSync(temp, path);
  } catch (cause) {
    rmSync(temp, { force: true });
    const hint = "Free some space, or pass --no-backup to go on without a snapshot. Nothing was migrated.";
    throw new HermesError("snapshot-failed", `The snapshot of ${home} could not be written.`, {
      hint,
      cause,
    });
  }
  removeOld(folder);
  return { path, files: names.length - leftOut.length, leftOut };
}

function* filesOf(home: string, before: string): Generator<string> {
  let entries: ReturnType<typeof readEntries>;
  try {
    entries = readEntries(join(home, before));
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT" && before === "") throw cause;
    return; // a folder that cannot be read, or no home yet
  }
  for (const entry of entries) {
    const name = before === "" ? entry.name : `${before}/${entry.name}`;
    if (before === "" && LEFT_OUT_AT_ROOT.includes(entry.name)) continue;
    if (entry.isDirectory() && !LEFT_OUT_FOLDERS.includes(entry.name)) yield* filesOf(home, name);
    if (entry.isFile() && !LEFT_OUT_FILES.test(entry.name)) yield name;
  }
}

function readEntries(path: string) {
  return readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** False for a file that cannot be read. */
async function addFile(zip: ZipWriter, home: string, folder: string, name: string): Promise<boolean> {
  const path = join(home, name);
  if (!name.endsWith(".db")) return zip.add(name, path);
  const copy = join(folder, `${TEMP}${process.pid}.db.tmp`);
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    await backup(database, copy);
  } catch {
    return zip.add(name, path); // no SQLite file: it is copied as it is
  }
  try {
    return await zip.add(name, copy, path);
  } finally {
    rmSync(copy, { force: true });
  }
}

function freeName(folder: string, stem: string): string {
  const isTaken = (name: string): boolean =>
    lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined;
  let name = `${stem}.zip`;
  for (let count = 2; isTaken(name); count += 1) name = `${stem}-${count}.zip`;
  return join(folder, name);
}

/** Of runs that were killed. */
function removeTemps(folder: string): void {
  for (const name of readdirSync(folder))
    if (name.startsWith(TEMP) && name.endsWith(".tmp")) rmSync(join(folder, name), { force: true });
}

function removeOld(folder: string): void {
  const names = readdirSync(folder).filter((name) => name.startsWith(PREFIX) && name.endsWith(".zip"));
  for (const name of names.sort().slice(0, -KEPT)) rmSync(join(folder, name), { force: true });
}

// ---- ZIP ----

type Entry = {
  readonly name: Buffer;
  readonly mode: number;
  readonly time: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
};

const LOCAL_BYTES = 30;
const SMALL = 0xffff_ffff;
const LEVEL = 6;
const UTF8_NAMES = 0x800;
const DEFLATED = 8;
const ZIP64_VERSION = 45;

/** Every entry has its sizes in ZIP64 fields, because they are known only after the file was packed. */
class ZipWriter {
  readonly #fd: number;
  readonly #entries: Entry[] = [];
  #offset = 0;

  constructor(path: string) {
    this.#fd = openSync(path, "wx", 0o600);
  }

  /** `statsOf`: the file whose mode and time count. */
  async add(name: string, path: string, statsOf = path): Promise<boolean> {
    const stats = lstatSync(statsOf, { throwIfNoEntry: false });
    if (stats === undefined) return false;
    const offset = this.#offset;
    const title = Buffer.from(name);
    let crc = 0;
    let size = 0;
    try {
      const source = createReadStream(path);
      const packer = createDeflateRaw({ level: LEVEL });
      source.on("data", (chunk) => {
        const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
        crc = crc32(bytes, crc);
        size += bytes.length;
      });
      source.on("error", (cause) => packer.destroy(cause));
      this.#offset = offset + LOCAL_BYTES + title.length + 20;
      for await (const chunk of source.pipe(packer)) this.#write(chunk);
    } catch (cause) {
      if (errnoCode(cause) === "ENOSPC") throw cause;
      this.#offset = offset; // the next entry takes its place
      return false;
    }
    const packed = this.#offset - offset - LOCAL_BYTES - title.length - 20;
    const entry = { name: title, mode: stats.mode, time: dosTime(stats.mtime), crc, packed, size, offset };
    this.#entries.push(entry);
    writeAll(this.#fd, Buffer.concat([signed("PK\x03\x04", shared(entry)), title, sizes(entry)]), offset);
    return true;
  }

  finish(): void {
    const start = this.#offset;
    for (const entry of this.#entries) {
      const tail = Buffer.alloc(14);
      tail.writeUInt16LE(0, 0); // comment
      tail.writeUInt32LE(((entry.mode & 0xffff) << 16) >>> 0, 6);
      tail.writeUInt32LE(SMALL, 10);
      const extra = sizes(entry, entry.offset);
      const head = shared(entry, extra.length);
      const version = Buffer.from([ZIP64_VERSION, 3]); // 3: modes are those of Unix
      this.#write(Buffer.concat([signed("PK\x01\x02", version), head, tail, entry.name, extra]));
    }
    this.#write(endOf(this.#entries.length, start, this.#offset));
    ftruncateSync(this.#fd, this.#offset); // a file that failed last may have left bytes behind the end
    fsyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(bytes: Buffer): void {
    writeAll(this.#fd, bytes, this.#offset);
    this.#offset += bytes.length;
  }
}

function writeAll(fd: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(fd, bytes, done, bytes.length - done, position + done);
}

function signed(signature: string, rest: Buffer): Buffer {
  return Buffer.concat([Buffer.from(signature, "latin1"), rest]);
}

/** The fields that the local and the central header have in common. */
function shared({ name, time, crc }: Entry, extraBytes = 20): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(ZIP64_VERSION, 0);
  fields.writeUInt16LE(UTF8_NAMES, 2);
  fields.writeUInt16LE(DEFLATED, 4);
  fields.writeUInt32LE(time, 6);
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(SMALL, 14);
  fields.writeUInt32LE(SMALL, 18);
  fields.writeUInt16LE(name.length, 22);
  fields.writeUInt16LE(extraBytes, 24);
  return fields;
}

function sizes({ size, packed }: Entry, offset?: number): Buffer {
  const values = [size, packed, ...(offset === undefined ? [] : [offset])];
  const field = Buffer.alloc(4 + values.length * 8);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(values.length * 8, 2);
  for (const [index, value] of values.entries()) field.writeBigUInt64LE(BigInt(value), 4 + index * 8);
  return field;
}

function endOf(count: number, start: number, end: number): Buffer {
  const record = Buffer.alloc(56);
  record.write("PK\x06\x06", 0, "latin1");
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(ZIP64_VERSION, 12);
  record.writeUInt16LE(ZIP64_VERSION, 14);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(end - start), 40);
  record.writeBigUInt64LE(BigInt(start), 48);
  const locator = Buffer.alloc(20);
  locator.write("PK\x06\x07", 0, "latin1");
  locator.writeBigUInt64LE(BigInt(end), 8);
  locator.writeUInt32LE(1, 16);
  const last = Buffer.alloc(22);
  last.write("PK\x05\x06", 0, "latin1");
  last.writeUInt16LE(Math.min(count, 0xffff), 8);
  last.writeUInt16LE(Math.min(count, 0xffff), 10);
  last.writeUInt32LE(Math.min(end - start, SMALL), 12);
  last.writeUInt32LE(Math.min(start, SMALL), 16);
  return Buffer.concat([record, locator, last]);
}

/** Date and time in the form of MS-DOS, which ZIP has: local time, two seconds exact, from 1980. */
function dosTime(date: Date): number {
  const year = Math.max(0, date.getFullYear() - 1980);
  const day = (year << 9) | ((date.getMonth() + 1) << 5) | date.getDate();
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return ((day << 16) | time) >>> 0;
}
