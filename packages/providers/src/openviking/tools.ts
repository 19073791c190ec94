// The five tools of OpenViking. Names, arguments and results are those of the Python edition.
import { lstatSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { codePointLength, pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { ZipFile } from "yazl";
import { type HttpCall, ServiceError } from "../kit/http.ts";
import { type Fields, fieldsOf, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import {
  expandedPath,
  type FolderFile,
  openFileOrFolder,
  type UploadPolicy,
} from "../kit/networked/local-files.ts";
import { type ServiceTool, ToolRefusal } from "../kit/networked/service.ts";
import { fitting, requiredText, tool } from "../kit/networked/tools.ts";
import { isFolder } from "./erase.ts";
import { CATEGORY_FOLDERS, DEFAULT_FOLDER, type VikingMemories } from "./memories.ts";
import { isContainer } from "./places.ts";
import { codeOf, type VikingServer, type Wire } from "./server.ts";

type Deps = {
  readonly server: VikingServer;
  readonly memories: VikingMemories;
  /** The session of the agent, if the server knows it. */
  readonly sessionId: () => string | undefined;
  readonly uploads: UploadPolicy;
  /** Whether the user has a memory apart from the owner's. */
  readonly isApart: boolean;
};

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const MAX_RELATED = 3;
const MAX_ENTRIES = 50;
const MAX_ABSTRACT_CHARS = 1_000;
/** Less than the manager's deadline for a tool. */
const LONGEST_CALL_MS = 110_000;

const text = (description: string) => ({ type: "string", description });

export function vikingTools(deps: Deps): readonly ServiceTool[] {
  const drafts: readonly Parameters<typeof tool>[0][] = [
    {
      name: "viking_search",
      description:
        "Search memories, resources and skills in OpenViking by meaning. Returns viking:// URIs with scores; open one with viking_read.",
      properties: {
        query: text("What to look for."),
        mode: {
          type: "string",
          enum: ["auto", "fast", "deep"],
          description:
            "deep analyses the intent first and takes the conversation into account; default auto.",
        },
        scope: text("URI prefix to search below, for example viking://resources/docs/."),
        limit: {
          type: "integer",
          description: `Most results, 1 to ${MAX_LIMIT} (default ${DEFAULT_LIMIT}).`,
        },
      },
      required: ["query"],
      run: (args, signal) => search(deps, args, signal),
    },
    {
      name: "viking_read",
      description:
        "Read a viking:// URI: abstract (about 100 tokens), overview (about 2,000) or full text. Start small and go deeper when needed.",
      properties: {
        uri: text("The viking:// URI."),
        level: {
          type: "string",
          enum: ["abstract", "overview", "full"],
          description: "How much; default overview.",
        },
      },
      required: ["uri"],
      run: (args, signal) => read(deps, args, signal),
    },
    {
      name: "viking_browse",
      description:
        "Look around in OpenViking like in a file system: list a folder, show its tree, or describe one entry.",
      properties: {
        action: { type: "string", enum: ["tree", "list", "stat"], description: "What to show." },
        path: text("The viking:// URI; default viking://."),
      },
      required: ["action"],
      run: (args, signal) => browse(deps, args, signal),
    },
    {
      name: "viking_remember",
      description: "Store a fact in OpenViking for later conversations.",
      properties: {
        content: text("What to remember."),
        category: {
          type: "string",
          enum: Object.keys(CATEGORY_FOLDERS),
          description: "What kind of memory it is; default preference.",
        },
      },
      required: ["content"],
      isWriting: true,
      failure: "Failed to store memory",
      run: (args, signal) => remember(deps, args, signal),
    },
    {
      name: "viking_add_resource",
      description:
        "Add a web page, git repository, local file or local folder to OpenViking, which reads and indexes it in the background.",
      properties: {
        url: text("URL, git address, or path of a local file or folder."),
        reason: text("Why it is added."),
        to: text("viking:// URI that it gets. Not together with parent."),
        parent: text("viking:// folder to put it into. Not together with to."),
        instruction: text("How the server should process it."),
        wait: { type: "boolean", description: "Wait until it is processed." },
        timeout: { type: "number", description: "Longest wait in seconds." },
      },
      required: ["url"],
      isWriting: true,
      run: (args, signal) => addResource(deps, args, signal),
    },
  ];
  return drafts.map(({ run, ...draft }) =>
    tool({ ...draft, run: (args, signal) => inOurWords(() => run(args, signal), draft.failure) }),
  );
}

/** Errors of the server are answered as `<CODE>: <message>`, as in the Python edition. */
async function inOurWords(run: () => Promise<object>, prefix = ""): Promise<object> {
  try {
    return await run();
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    const { kind, message, detail } = cause.failure;
    const begin = prefix === "" ? "" : `${prefix}: `;
    if (kind === "unreachable" || kind === "timeout" || kind === "paused")
      return { error: `${begin}OpenViking server not connected`, detail: message };
    return { error: begin + (codeOf(cause.failure) === "" ? message : detail) };
  }
}

/** Word for word. */
function required(args: Fields, key: string): string {
  requiredText(args, key, `${key} is required`);
  return textIn(args[key]).toWellFormed();
}

function get(deps: Deps, path: string, uri: string, signal: AbortSignal): Promise<unknown> {
  return deps.server.call({ method: "GET", path: `/api/v1/${path}`, query: { uri }, signal });
}

// ---- viking_search ----

/** Only 0.4 has proved to take an empty target. */
export function findBody(
  wire: Wire,
  { query, scope = "", limit }: { readonly query: string; readonly scope?: string; readonly limit: number },
): object {
  return { query, ...(scope === "" && wire !== "0.4" ? {} : { target_uri: scope }), limit };
}

async function search({ server, sessionId }: Deps, args: Fields, signal: AbortSignal): Promise<object> {
  const query = required(args, "query");
  const { wire } = await server.info();
  const asked = Math.trunc(numberIn(args.limit) ?? DEFAULT_LIMIT);
  const limit = asked >= 1 ? Math.min(asked, MAX_LIMIT) : DEFAULT_LIMIT;
  const body = findBody(wire, { query, scope: textIn(args.scope).toWellFormed(), limit });
  const isDeep = args.mode === "deep";
  const session = isDeep ? sessionId() : undefined;
  const call: HttpCall = {
    method: "POST",
    path: `/api/v1/search/${isDeep ? "search" : "find"}`,
    json: session === undefined ? body : { ...body, session_id: session },
    isRepeatable: true,
    signal,
  };
  return searchResult(await server.call(call), await server.visibility());
}

/** All kinds in one list, by score; a missing score counts as 0. */
export function searchResult(
  answer: unknown,
  isVisible: (uri: string) => boolean = () => true,
): { readonly results: readonly object[]; readonly total: number; readonly truncated?: boolean } {
  const found = fieldsOf(answer);
  const groups = [
    ["memory", found.memories],
    ["resource", found.resources],
    ["skill", found.skills],
  ] as const;
  const all = groups.flatMap(([type, group]) => recordsOf(group).map((context) => ({ type, context })));
  const results = all
    .filter(({ context }) => isVisible(textIn(context.uri)))
    .map(({ type, context }) => ({ type, context, score: numberIn(context.score) ?? 0 }))
    .toSorted((one, other) => other.score - one.score)
    .map(({ type, context, score }) => {
      const related = (Array.isArray(context.relations) ? context.relations : [])
        .map((each) => (typeof each === "string" ? each : textIn(fieldsOf(each).uri)))
        .filter((uri) => uri !== "" && isVisible(uri))
        .slice(0, MAX_RELATED);
      return {
        uri: textIn(context.uri),
        type,
        score: Math.round(score * 1000) / 1000,
        abstract: takeCodePoints(textIn(context.abstract), MAX_ABSTRACT_CHARS),
        ...(related.length === 0 ? {} : { related }),
      };
    });
  const hidden = all.length - results.length;
  const total = Math.max(results.length, (numberIn(found.total) ?? 0) - hidden);
  const shown = fitting(results);
  return { results: shown, total, ...(shown.length < results.length ? { truncated: true } : {}) };
}

// ---- viking_read ----

const LEVEL_CHARS = { abstract: 1_200, overview: 4_000, full: 8_000 } as const;
type Level = keyof typeof LEVEL_CHARS;

/** Names that servers show for the summaries of a folder; they cannot be read as files. */
const SUMMARY_NAME = /\/\.(?:abstract|overview|read|full)\.md$/;

async function read(deps: Deps, args: Fields, signal: AbortSignal): Promise<object> {
  const uri = required(args, "uri");
  if (!(await deps.server.visibility())(uri)) throw ofAnother(uri);
  const level: Level = args.level === "abstract" || args.level === "full" ? args.level : "overview";
  const answer = (resolved: string, content: unknown, fallback = {}) => ({
    uri,
    resolved_uri: resolved,
    level,
    content: shortened(contentOf(content), LEVEL_CHARS[level]),
    ...fallback,
  });
  const readFile = () => get(deps, "content/read", uri, signal);
  if (level === "full") return answer(uri, await readFile());
  if (SUMMARY_NAME.test(uri)) {
    const folder = uri.replace(SUMMARY_NAME, "");
    return answer(folder, await get(deps, `content/${level}`, folder, signal));
  }
  const fallback = { fallback: "content/read" };
  const kind = await kindOf(deps, uri, signal);
  if (kind === "file") return answer(uri, await readFile(), fallback);
  try {
    return answer(uri, await get(deps, `content/${level}`, uri, signal));
  } catch (cause) {
    if (kind === "folder" || !(cause instanceof ServiceError)) throw cause;
    return answer(uri, await readFile(), fallback);
  }
}

/** Undefined when the server cannot say. */
async function kindOf(deps: Deps, uri: string, signal: AbortSignal): Promise<"file" | "folder" | undefined> {
  try {
    const stat = fieldsOf(await get(deps, "fs/stat", uri, signal));
    if (isFolder(stat)) return "folder";
    return stat.isDir === false || stat.is_dir === false || stat.type === "file" ? "file" : undefined;
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    return undefined; // the read that follows reports what is wrong
  }
}

/** A text, or an object with `content` or `text`. */
function contentOf(value: unknown): string {
  if (typeof value === "string") return value;
  const { content, text } = fieldsOf(value);
  return textIn(content) || textIn(text);
}

function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const length = codePointLength(text);
  if (length <= limit) return text;
  return `${takeCodePoints(text, limit)}\n\n[Truncated: ${limit} of ${length} characters are shown.]`;
}

// ---- viking_browse ----

async function browse(deps: Deps, args: Fields, signal: AbortSignal): Promise<object> {
  const action = ["tree", "list", "stat"].find((each) => each === args.action);
  if (action === undefined) throw new ToolRefusal("action is required: tree, list or stat");
  const path = pyStrip(textIn(args.path).toWellFormed()) || "viking://";
  const isVisible = await deps.server.visibility();
  if (!isVisible(path) && !isContainer(path)) throw ofAnother(path);
  const result = await get(deps, `fs/${action === "list" ? "ls" : action}`, path, signal);
  // Summaries of a folder that all users have in common are made of everybody's texts.
  if (action === "stat")
    return isVisible(path) ? fieldsOf(result) : { ...shownEntry(fieldsOf(result)), uri: path, abstract: "" };
  const entries = entriesOf(result)
    .map(shownEntry)
    .filter(({ uri }) => isVisible(uri) || (uri !== "" && isContainer(uri)))
    .map((entry) => (isVisible(entry.uri) ? entry : { ...entry, abstract: "" }));
  return { path, entries: entries.slice(0, MAX_ENTRIES) };
}

function ofAnother(uri: string): ToolRefusal {
  return new ToolRefusal(`PERMISSION_DENIED: ${uri} does not belong to this user.`);
}

function entriesOf(result: unknown): readonly Fields[] {
  const { entries, items, children } = fieldsOf(result);
  return recordsOf([result, entries, items, children].find((list) => Array.isArray(list)));
}

function shownEntry(entry: Fields) {
  const uri = textIn(entry.uri);
  const lastSegment = uri.replace(/\/+$/, "").split("/").at(-1) ?? "";
  return {
    name: textIn(entry.rel_path) || textIn(entry.name) || lastSegment,
    uri,
    type: isFolder(entry) ? "dir" : "file",
    abstract: takeCodePoints(textIn(entry.abstract), MAX_ABSTRACT_CHARS),
  };
}

// ---- viking_remember ----

async function remember({ memories }: Deps, args: Fields, signal: AbortSignal): Promise<object> {
  const text = required(args, "content");
  const folder = Object.entries(CATEGORY_FOLDERS).find(([name]) => name === args.category)?.[1];
  const place = { folder: folder ?? DEFAULT_FOLDER, origin: "tool", text } as const;
  const { answer } = await memories.write(place, signal);
  const bytes = numberIn(fieldsOf(answer).written_bytes) ?? Buffer.byteLength(text);
  return { status: "stored", message: `Memory stored (${bytes}b) and queued for vector indexing.` };
}

// ---- viking_add_resource ----

const TEXT_OPTIONS = ["to", "parent", "reason", "instruction"];

async function addResource(deps: Deps, args: Fields, signal: AbortSignal): Promise<object> {
  const url = pyStrip(required(args, "url"));
  const texts = TEXT_OPTIONS.map((key) => [key, textIn(args[key]).toWellFormed()] as const).filter(
    ([, text]) => text !== "",
  );
  const options = Object.fromEntries(texts);
  if (options.to !== undefined && options.parent !== undefined)
    throw new ToolRefusal("Cannot specify both 'to' and 'parent'");
  if (deps.isApart)
    throw new ToolRefusal(
      "Resources are seen by everyone in the OpenViking account, so only the owner of this home can add them.",
    );
  const source = sourceOf(url, deps.uploads);
  const timeout = numberIn(args.timeout);
  const answer = fieldsOf(
    await deps.server.call({
      method: "POST",
      path: "/api/v1/resources",
      json: {
        ...(source.kind === "remote" ? { path: source.path } : await upload(deps, source.path, signal)),
        ...options,
        ...(typeof args.wait === "boolean" ? { wait: args.wait } : {}),
        ...(timeout === undefined ? {} : { timeout }),
      },
      timeoutMs: LONGEST_CALL_MS,
      signal,
    }),
  );
  return {
    status: "added",
    root_uri: textIn(answer.root_uri),
    message: "Resource added. It is processed in the background; viking_search finds it afterwards.",
  };
}

async function upload(deps: Deps, path: string, signal: AbortSignal): Promise<object> {
  const { blob, fileName, sourceName } = await prepareUpload(path, deps.uploads);
  const form = new FormData();
  form.append("file", blob, fileName);
  const answer = await deps.server.call({
    method: "POST",
    path: "/api/v1/resources/temp_upload",
    form,
    timeoutMs: LONGEST_CALL_MS,
    signal,
  });
  const id = textIn(fieldsOf(answer).temp_file_id);
  if (id === "") throw new ToolRefusal("OpenViking answered the upload without an id of the file.");
  return { temp_file_id: id, source_name: sourceName };
}

// ---- Files and folders to upload ----
// What the model asks to add as a resource: an address for the server, or a local file or folder, which is uploaded. A folder is packed as a
// zip archive in memory; no file is written.

/** Where a resource comes from. */
type Source =
  /** The server fetches it. */
  { readonly kind: "remote"; readonly path: string } | { readonly kind: "local"; readonly path: string };

type Upload = { readonly blob: Blob; readonly fileName: string; readonly sourceName: string };

const REMOTE = /^(?:https?:\/\/|git@|ssh:\/\/|git:\/\/)/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const DRIVE = /^[a-z]:[\\/]/i;
const LOOKS_LOCAL = /[\\/]|^~$/;

/** Throws `ToolRefusal` for a path that cannot exist here. */
function sourceOf(given: string, policy: UploadPolicy): Source {
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
async function prepareUpload(path: string, policy: UploadPolicy): Promise<Upload> {
  const opened = await openFileOrFolder(path, policy);
  if (!opened.ok) throw new ToolRefusal(opened.error);
  const { name } = opened.value;
  if (opened.value.kind === "file") return { blob: opened.value.blob, fileName: name, sourceName: name };
  return { blob: new Blob([await zipOf(opened.value.files)]), fileName: `${name}.zip`, sourceName: name };
}

/** 1 January 1980: archives of the same files are the same. */
const DATE = new Date(1980, 0, 1);

/** Names have `/` as separator. */
export async function zipOf(files: readonly FolderFile[]): Promise<Buffer<ArrayBuffer>> {
  const zip = new ZipFile();
  for (const { name, bytes } of files)
    zip.addBuffer(Buffer.from(bytes), name, { mtime: DATE, forceDosTimestamp: true });
  zip.end();
  return await buffer(zip.outputStream);
}
