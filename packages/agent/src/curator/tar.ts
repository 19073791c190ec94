// A small part of tar: files, directories and symbolic links. Writes ustar, with pax names for long and non-ASCII names; also reads
// GNU's long names and archives of Python's tarfile. Pure.
import { gunzipSync, gzipSync } from "node:zlib";

export type TarEntry = {
  /** Relative, with `/`. */
  readonly path: string;
  readonly mode: number;
  /** Seconds. */
  readonly mtime: number;
  /** An entry without data and link is a directory. */
  readonly data?: Uint8Array;
  /** The target of a symbolic link, at most 100 bytes. */
  readonly link?: string;
};

const BLOCK = 512;
/** Many times the size of a home's skills; a damaged or hostile archive must not fill the memory. */
const MOST_BYTES = 512 * 1024 * 1024;

export function packTarGz(entries: readonly TarEntry[]): Uint8Array {
  const parts = entries.flatMap((entry) => [...paxParts(entry), ...entryParts(entry)]);
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(BLOCK * 2)]));
}

/** Throws when the archive is damaged. Skips hard links and devices, which no skill needs. */
export function unpackTarGz(bytes: Uint8Array): TarEntry[] {
  const tar = gunzipSync(bytes, { maxOutputLength: MOST_BYTES });
  const entries: TarEntry[] = [];
  let longName: string | undefined;
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return entries;
    if (octal(header, 148, 8) !== checksum(header))
      throw new Error("the archive is damaged: a checksum is wrong");
    const size = octal(header, 124, 12);
    const data = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (data.length < size) throw new Error("the archive is damaged: it ends too early");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === "x") longName = paxPath(data) ?? longName;
    else if (type === "L") longName = text(data, 0, data.length);
    else {
      const path = (longName ?? headerPath(header)).replace(/^\.\//, "").replace(/\/+$/, "");
      const common = { path, mode: octal(header, 100, 8), mtime: octal(header, 136, 12) };
      if (path !== "" && path !== "." && type === "5") entries.push(common);
      if (path !== "" && type === "2") entries.push({ ...common, link: text(header, 157, 100) });
      if (path !== "" && (type === "0" || type === "\0"))
        entries.push({ ...common, data: Buffer.from(data) });
      longName = undefined;
    }
  }
  throw new Error("the archive is damaged: its end is missing");
}

/** Whether the path stays below the directory that the archive is unpacked into. */
export function isSafePath(path: string, platform: string = process.platform): boolean {
  const parts = path.split("/");
  // Except on Windows, a backslash is an ordinary character of a name.
  const isSplit = platform === "win32" && path.includes("\\");
  return (
    !isSplit &&
    !/^[A-Za-z]:|\0/.test(path) &&
    parts.every((part) => part !== "" && part !== "." && part !== "..")
  );
}

function entryParts({ path, mode, mtime, data, link }: TarEntry): Buffer[] {
  if (link !== undefined) return [headerOf({ name: path, mode, mtime, size: 0, type: "2", link })];
  const name = data ? path : `${path}/`;
  const header = headerOf({ name, mode, mtime, size: data?.length ?? 0, type: data ? "0" : "5" });
  return data ? [header, Buffer.from(data), padding(data.length)] : [header];
}

/** The extra record before an entry whose name does not fit into the plain header. */
function paxParts({ path, mtime }: TarEntry): Buffer[] {
  if (Buffer.byteLength(path) < 99 && /^[\x20-\x7e]+$/.test(path)) return [];
  const value = ` path=${path}\n`;
  const length = Buffer.byteLength(value);
  let total = length + String(length).length;
  if (String(total).length > String(length).length) total = length + String(total).length;
  const body = Buffer.from(`${total}${value}`);
  const header = headerOf({ name: "PaxHeader", mode: 0o600, mtime, size: body.length, type: "x" });
  return [header, body, padding(body.length)];
}

type Header = {
  readonly name: string;
  readonly mode: number;
  readonly mtime: number;
  readonly size: number;
  readonly type: string;
  readonly link?: string;
};

function headerOf({ name, mode, mtime, size, type, link = "" }: Header): Buffer {
  const header = Buffer.alloc(BLOCK);
  const number = (value: number, at: number, length: number): void => {
    header.write(
      `${Math.max(0, Math.trunc(value))
        .toString(8)
        .padStart(length - 1, "0")}\0`,
      at,
      length,
      "latin1",
    );
  };
  header.write(/^[\x20-\x7e]*$/.test(name) ? name.slice(0, 100) : "long-name", 0, 100, "latin1");
  number(mode & 0o7777, 100, 8);
  number(0, 108, 8);
  number(0, 116, 8);
  number(size, 124, 12);
  number(mtime, 136, 12);
  header.write(type, 156, 1, "latin1");
  header.write(link, 157, 100, "utf8");
  header.write("ustar\u000000", 257, 8, "latin1");
  number(checksum(header), 148, 7);
  header.write(" ", 155, 1, "latin1");
  return header;
}

/** The sum of all bytes, with spaces in the place of the sum itself. */
function checksum(header: Uint8Array): number {
  return header.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 32 : byte), 0);
}

function octal(header: Uint8Array, at: number, length: number): number {
  const value = Number.parseInt(text(header, at, length).trim() || "0", 8);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error("the archive is damaged: a number is wrong");
  return value;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  const piece = Buffer.from(bytes.subarray(at, at + length));
  const end = piece.indexOf(0);
  return piece.subarray(0, end < 0 ? piece.length : end).toString("utf8");
}

function headerPath(header: Uint8Array): string {
  const prefix = text(header, 257, 5) === "ustar" ? text(header, 345, 155) : "";
  const name = text(header, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Records are `<length> <key>=<value>\n`, the length counted in bytes. */
function paxPath(data: Uint8Array): string | undefined {
  let found: string | undefined;
  const bytes = Buffer.from(data);
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.subarray(at, space).toString("latin1"));
    if (space < 0 || !Number.isSafeInteger(length) || length <= 0) return found;
    const record = bytes.subarray(space + 1, at + length - 1).toString("utf8");
    if (record.startsWith("path=")) found = record.slice(5);
    at += length;
  }
  return found;
}

function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}
