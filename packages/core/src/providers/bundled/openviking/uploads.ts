// Local files and folders that the model asks to add as resources. The model names the path, so a policy decides: only below the allowed
// folders, no links, no version control data, no keys and no environment files, at most 50 MB and 5,000 files. A folder is packed as a
// zip archive in memory; no file is written.
import { constants, lstatSync, openAsBlob, realpathSync, statSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { basename, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32, deflateRawSync } from "node:zlib";
import { describeCause } from "../../../lib/index.ts";
import { ToolRefusal } from "../../kit/networked/service.ts";

export type UploadPolicy = {
  /** Allowed folders; none: the working folder. */
  readonly roots: readonly string[];
  /** The home of this program: its files are never uploaded. */
  readonly home: string;
  /** For `~`. */
  readonly userHome: string;
};

/** Where a resource comes from. */
export type Source =
  /** The server fetches it. */
  { readonly kind: "remote"; readonly path: string } | { readonly kind: "local"; readonly path: string };

export type Upload = { readonly blob: Blob; readonly fileName: string; readonly sourceName: string };

const MAX_BYTES = 50 * 2 ** 20;
const MAX_FILES = 5_000;

const REMOTE = /^(?:https?:\/\/|git@|ssh:\/\/|git:\/\/)/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const DRIVE = /^[a-z]:[\\/]/i;
const LOOKS_LOCAL = /[\\/]|^~$/;

/** Throws `ToolRefusal` for a path that cannot exist here. */
export function sourceOf(given: string, { userHome }: UploadPolicy): Source {
  if (REMOTE.test(given)) return { kind: "remote", path: given };
  if (/^file:/i.test(given)) return { kind: "local", path: localPathOf(given) };
  if (SCHEME.test(given) && !DRIVE.test(given)) return { kind: "remote", path: given };
  const path = resolve(/^~(?=$|[\\/])/.test(given) ? join(userHome, given.slice(1)) : given);
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
  const real = allowedPath(path, policy);
  const sourceName = basename(real);
  try {
    const stats = statSync(real);
    if (stats.isDirectory()) {
      const blob = new Blob([zipOf(await filesIn(real, policy))]);
      return { blob, fileName: `${sourceName}.zip`, sourceName };
    }
    if (!stats.isFile()) throw new ToolRefusal(`Unsupported local resource path: ${path}`);
    if (stats.size > MAX_BYTES) throw tooLarge(path);
    return { blob: await openAsBlob(real), fileName: sourceName, sourceName };
  } catch (cause) {
    if (cause instanceof ToolRefusal) throw cause;
    throw new ToolRefusal(`Local resource path cannot be read: ${path} (${describeCause(cause)})`);
  }
}

// ---- What may be uploaded ----

const PRIVATE_FOLDERS = /^\.(?:git|hg|svn|ssh|gnupg|aws|azure|kube|docker|gcloud|password-store)$/i;
const PRIVATE_FILES =
  /^(?:\.env.*|.*\.env|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.git|id_(?:rsa|dsa|ecdsa|ed25519).*|.*\.(?:pem|key|p12|pfx|p8|ppk|jks|keystore|kdbx?|asc|gpg|ovpn)|(?:client_)?secrets?(?:\..*)?|credentials(?:\..*)?)$/i;

export function isPrivateName(name: string): boolean {
  return PRIVATE_FOLDERS.test(name) || PRIVATE_FILES.test(name);
}

/** The path without links, if it is below an allowed folder and nothing on the way is private. */
function allowedPath(path: string, { roots, home }: UploadPolicy): string {
  const real = realPath(path);
  if (real === undefined || !allowedFolders(roots).some((root) => isWithin(root, real)))
    throw new ToolRefusal(
      `Local resource path is not allowed: ${path}. Only files below ${roots.length === 0 ? "the working folder" : "the folders of upload_roots"} are uploaded; upload_roots in openviking.json allows others.`,
    );
  const ownHome = home === "" ? undefined : realPath(home);
  const folders = real.split(sep);
  const isPrivate = isPrivateName(folders.pop() ?? "") || folders.some((name) => PRIVATE_FOLDERS.test(name));
  if (isPrivate || (ownHome !== undefined && isWithin(ownHome, real)))
    throw new ToolRefusal(
      `Local resource path is not allowed: ${path}. Keys, environment files, version control data and the home of this program are not uploaded.`,
    );
  return real;
}

/** A service that was started in the root of the file system has no working folder. */
function allowedFolders(roots: readonly string[]): readonly string[] {
  const asked = roots.length > 0 ? roots : [process.cwd()].filter((folder) => folder !== parse(folder).root);
  return asked.flatMap((root) => realPath(resolve(root)) ?? []);
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined; // missing, or a link to something missing
  }
}

function isWithin(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below);
}

function tooLarge(path: string): ToolRefusal {
  return new ToolRefusal(
    `Local resource path is too large: ${path}. At most ${MAX_BYTES / 2 ** 20} MB and ${MAX_FILES} files are uploaded.`,
  );
}

// ---- Folders ----

type ArchiveFile = { readonly name: string; readonly bytes: Uint8Array };

/** Regular files below the folder, in the order of their names. Links are not followed. */
async function filesIn(folder: string, { home }: UploadPolicy): Promise<readonly ArchiveFile[]> {
  const ownHome = home === "" ? undefined : realPath(home);
  const files: ArchiveFile[] = [];
  let total = 0;
  const walk = async (directory: string, prefix: string): Promise<void> => {
    const entries = await readdir(directory, { withFileTypes: true });
    for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = join(directory, entry.name);
      if (isPrivateName(entry.name) || path === ownHome) continue;
      if (entry.isDirectory()) await walk(path, `${prefix}${entry.name}/`);
      else if (entry.isFile()) {
        const bytes = await readRegular(path, MAX_BYTES - total);
        total += bytes?.length ?? 0;
        if (bytes === "too-large" || files.length >= MAX_FILES) throw tooLarge(folder);
        if (bytes !== undefined) files.push({ name: `${prefix}${entry.name}`, bytes });
      }
    }
  };
  await walk(folder, "");
  if (files.length === 0) throw new ToolRefusal(`Local resource path has no files to upload: ${folder}`);
  return files;
}

/** Undefined when it has become a link or something else since it was listed. */
async function readRegular(path: string, maxBytes: number): Promise<Buffer | "too-large" | undefined> {
  await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(
    () => undefined,
  );
  const stats = await file?.stat();
  if (file === undefined || stats === undefined || !stats.isFile()) return undefined;
  if (stats.size > maxBytes) return "too-large";
  const bytes = await file.readFile();
  return bytes.length > maxBytes ? "too-large" : bytes;
}

// ---- Zip archives ----

const UTF8_NAMES = 0x0800;
const VERSION = 20;
const STORED = 0;
const DEFLATED = 8;
/** 1 January 1980: archives of the same files are the same. */
const DATE = 0x0021;

/** Names have `/` as separator. Within the limits above no field of 32 bits overflows. */
export function zipOf(files: readonly ArchiveFile[]): Buffer<ArrayBuffer> {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of files) {
    const packed = deflateRawSync(bytes);
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
