// Which files of this computer a model may send to a memory service. A model can be talked into sending any file, so it gets at those of the
// working directory and, for the owner of the home, of the folders in `upload_roots`; never at keys, passwords, version control data and
// what belongs to Hermes.
import { constants, openAsBlob, realpathSync, statSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, delimiter, join, parse, resolve, sep } from "node:path";
import { describeCause, err, isWithin, ok, type Result } from "@hermes-memory/core/internal/lib";
import { readText } from "@hermes-memory/core/internal/providers";
import type { ConnectionContext } from "./service.ts";
import { setting } from "./settings.ts";

export const MAX_UPLOAD_BYTES = 50 * 2 ** 20;
const MAX_FILES = 5_000;

export type UploadPolicy = {
  /** The Hermes home: conversations of all users, keys, settings. */
  readonly home: string;
  /** False for a user of a gateway, also when all users share one memory. */
  readonly isOwner: boolean;
  /** Folders beside the working directory, for the owner. */
  readonly roots: readonly string[];
  readonly workingDirectory: string;
  /** The home directory of the account that runs this program. */
  readonly userHome: string;
};

export type LocalFile = {
  readonly kind: "file";
  readonly name: string;
  /** Read from the disk while it is sent. */
  readonly blob: Blob;
};

export type LocalFolder = {
  readonly kind: "folder";
  readonly name: string;
  readonly files: readonly FolderFile[];
};

/** The name is the path below the folder, with `/`. */
export type FolderFile = { readonly name: string; readonly bytes: Uint8Array };

// ---- Settings ----

export const UPLOAD_ROOTS = setting(
  "upload_roots",
  {
    description: `Folders beside the working directory whose files the model may upload, separated by '${delimiter}'`,
  },
  (value): readonly string[] =>
    readText(value, "")
      .split(delimiter)
      .map((root) => root.trim())
      .filter((root) => root !== ""),
);

export function uploadPolicy(
  { home, env, options }: Pick<ConnectionContext, "home" | "env" | "options">,
  roots: readonly string[],
): UploadPolicy {
  return {
    home,
    isOwner: (options.user_id ?? "") === "",
    roots,
    workingDirectory: process.cwd(),
    userHome: env.HOME || env.USERPROFILE || homedir(),
  };
}

// ---- Opening ----

/** A file; or why it may not be sent, in one or two sentences. */
export async function openFile(path: string, policy: UploadPolicy): Promise<Result<LocalFile, string>> {
  return await opened(path, policy, async (real, isFolder) =>
    isFolder ? err(`Not a file: ${path}. Only single files can be uploaded.`) : await readFile(path, real),
  );
}

/** A file, or a folder with its files: without links, and without what the policy forbids. */
export async function openFileOrFolder(
  path: string,
  policy: UploadPolicy,
): Promise<Result<LocalFile | LocalFolder, string>> {
  return await opened<LocalFile | LocalFolder>(path, policy, (real, isFolder) =>
    isFolder ? readFolder(path, real, policy) : readFile(path, real),
  );
}

async function opened<T>(
  path: string,
  policy: UploadPolicy,
  read: (real: string, isFolder: boolean) => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  const asked = expandedPath(path, policy);
  try {
    // The real path decides, so that a link in an allowed folder leads nowhere else. A missing file is only named as such where files may be.
    const real = realOf(asked);
    const refusal = refusalOf(real ?? asked, policy);
    if (refusal !== undefined) return err(`${path} is not uploaded: ${refusal}`);
    if (real === undefined) return err(`File not found: ${path}`);
    const stats = statSync(real);
    if (!stats.isFile() && !stats.isDirectory())
      return err(`${path} is not uploaded: it is neither a file nor a folder.`);
    return await read(real, stats.isDirectory());
  } catch (cause) {
    return err(`${path} cannot be read: ${describeCause(cause)}.`);
  }
}

async function readFile(path: string, real: string): Promise<Result<LocalFile, string>> {
  const blob = await openAsBlob(real);
  return blob.size > MAX_UPLOAD_BYTES ? tooLarge(path) : ok({ kind: "file", name: basename(real), blob });
}

async function readFolder(
  path: string,
  real: string,
  { home }: UploadPolicy,
): Promise<Result<LocalFolder, string>> {
  const hermes = realOf(home);
  const files: FolderFile[] = [];
  let left = MAX_UPLOAD_BYTES;
  /** False when the limits were reached. */
  const walk = async (directory: string, prefix: string): Promise<boolean> => {
    const entries = await readdir(directory, { withFileTypes: true });
    for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const [at, name] = [join(directory, entry.name), prefix + entry.name];
      if (isPrivateName(entry.name) || at === hermes) continue;
      if (entry.isDirectory() && !(await walk(at, `${name}/`))) return false;
      if (!entry.isFile()) continue;
      const bytes = await readRegular(at, left);
      if (bytes === "too-large" || files.length >= MAX_FILES) return false;
      if (bytes === undefined) continue;
      left -= bytes.length;
      files.push({ name, bytes });
    }
    return true;
  };
  if (!(await walk(real, ""))) return tooLarge(path);
  if (files.length === 0) return err(`${path} is not uploaded: it has no files that may be sent.`);
  return ok({ kind: "folder", name: basename(real), files });
}

/** Undefined when it has become a link or something else since it was listed. */
async function readRegular(path: string, maxBytes: number): Promise<Buffer | "too-large" | undefined> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);
  await using file = await open(path, flags).catch(() => undefined);
  const stats = await file?.stat();
  if (file === undefined || stats === undefined || !stats.isFile()) return undefined;
  if (stats.size > maxBytes) return "too-large";
  const bytes = await file.readFile();
  return bytes.length > maxBytes ? "too-large" : bytes;
}

function tooLarge(path: string): Result<never, string> {
  const limit = MAX_UPLOAD_BYTES / 2 ** 20;
  return err(`${path} is not uploaded: at most ${limit} MB and ${MAX_FILES} files are allowed.`);
}

// ---- The policy ----

const PRIVATE_FOLDERS =
  /^(?:\.(?:git|hg|svn|ssh|gnupg|aws|azure|kube|docker|gcloud|password-store|hermes)|gcloud|keyrings)$/i;
const PRIVATE_FILES = [
  /^\.env|\.env$/i,
  /^[._]?(?:netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|vault-token|dockercfg|my\.cnf)$/i,
  /^id_(?:rsa|dsa|ecdsa|ed25519)|_(?:rsa|dsa|ecdsa|ed25519)$/i,
  /^\.?(?:credentials?|secrets?|auth\.json)(?:\..*)?$|^client_secret/i,
  /\.(?:pem|key|p12|pfx|p8|ppk|jks|keystore|keytab|kdbx?|asc|gpg|age|ovpn)$/i,
  /^\..*_history$/i,
];

/** A file or folder of this name is never sent, nor what is in it. */
function isPrivateName(name: string): boolean {
  return PRIVATE_FOLDERS.test(name) || PRIVATE_FILES.some((rule) => rule.test(name));
}

/** `path` is a real path, or that of a missing file. */
function refusalOf(path: string, policy: UploadPolicy): string | undefined {
  const { home, isOwner, roots } = policy;
  const allowed = [
    ...workingFolder(policy),
    ...(isOwner ? roots.flatMap((root) => realOf(expandedPath(root, policy)) ?? []) : []),
  ];
  if (!allowed.some((folder) => isWithin(folder, path)))
    return `it is outside the working directory${isOwner ? " and the folders of the setting upload_roots" : ""}. A home directory and the root of the disk do not count as working directory.`;
  const hermes = realOf(home);
  if (hermes !== undefined && isWithin(hermes, path))
    return "it belongs to Hermes, which keeps keys and the conversations of all users there.";
  if (path.split(sep).some(isPrivateName))
    return "files with keys or passwords, version control data and what belongs to Hermes are never sent.";
  return undefined;
}

/** A service that was started in the root of the disk or in the home directory of its account was not given a folder to work in. */
function workingFolder({ workingDirectory, userHome }: UploadPolicy): readonly string[] {
  const folder = realOf(workingDirectory);
  if (folder === undefined || folder === parse(folder).root) return [];
  return isWithin(folder, realOf(userHome) ?? userHome) ? [] : [folder];
}

/** Absolute, with `~` filled in. */
export function expandedPath(
  path: string,
  { workingDirectory, userHome }: Pick<UploadPolicy, "workingDirectory" | "userHome">,
): string {
  return resolve(
    realOf(workingDirectory) ?? workingDirectory,
    /^~(?=$|[\\/])/.test(path) ? join(userHome, path.slice(1)) : path,
  );
}

/** Without links and as the disk spells it, which matters where names differ in case only. Undefined when it does not exist or cannot be reached. */
function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
