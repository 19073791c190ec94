// Which files of this computer a model may send to a memory service. A model can be talked into sending any file, so it may take those of
// the working directory and, for the owner, those of their home directory, and never keys, passwords, or what belongs to Hermes.
import { openAsBlob, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { describeCause, err, errnoCode, ok, type Result } from "../../../lib/index.ts";

export const MAX_UPLOAD_BYTES = 50 * 2 ** 20;

export type LocalFile = {
  readonly name: string;
  readonly size: number;
  /** Read from the disk while it is sent. */
  readonly blob: Blob;
};

export type UploadPlaces = {
  /** The Hermes home: conversations of all users, keys, settings. */
  readonly home: string;
  /** A user of a gateway may only take files of the working directory. */
  readonly isOwner: boolean;
  /** Default: those of this process. */
  readonly workingDirectory?: string;
  readonly userHome?: string;
};

const SECRET_FOLDERS: ReadonlySet<string> = new Set([
  ".git",
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".kube",
  ".docker",
  ".password-store",
  "gcloud",
  "keyrings",
]);

const SECRET_NAMES = [
  /^\.env/,
  /^\.?(?:netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|vault-token)$/,
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)|credentials|auth\.json$|secrets?\.)/,
  /\.(?:pem|key|p12|pfx|p8|jks|keystore|kdbx|ppk|gpg|asc|ovpn)$/,
];

/** The file, opened; or why it may not be sent, in one or two sentences. */
export async function openForUpload(path: string, places: UploadPlaces): Promise<Result<LocalFile, string>> {
  const { workingDirectory = process.cwd(), userHome = homedir() } = places;
  const expanded = path === "~" || path.startsWith("~/") ? join(userHome, path.slice(1)) : path;
  try {
    // The real path decides, so that a link in an allowed folder leads nowhere else.
    const real = realpathSync(resolve(workingDirectory, expanded));
    const stats = statSync(real);
    if (!stats.isFile()) return err(`Not a file: ${path}. Only single files can be uploaded.`);
    const refusal = refusalOf(real, { ...places, workingDirectory, userHome });
    if (refusal !== undefined) return err(`${path} is not uploaded: ${refusal}`);
    if (stats.size > MAX_UPLOAD_BYTES)
      return err(
        `${path} is not uploaded: it has ${stats.size} bytes, and at most ${MAX_UPLOAD_BYTES} are allowed.`,
      );
    const name = basename(real);
    return ok({ name, size: stats.size, blob: await openAsBlob(real, { type: mimeType(name) }) });
  } catch (cause) {
    const code = errnoCode(cause);
    if (["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"].includes(code ?? ""))
      return err(`File not found: ${path}`);
    return err(`${path} cannot be read: ${describeCause(cause)}.`);
  }
}

function refusalOf(
  real: string,
  { home, isOwner, workingDirectory, userHome }: Required<UploadPlaces>,
): string | undefined {
  const directory = realOf(workingDirectory);
  const isInDirectory = isWithin(directory, real) && directory !== parse(directory).root;
  const isAllowed = isInDirectory || (isOwner && isWithin(realOf(userHome), real));
  if (!isAllowed)
    return `it is outside the working directory${isOwner ? " and the home directory" : ""}. Copy it there first if the user wants that.`;
  const hermes = realOf(home);
  // A working directory that the agent was given inside the Hermes home is its own.
  const isWorkplace = isInDirectory && directory !== hermes && isWithin(hermes, directory);
  if (isWithin(hermes, real) && !isWorkplace)
    return "it belongs to Hermes, which keeps keys and the conversations of all users there.";
  const parts = real.toLowerCase().split(sep);
  const name = parts.at(-1) ?? "";
  if (
    parts.slice(0, -1).some((part) => SECRET_FOLDERS.has(part)) ||
    SECRET_NAMES.some((rule) => rule.test(name))
  )
    return "files with keys, passwords and repository data are never sent.";
  return undefined;
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path); // it does not exist, so nothing is in it
  }
}

function isWithin(directory: string, path: string): boolean {
  const between = relative(directory, path);
  return between === "" || (between !== ".." && !between.startsWith(`..${sep}`) && !isAbsolute(between));
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  xml: "application/xml",
  json: "application/json",
  yaml: "application/yaml",
  yml: "application/yaml",
  pdf: "application/pdf",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
};

function mimeType(name: string): string {
  return MIME_TYPES[name.toLowerCase().split(".").at(-1) ?? ""] ?? "application/octet-stream";
}
