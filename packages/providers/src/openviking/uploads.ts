// What the model asks to add as a resource: an address for the server, or a local file or folder, which is uploaded. A folder is packed as a
// zip archive in memory; no file is written.
import { lstatSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";
import {
  expandedPath,
  type FolderFile,
  openFileOrFolder,
  type UploadPolicy,
} from "../kit/networked/local-files.ts";
import { ToolRefusal } from "../kit/networked/service.ts";

/** Where a resource comes from. */
export type Source =
  /** The server fetches it. */
  { readonly kind: "remote"; readonly path: string } | { readonly kind: "local"; readonly path: string };

export type Upload = { readonly blob: Blob; readonly fileName: string; readonly sourceName: string };

const REMOTE = /^(?:https?:\/\/|git@|ssh:\/\/|git:\/\/)/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const DRIVE = /^[a-z]:[\\/]/i;
const LOOKS_LOCAL = /[\\/]|^~$/;

/** Throws `ToolRefusal` for a path that cannot exist here. */
export function sourceOf(given: string, policy: UploadPolicy): Source {
  if (REMOTE.test(given)) return { kind: "remote", path: given };
  if (/^file:/i.test(given)) return { kind: "local", path: localPathOf(given) };
  if (SCHEME.test(given) && !DRIVE.test(given)) return { kind: "remote", path: given };
  const path = expandedPath(given, policy);
  if (exists(path)) return { kind: "local", path };
  if (LOOKS_LOCAL.test(given) || DRIVE.test(given))
    throw new ToolRefusal(`Local resource path does not exist: ${given}`);
  return { kind: "remote", path: given };
}

function localPathOf(uri: string): string {
  const url = URL.parse(uri);
  if (url === null || (url.hostname !== "" && url.hostname !== "localhost"))
    throw new ToolRefusal(`Unsupported non-local file URI: ${uri}`);
  let path: string;
  try {
    path = fileURLToPath(`file://${url.pathname}`);
  } catch {
    throw new ToolRefusal(`Unsupported local resource path: ${uri}`); // for instance an encoded slash
  }
  if (!exists(path)) throw new ToolRefusal(`Local resource path does not exist: ${path}`);
  return path;
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // too long, or with characters that no path has
  }
}

/** The file, or the folder as a zip archive. Throws `ToolRefusal` for a path that may not be uploaded. */
export async function prepareUpload(path: string, policy: UploadPolicy): Promise<Upload> {
  const opened = await openFileOrFolder(path, policy);
  if (!opened.ok) throw new ToolRefusal(opened.error);
  const { name } = opened.value;
  if (opened.value.kind === "file") return { blob: opened.value.blob, fileName: name, sourceName: name };
  return { blob: new Blob([await zipOf(opened.value.files)]), fileName: `${name}.zip`, sourceName: name };
}

// ---- Zip archives ----

const deflated = promisify(deflateRaw);

const UTF8_NAMES = 0x0800;
const VERSION = 20;
const STORED = 0;
const DEFLATED = 8;
/** 1 January 1980: archives of the same files are the same. */
const DATE = 0x0021;

/** Names have `/` as separator. Within the limits of uploads no field of 32 bits overflows. */
export async function zipOf(files: readonly FolderFile[]): Promise<Buffer<ArrayBuffer>> {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of files) {
    const packed = await deflated(bytes);
    const isSmaller = packed.length < bytes.length;
    const data = isSmaller ? packed : bytes;
    const nameBytes = Buffer.from(name);
    // The fields that both headers have: from the version needed to the length of the extra field.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(UTF8_NAMES, 2);
    common.writeUInt16LE(isSmaller ? DEFLATED : STORED, 4);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const rest = Buffer.alloc(14); // comment length, disk, attributes
    rest.writeUInt32LE(offset, 10);
    directory.push(signature(0x02014b50), Buffer.from([VERSION, 0]), common, rest, nameBytes);
    bodies.push(signature(0x04034b50), common, nameBytes, Buffer.from(data));
    offset += 4 + common.length + nameBytes.length + data.length;
  }
  const directoryBytes = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(directoryBytes.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...bodies, directoryBytes, signature(0x06054b50), end]);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
