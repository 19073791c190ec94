// The five tools for files. RetainDB keeps files per project, not per user: files of a gateway's user are below a folder of their own, and
// nobody else gets at them through these tools.
import { posix } from "node:path";
import { isRecord, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { readBoolean, readNumber } from "@hermes-memory/core/internal/providers";
import { ServiceError } from "../kit/http.ts";
import { fieldsOf, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import { openFile, type UploadPolicy } from "../kit/networked/local-files.ts";
import { type ServiceTool, ToolRefusal } from "../kit/networked/service.ts";
import { type Arguments, optionalText, tool } from "../kit/networked/tools.ts";
import { forModel } from "./texts.ts";
import { choice, requiredId, requiredText } from "./tools.ts";
import { isUnknown, LIST_LIMIT, type RetainDbWire } from "./wire.ts";

const USERS_FOLDER = "/hermes-users/";
const SCOPES = ["PROJECT", "USER", "ORG"] as const;
const DEFAULT_LIST = 50;
const READ_CHARS = 32_000;
const READ_BYTES = 16 * 2 ** 20;
const PATH_CHARS = 1_000;
const TEXT_NAMES = /\.(?:txt|md|json|csv|ya?ml|xml|html)$/i;
const FILE_ID = { type: "string", description: "The id of the file, from retaindb_list_files." };
const NO_FILES = "This RetainDB server keeps no files.";

export type FilePlace = {
  readonly wire: RetainDbWire;
  /** Of the memory: everyone, if all users share one. */
  readonly isOwner: boolean;
  /** Which local files may be uploaded. */
  readonly uploads: UploadPolicy;
};

export function fileTools(place: FilePlace): readonly ServiceTool[] {
  const { wire, isOwner } = place;
  return [
    tool({
      name: "retaindb_upload_file",
      description:
        "Upload a file of this computer to RetainDB, where it stays for later conversations. At most 50 MB.",
      isWriting: true,
      properties: {
        local_path: { type: "string", description: "Path of the file on this computer." },
        remote_path: { type: "string", description: "Path at RetainDB (default: / and the file's name)." },
        scope: { type: "string", enum: SCOPES, description: "Who may use it (default PROJECT)." },
        ingest: { type: "boolean", description: "Also make memories of its contents (default false)." },
      },
      required: ["local_path"],
      run: (args, signal) => upload(place, args, signal),
    }),
    tool({
      name: "retaindb_list_files",
      description: "List the files at RetainDB with their ids, paths and sizes.",
      properties: {
        prefix: { type: "string", description: "Only files whose path begins with this." },
        limit: { type: "integer", description: `How many at most (default ${DEFAULT_LIST}).` },
      },
      run: async (args, signal) => {
        const limit = Math.floor(readNumber(args.limit, DEFAULT_LIST, { min: 1, max: LIST_LIMIT }));
        const prefix = optionalText(args, "prefix");
        const shown = prefix === "" && isOwner ? "" : remotePath(place, prefix);
        const answer = fieldsOf(await supported(wire, wire.listFiles(shown, limit, signal), signal));
        return forModel({ ...answer, files: recordsOf(answer.files).filter((file) => isOwn(place, file)) });
      },
    }),
    tool({
      name: "retaindb_read_file",
      description: `Read a text file at RetainDB: its first ${READ_CHARS} characters.`,
      properties: { file_id: FILE_ID },
      required: ["file_id"],
      run: async (args, signal) => read(wire, await ownFile(place, args, signal), signal),
    }),
    tool({
      name: "retaindb_ingest_file",
      description: "Make memories of the contents of a file at RetainDB, so that search finds them.",
      isWriting: true,
      properties: { file_id: FILE_ID },
      required: ["file_id"],
      run: async (args, signal) => {
        const { id } = await ownFile(place, args, signal);
        return forModel(await wire.ingestFile(id, agentFor(place), signal));
      },
    }),
    tool({
      name: "retaindb_delete_file",
      description: "Delete a file at RetainDB.",
      isWriting: true,
      properties: { file_id: FILE_ID },
      required: ["file_id"],
      run: async (args, signal) => {
        const { id } = await ownFile(place, args, signal);
        return forModel((await wire.deleteFile(id, signal)) ?? { success: true, deleted: id });
      },
    }),
  ];
}

/** Deletes the files of a gateway's user; resolves to how many there are. */
export async function eraseFiles(place: FilePlace, isDryRun: boolean, signal: AbortSignal): Promise<number> {
  const { wire } = place;
  const erased = new Set<string>();
  while (await wire.hasFiles(signal)) {
    const answer = fieldsOf(await wire.listFiles(remotePath(place, ""), LIST_LIMIT, signal));
    const own = recordsOf(answer.files).filter((file) => isOwn(place, file));
    const ids = own.map(({ id }) => textIn(id)).filter((id) => id !== "" && !erased.has(id));
    if (isDryRun) return Math.max(ids.length, numberIn(answer.total) ?? 0);
    if (ids.length === 0) break;
    for (const id of ids) {
      await wire.deleteFile(id, signal);
      erased.add(id);
    }
  }
  return erased.size;
}

async function upload(place: FilePlace, args: Arguments, signal: AbortSignal): Promise<object> {
  const { wire, uploads } = place;
  const scope = choice(args, "scope", SCOPES, "PROJECT");
  if (scope === "ORG" && !uploads.isOwner)
    throw new ToolRefusal("scope ORG is only for the owner of this memory. Use PROJECT or USER.");
  const opened = await openFile(requiredText(args, "local_path"), uploads);
  if (!opened.ok) throw new ToolRefusal(opened.error);
  const { name } = opened.value;
  const blob = opened.value.blob.slice(0, opened.value.blob.size, mimeType(name));
  const path = remotePath(place, optionalText(args, "remote_path") || `/${name}`);
  const answer = await supported(wire, wire.upload({ blob, name, path, scope }, signal), signal);
  const uploaded = forModel(answer);
  const id = textIn(fieldsOf(fieldsOf(answer).file).id);
  if (!readBoolean(args.ingest, false) || id === "") return uploaded;
  try {
    return { ...uploaded, ingest: forModel(await wire.ingestFile(id, agentFor(place), signal)) };
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    return { ...uploaded, ingest: { error: cause.message } }; // the file is there
  }
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

type RemoteFile = { readonly id: string; readonly fields: Readonly<Record<string, unknown>> };

async function read(wire: RetainDbWire, { id, fields }: RemoteFile, signal: AbortSignal): Promise<object> {
  const [name, mime] = [textIn(fields.name), textIn(fields.mime_type)];
  const about = { file_id: id, rdb_uri: textIn(fields.rdb_uri), name };
  const isText = mime.startsWith("text/") || TEXT_NAMES.test(name);
  if (!isText || (numberIn(fields.size) ?? 0) > READ_BYTES) {
    const why = isText ? "It is too large to be read." : `It is not a text file (${mime || "unknown type"}).`;
    return {
      ...about,
      content: null,
      note: `${why} Use retaindb_ingest_file to make its contents searchable.`,
    };
  }
  const text = new TextDecoder().decode(await wire.fileContent(id, READ_BYTES, signal));
  const content = takeCodePoints(text, READ_CHARS);
  return { ...about, content, truncated: content.length < text.length };
}

// ---- Whose file it is ----

/** Where a path that the model names is at the server. */
function remotePath({ wire, isOwner }: FilePlace, path: string): string {
  const asked = posix.normalize(`/${takeCodePoints(path, PATH_CHARS)}`);
  if (isOwner) {
    if (asked.startsWith(USERS_FOLDER)) throw new ToolRefusal(`${USERS_FOLDER} holds files of other users.`);
    return asked;
  }
  const folder = folderOf(wire.scope.user);
  return asked.startsWith(folder) ? asked : posix.join(folder, asked);
}

function folderOf(user: string): string {
  return `${USERS_FOLDER}${user}/`;
}

function isOwn({ wire, isOwner }: FilePlace, { path }: Readonly<Record<string, unknown>>): boolean {
  if (typeof path !== "string") return isOwner;
  return isOwner ? !path.startsWith(USERS_FOLDER) : path.startsWith(folderOf(wire.scope.user));
}

async function ownFile(place: FilePlace, args: Arguments, signal: AbortSignal): Promise<RemoteFile> {
  const id = requiredId(args, "file_id");
  const answer = fieldsOf(await supported(place.wire, place.wire.file(id, signal), signal));
  const fields = isRecord(answer.file) ? answer.file : answer;
  if (!isOwn(place, fields)) throw new ToolRefusal(`File not found: ${id}`);
  return { id, fields };
}

/** The agent's model is shared by all users, so only the owner's files become part of it. */
function agentFor({ wire, isOwner }: FilePlace): string | undefined {
  return isOwner ? wire.scope.agent : undefined;
}

/** A 404 is explained when the server has no files at all. */
async function supported(wire: RetainDbWire, work: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  try {
    return await work;
  } catch (cause) {
    if (isUnknown(cause) && !(await wire.hasFiles(signal))) throw new ToolRefusal(NO_FILES);
    throw cause;
  }
}
