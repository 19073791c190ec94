// Reads backups of the skills: a small part of tar (files, directories, symbolic links), as Python's tarfile, GNU tar and version 0.3.0
// write it. Pure.
import { gunzipSync } from "node:zlib";

export type TarEntry = {
  /** Relative, with `/`. */
  readonly path: string;
  readonly mode: number;
  /** An entry without data and link is a directory. */
  readonly data?: Uint8Array;
  /** The target of a symbolic link. */
  readonly link?: string;
};

const BLOCK = 512;
/** Many times the size of a home's skills; a damaged or hostile archive must not fill the memory. */
const MOST_BYTES = 512 * 1024 * 1024;

/** Throws when the archive is damaged or has a path that leads elsewhere. Skips hard links and devices, which no skill needs. */
export function unpackTarGz(bytes: Uint8Array): TarEntry[] {
  const tar = gunzipSync(bytes, { maxOutputLength: MOST_BYTES });
  const entries: TarEntry[] = [];
  let long: { readonly path?: string; readonly linkpath?: string } = {};
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return safe(entries);
    if (octal(header, 148, 8) !== checksum(header)) throw new Error("a checksum is wrong");
    const size = octal(header, 124, 12);
    const data = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (data.length < size) throw new Error("it ends too early");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === "x") long = { ...long, ...paxRecords(data) };
    else if (type === "L") long = { ...long, path: text(data, 0, size) };
    else if (type === "K") long = { ...long, linkpath: text(data, 0, size) };
    else if (type !== "g") {
      const path = (long.path ?? headerPath(header)).replace(/^\.\//, "").replace(/\/+$/, "");
      const common = { path, mode: octal(header, 100, 8) };
      if (type === "5" && path !== "" && path !== ".") entries.push(common);
      if (type === "2") entries.push({ ...common, link: long.linkpath ?? text(header, 157, 100) });
      if (type === "0" || type === "\0") entries.push({ ...common, data });
      long = {};
    }
  }
  throw new Error("its end is missing");
}

/** No file may be written through a link. */
function safe(entries: TarEntry[]): TarEntry[] {
  const links = entries.filter(({ link }) => link !== undefined);
  const odd = entries.find(
    ({ path }) => !isSafePath(path) || links.some((link) => path.startsWith(`${link.path}/`)),
  );
  if (odd) throw new Error("it holds a path that leads elsewhere");
  return entries;
}

/** Whether the path stays below the directory that the archive is unpacked into. */
export function isSafePath(path: string, platform: string = process.platform): boolean {
  // Except on Windows, a backslash is an ordinary character of a name.
  const isSplit = platform === "win32" && path.includes("\\");
  const parts = path.split("/");
  return !isSplit && !/^[A-Za-z]:|\0/.test(path) && parts.every((part) => !/^\.{0,2}$/.test(part));
}

/** The sum of all bytes, with spaces in the place of the sum itself. */
function checksum(header: Uint8Array): number {
  return header.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 32 : byte), 0);
}

function octal(header: Uint8Array, at: number, length: number): number {
  const value = Number.parseInt(text(header, at, length).trim() || "0", 8);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error("a number is wrong");
  return value;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  const piece = Buffer.from(bytes.subarray(at, at + length));
  const end = piece.indexOf(0);
  return piece.subarray(0, end < 0 ? piece.length : end).toString("utf8");
}

function headerPath(header: Uint8Array): string {
  const prefix = text(header, 257, 6) === "ustar" ? text(header, 345, 155) : "";
  const name = text(header, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Records are `<length> <key>=<value>\n`, the length counted in bytes. */
function paxRecords(data: Uint8Array): Record<string, string> {
  const found: Record<string, string> = {};
  const bytes = Buffer.from(data);
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.subarray(at, space).toString("latin1"));
    if (space < 0 || !Number.isSafeInteger(length) || length <= 0) return found;
    const record = bytes.subarray(space + 1, at + length - 1).toString("utf8");
    const equals = record.indexOf("=");
    found[record.slice(0, equals)] = record.slice(equals + 1);
    at += length;
  }
  return found;
}
