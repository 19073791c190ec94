// ZIP archives, read entry by entry. Nothing is ever unpacked to disk, so the names of entries are only names.
import { type FileHandle, open } from "node:fs/promises";
import { crc32, createInflateRaw } from "node:zlib";
import type { Reading } from "../reader.ts";
import { MAX_UNPACKED_BYTES } from "./chunks.ts";
import { transformed } from "./transformed.ts";

const MIB = 1024 ** 2;
const CHUNK_BYTES = MIB;
const MAX_ENTRIES = 1_000_000;
const MAX_DIRECTORY_BYTES = 256 * MIB;
/** Deflate reaches about 1030:1 on constant data; text stays below 100:1. */
const MAX_RATIO = 1000;
const RATIO_MATTERS_FROM = 100 * MIB;

const END_MARK = 0x06054b50;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const END_64_MARK = 0x06064b50;
const END_64_BYTES = 56;
const LOCATOR_64_MARK = 0x07064b50;
const LOCATOR_64_BYTES = 20;
const ENTRY_MARK = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_MARK = 0x04034b50;
const LOCAL_BYTES = 30;
const ZIP64_FIELD = 0x0001;
/** A 32-bit field with this value stands in the ZIP64 field. */
const IN_ZIP64 = 0xffffffff;
const ENCRYPTED_FLAG = 0x1;
const UTF8_FLAG = 0x800;
const STORED = 0;
const DEFLATED = 8;

export type ZipEntry = {
  /** As the archive says, with `/` between folders. Not a path to open or write. */
  readonly name: string;
  /** Bytes after unpacking. */
  readonly size: number;
};

type Entry = ZipEntry & {
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packedSize: number;
  readonly offset: number;
  /** Where the next entry, or the directory, begins. */
  readonly limit: number;
};

type Told = Partial<Pick<Reading, "signal" | "advanced">>;

/** Opens an archive. Throws when it is damaged, split over several files, or made to unpack to more than 20 GiB. */
export async function openZip(path: string, told: Told = {}): Promise<ZipArchive> {
  const file = await open(path, "r");
  try {
    return new ZipArchive(file, await readDirectory(file), told);
  } catch (cause) {
    await file.close();
    throw cause;
  }
}

export class ZipArchive implements AsyncDisposable {
  /** The files, without folders, in the order of the directory. */
  readonly entries: readonly ZipEntry[];
  readonly #file: FileHandle;
  readonly #byName: ReadonlyMap<string, Entry>;
  readonly #told: Told;

  constructor(file: FileHandle, entries: readonly Entry[], told: Told) {
    this.#file = file;
    // Of two entries with one name the later counts, as when unzip writes one over the other.
    this.#byName = new Map(entries.map((entry) => [entry.name, entry]));
    this.entries = [...this.#byName.values()].map(({ name, size }) => ({ name, size }));
    this.#told = told;
  }

  /** The unpacked bytes. Throws for an encrypted, damaged or oversized entry, at the latest when its last byte was given. */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const entry = this.#byName.get(name);
    if (entry === undefined) throw new Error(`the archive has no entry '${name}'`);
    const refusal = refusalOf(entry);
    if (refusal !== undefined) throw new Error(`entry '${name}' ${refusal}`);
    const packed = this.#packed(entry);
    let size = 0;
    let crc = 0;
    for await (const chunk of entry.method === STORED ? packed : transformed(packed, createInflateRaw())) {
      size += chunk.length;
      if (size > entry.size)
        throw new Error(`entry '${name}' unpacks to more than the ${entry.size} bytes it declares`);
      crc = crc32(chunk, crc);
      yield chunk;
    }
    if (size !== entry.size || crc !== entry.crc) throw new Error(`entry '${name}' is damaged`);
  }

  async *#packed(entry: Entry): AsyncGenerator<Uint8Array> {
    const header = await bytesAt(this.#file, entry.offset, LOCAL_BYTES);
    if (header.readUInt32LE(0) !== LOCAL_MARK) throw new Error(`entry '${entry.name}' is damaged`);
    let at = entry.offset + LOCAL_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
    const end = at + entry.packedSize;
    if (end > entry.limit) throw new Error(`entry '${entry.name}' overlaps another`);
    while (at < end) {
      this.#told.signal?.throwIfAborted();
      const chunk = await bytesAt(this.#file, at, Math.min(CHUNK_BYTES, end - at));
      at += chunk.length;
      this.#told.advanced?.(chunk.length);
      yield chunk;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

function refusalOf({ flags, method, size, packedSize }: Entry): string | undefined {
  if ((flags & ENCRYPTED_FLAG) !== 0) return "is encrypted";
  if (method !== STORED && method !== DEFLATED)
    return `is packed with method ${method}, which is not supported`;
  if (size > RATIO_MATTERS_FROM && size > packedSize * MAX_RATIO)
    return `unpacks to more than ${MAX_RATIO} times its size`;
  return undefined;
}

type Directory = { readonly offset: number; readonly size: number; readonly count: number };

async function readDirectory(file: FileHandle): Promise<Entry[]> {
  const { size, offset, count } = await findDirectory(file);
  if (count > MAX_ENTRIES) throw new Error(`the archive has more than ${MAX_ENTRIES} entries`);
  if (size > MAX_DIRECTORY_BYTES) throw new Error("the directory of the archive is too large");
  const bytes = await bytesAt(file, offset, size);
  const entries: Entry[] = [];
  let at = 0;
  for (let number = 0; number < count; number++) {
    if (at + ENTRY_BYTES > bytes.length || bytes.readUInt32LE(at) !== ENTRY_MARK) throw damaged();
    const nameEnd = at + ENTRY_BYTES + bytes.readUInt16LE(at + 28);
    const fieldsEnd = nameEnd + bytes.readUInt16LE(at + 30);
    const next = fieldsEnd + bytes.readUInt16LE(at + 32);
    if (next > bytes.length) throw damaged();
    const flags = bytes.readUInt16LE(at + 8);
    const sizes = zip64Values(bytes.subarray(nameEnd, fieldsEnd), [
      bytes.readUInt32LE(at + 24),
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 42),
    ]);
    entries.push({
      name: nameOf(bytes.subarray(at + ENTRY_BYTES, nameEnd), flags),
      flags,
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      size: sizes[0] ?? 0,
      packedSize: sizes[1] ?? 0,
      offset: sizes[2] ?? 0,
      limit: offset,
    });
    at = next;
  }
  const total = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (total > MAX_UNPACKED_BYTES) throw new Error("the archive unpacks to more than 20 GiB");
  return withoutOverlaps(entries).filter(({ name }) => !name.endsWith("/"));
}

/** Entries that share bytes are how a small archive unpacks to a huge one. */
function withoutOverlaps(entries: readonly Entry[]): Entry[] {
  const offsets = entries.map(({ offset }) => offset).sort((a, b) => a - b);
  const nextOf = new Map(offsets.map((offset, place) => [offset, offsets[place + 1]]));
  if (nextOf.size !== offsets.length) throw new Error("entries of the archive overlap");
  return entries.map((entry) => {
    const limit = Math.min(nextOf.get(entry.offset) ?? entry.limit, entry.limit);
    if (entry.offset + LOCAL_BYTES + entry.packedSize > limit)
      throw new Error(`entry '${entry.name}' overlaps another`);
    return { ...entry, limit };
  });
}

async function findDirectory(file: FileHandle): Promise<Directory> {
  const { size: fileSize } = await file.stat();
  const tailBytes = Math.min(fileSize, END_BYTES + MAX_COMMENT_BYTES + LOCATOR_64_BYTES);
  const tail = await bytesAt(file, fileSize - tailBytes, tailBytes);
  const at = endRecordIn(tail);
  if (at === undefined) throw new Error("not a ZIP archive, or the end of it is missing");
  const parts = [tail.readUInt16LE(at + 4), tail.readUInt16LE(at + 6)];
  if (parts.some((part) => part !== 0 && part !== 0xffff))
    throw new Error("the archive is split over several files");
  const short = {
    count: tail.readUInt16LE(at + 10),
    size: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
  };
  const locator = at - LOCATOR_64_BYTES;
  if (locator < 0 || tail.readUInt32LE(locator) !== LOCATOR_64_MARK) {
    if (short.offset + short.size > fileSize) throw damaged();
    return short;
  }
  const record = await bytesAt(file, wide(tail, locator + 8), END_64_BYTES);
  if (record.readUInt32LE(0) !== END_64_MARK) throw damaged();
  const long = { count: wide(record, 32), size: wide(record, 40), offset: wide(record, 48) };
  if (long.offset + long.size > fileSize) throw damaged();
  return long;
}

/** The last place where the record of the end stands and its comment reaches to the end of the file. */
function endRecordIn(tail: Buffer): number | undefined {
  for (let at = tail.length - END_BYTES; at >= 0; at--)
    if (tail.readUInt32LE(at) === END_MARK && at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length)
      return at;
  return undefined;
}

/** The values, with those that did not fit into 32 bits taken from the ZIP64 field, where they stand in the same order. */
function zip64Values(fields: Buffer, values: readonly number[]): number[] {
  let at = 0;
  while (at + 4 <= fields.length && fields.readUInt16LE(at) !== ZIP64_FIELD)
    at += 4 + fields.readUInt16LE(at + 2);
  at += 4;
  return values.map((value) => {
    if (value !== IN_ZIP64) return value;
    if (at + 8 > fields.length) throw damaged();
    at += 8;
    return wide(fields, at - 8);
  });
}

function wide(bytes: Buffer, at: number): number {
  const value = Number(bytes.readBigUInt64LE(at));
  if (!Number.isSafeInteger(value)) throw damaged();
  return value;
}

/** Without control characters, because names appear in reports on a terminal. */
function nameOf(bytes: Uint8Array, flags: number): string {
  return decoded(bytes, flags).replaceAll(/\p{Cc}/gu, "\uFFFD");
}

function decoded(bytes: Uint8Array, flags: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Old archives name files in the code page of the machine; only its ASCII half is the same everywhere.
    return new TextDecoder((flags & UTF8_FLAG) === 0 ? "latin1" : "utf-8").decode(bytes);
  }
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  // A new buffer each time: the caller may keep what it was given.
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
  if (bytesRead < length) throw damaged();
  return buffer;
}

function damaged(): Error {
  return new Error("the ZIP archive is damaged");
}
