// RetainDB as a memory provider.
import { statSync } from "node:fs";
import { join, posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  codePointLength,
  isRecord,
  pyStrip,
  readTextFile,
  sha256,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";
import {
  type ForgetReport,
  type MemoryProvider,
  readBoolean,
  readSettings as readFile,
  readNumber,
  type SessionSwitchOptions,
  writeSettings,
} from "@hermes-memory/core/internal/providers";
import { ServiceError } from "../kit/http.ts";
import { type Fields, fieldsOf, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import { eraseListed, reportOf } from "../kit/networked/erasing.ts";
import { safeId } from "../kit/networked/identity.ts";
import { openFile, type UploadPolicy, uploadPolicy } from "../kit/networked/local-files.ts";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import {
  type Connection,
  type ConnectionContext,
  type Entries,
  type RecallAsk,
  type Recalled,
  type ServiceTool,
  ToolRefusal,
  type Turn,
} from "../kit/networked/service.ts";
import { type Arguments, optionalText, tool } from "../kit/networked/tools.ts";
import type { Batch, NewItem } from "../kit/outbox/outbox.ts";
import { countRows, moveRows, queuePath, type TurnBody } from "./python-queue.ts";
import { missing, RETAINDB_SETTINGS, type RetainDbSettings, SETTINGS_FILE } from "./settings.ts";
import { contentOf, forModel, levelFor, overlayOf, promptBlock, selfModelOf, synthesisOf } from "./texts.ts";
import { choice, DEFAULT_IMPORTANCE, memoryTools, requiredId, requiredText } from "./tools.ts";
import { BESIDE, isUnknown, LIST_LIMIT, MEMORY_UNITS, memoryIdIn, RetainDbWire, TIMEOUT_MS } from "./wire.ts";

export function createRetainDbProvider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider<RetainDbSettings>(
    {
      name: "retaindb",
      label: "RetainDB",
      settings: RETAINDB_SETTINGS,
      missing,
      connect: (settings, context) => new RetainDbConnection(settings, context),
      backupPaths: (home) => [join(home, SETTINGS_FILE), queuePath(home)],
    },
    options,
  );
}

// ---- The connection ----
// One agent's connection to RetainDB: recall, what turns and curated entries put into the outbox, how the outbox is delivered, erasing.

/** The user of the Python edition when it is given none: the owner of the home. */
const OWNER = "default";
const AGENT = "hermes";
const USER_RULES = { foreign: /[^\w.:@+-]/u, replacement: "_", maxChars: 128 };
/** The answer of a language model is worth waiting for after a turn, not while the user waits. */
const WAITING_USER_MS = 2_000;
const PYTHON_ROWS_MS = 65_000;

type SeedBody = { readonly content: string };

export class RetainDbConnection implements Connection {
  readonly tools: readonly ServiceTool[];
  readonly #settings: RetainDbSettings;
  readonly #context: ConnectionContext;
  readonly #wire: RetainDbWire;
  readonly #files: FilePlace;
  readonly #isOwner: boolean;
  /** The user's id in rows of the Python edition, which does not know platforms. */
  readonly #pythonUser: string;
  #sessionId: string;
  /** Recalls of each session, for the cadence of questions. */
  readonly #recalls = new Map<string, number>();

  constructor(settings: RetainDbSettings, context: ConnectionContext) {
    const http = context.http({
      baseUrl: settings.baseUrl,
      headers: () => ({ authorization: `Bearer ${settings.apiKey}`, "x-sdk-runtime": "hermes-plugin" }),
      timeoutMs: TIMEOUT_MS.standard,
    });
    this.#settings = settings;
    this.#context = context;
    this.#sessionId = context.sessionId;
    this.#pythonUser = context.options.user_id || OWNER;
    const { project } = settings;
    this.#wire = new RetainDbWire(http, settings.apiKey, {
      project,
      user: userId(context.user),
      agent: AGENT,
    });
    this.#isOwner = context.user === undefined;
    const uploads = uploadPolicy(context, settings.uploadRoots);
    this.#files = { wire: this.#wire, isOwner: this.#isOwner, uploads };
    this.tools = [
      ...memoryTools(this.#wire, {
        sessionId: () => this.#sessionId,
        owns: async (id, signal) =>
          this.#isOwner || (await this.#wire.memories(signal)).found.some((memory) => memory.id === id),
      }),
      ...fileTools(this.#files),
    ];
    if (context.isWriting) this.#begin();
  }

  promptBlock(): string {
    return promptBlock(this.#settings);
  }

  #begin(): void {
    const soul = this.#soulItem();
    if (soul !== undefined) void this.#context.outbox.add(soul);
    // Without a durable outbox the rows are safer where they are.
    if (this.#context.options.outbox !== false)
      this.#context.inBackground("Moving the queue of the Python edition", (signal) =>
        this.#movePythonRows(signal),
      );
  }

  // ---- Recall ----

  async recall(query: string, { sessionId, turn, shownInTurn, signal }: RecallAsk): Promise<Recalled> {
    const number = this.#recalls.get(sessionId) ?? 0;
    this.#recalls.set(sessionId, number + 1);
    const { dialecticCadence: cadence } = this.#settings;
    const isAsking = cadence > 0 && number % cadence === 0;
    const question = isAsking ? this.#wire.ask(query, levelFor(codePointLength(query)), signal) : undefined;
    const [found, profile, model, answer] = await Promise.allSettled([
      this.#wire.context(query, sessionId, signal),
      this.#wire.profile(signal, BESIDE),
      this.#wire.agentModel(signal),
      shownInTurn === turn ? inTime(question, WAITING_USER_MS) : question,
    ]);
    if (found.status === "rejected" && profile.status === "rejected") throw found.reason;
    const overlay = overlayOf(settled(profile), settled(found));
    const parts = [overlay.text, synthesisOf(settled(answer)), selfModelOf(settled(model))];
    const text = parts.filter((part) => part !== "").join("\n\n");
    return { text, count: text === "" ? 0 : Math.max(1, overlay.count) };
  }

  onSessionSwitch(newSessionId: string, { rewound }: SessionSwitchOptions): void {
    this.#sessionId = newSessionId;
    if (rewound !== true) this.#recalls.clear();
  }

  // ---- The outbox ----

  turnItems({ sessionId, user, assistant, at }: Turn): readonly NewItem[] {
    if (user === "") return [];
    const messages = [
      { role: "user", content: user, timestamp: at },
      ...(assistant === "" ? [] : [{ role: "assistant", content: assistant, timestamp: at }]),
    ];
    return [{ kind: "turn", sessionId, body: { user: this.#wire.scope.user, messages } satisfies TurnBody }];
  }

  async deliver({ id, kind, sessionId, items: [{ body }] }: Batch, signal: AbortSignal): Promise<undefined> {
    if (kind === "turn") await this.#wire.ingest(sessionId || OWNER, body as TurnBody, id, signal);
    else if (kind === "seed") await this.#seed(body as SeedBody, id, signal);
    else throw new Error(`RetainDB has no use for an item of the kind '${kind}'.`);
  }

  readonly entries: Entries = {
    about: () => ({ sessionId: this.#sessionId }),
    add: async ({ target, text: content, id, attempt, sessionId }, signal) => {
      const length = `RetainDB takes memories of at most ${MEMORY_UNITS} characters`;
      if (content.length > MEMORY_UNITS)
        throw new ServiceError({
          kind: "refused",
          status: 413,
          message: `${length}, and this entry has ${content.length}.`,
        });
      // An earlier attempt may have reached a server that does not know the key.
      const known = attempt > 1 ? await this.#wire.idOf(content, signal) : undefined;
      if (known !== undefined) return known;
      const type = target === "user" ? "preference" : "factual";
      const memory = { content, type, importance: DEFAULT_IMPORTANCE, sessionId } as const;
      return memoryIdIn(await this.#wire.add(memory, id, signal)); // "": it is stored later
    },
    remove: async (id, signal) => await this.#wire.deleteIfThere(id, signal),
    find: async ({ text }, signal) => {
      const id = await this.#wire.idOf(text, signal);
      return id === undefined ? [] : [id];
    },
    recalls: async (text, signal) => {
      const found = await this.#wire.context(text, this.#sessionId, signal);
      return recordsOf(fieldsOf(found).results).some((record) => contentOf(record) === text);
    },
  };

  // ---- SOUL.md: the server's model of the agent begins with it ----

  /** Undefined when there is none, or when this server and project know it. */
  #soulItem(): NewItem | undefined {
    const path = join(this.#context.home, "SOUL.md");
    const read = readTextFile(path);
    const content = read.ok ? pyStrip((read.value ?? "").toWellFormed()) : "";
    if (content === "" || this.#isSeeded(content)) return undefined;
    // The time tells a text that came back from one that was sent before.
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    const dedupeKey = `seed ${this.#soulPlace()} ${sha256(content)} ${changedAt}`;
    return { kind: "seed", sessionId: "", body: { content } satisfies SeedBody, dedupeKey };
  }

  async #seed({ content }: SeedBody, key: string, signal: AbortSignal): Promise<void> {
    if (this.#isSeeded(content)) return; // by the agent of another user
    if (!(await this.#wire.seed(content, key, signal))) return;
    const soul_sha256 = { ...this.#soulHashes(), [this.#soulPlace()]: sha256(content) };
    const written = writeSettings(this.#context.home, SETTINGS_FILE, { soul_sha256 });
    if (!written.ok)
      this.#context.log.warn(`SOUL.md will be sent again: ${written.error}`, { provider: "retaindb" });
  }

  #isSeeded(content: string): boolean {
    return this.#soulHashes()[this.#soulPlace()] === sha256(content);
  }

  #soulHashes(): Readonly<Record<string, unknown>> {
    return fieldsOf(readFile(this.#context.home, SETTINGS_FILE).values.soul_sha256);
  }

  #soulPlace(): string {
    return `${this.#wire.baseUrl} ${this.#settings.project}`;
  }

  // ---- Rows of the Python edition ----

  async #movePythonRows(signal: AbortSignal): Promise<void> {
    const { home, outbox, clock, log } = this.#context;
    for (;;) {
      let [after, young] = [0, 0];
      for (let hasMore = true; hasMore; ) {
        const user = this.#pythonUser;
        const pass = await moveRows(home, { user, after, outbox, now: clock.now().getTime() });
        if (pass.moved + pass.unreadable > 0)
          log.info("Turns that the Python edition left in retaindb_queue.db were moved to the outbox.", {
            moved: pass.moved,
            unreadable: pass.unreadable,
          });
        if (pass.stopped !== undefined) throw new Error(pass.stopped);
        ({ hasMore, last: after } = pass);
        young += pass.young;
        await sleep(0, undefined, { signal });
      }
      if (young === 0) return;
      await sleep(PYTHON_ROWS_MS, undefined, { signal, ref: false });
    }
  }

  // ---- Erasing ----

  async forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const { erased, isWhole } = await this.#erase(text, isDryRun, signal);
    return reportOf(erased, [
      this.#pythonRowsLeft(text),
      !isWhole && "RetainDB did not list all memories; those it left out may hold it.",
      "RetainDB has no call that deletes messages of conversations or searches in files: what it keeps of them has to be deleted in its dashboard.",
    ]);
  }

  async eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const { erased, isWhole } = await this.#erase("", isDryRun, signal);
    const files = this.#isOwner ? 0 : await eraseFiles(this.#files, isDryRun, signal);
    return reportOf(erased + files, [
      this.#pythonRowsLeft(""),
      !isWhole && "RetainDB did not list all memories.",
      "RetainDB has no call that deletes messages of conversations: what it keeps of them has to be deleted in its dashboard.",
      this.#isOwner && "Files of the project were not deleted.",
    ]);
  }

  /** Every memory contains "". */
  async #erase(text: string, isDryRun: boolean, signal: AbortSignal) {
    return await eraseListed((memory) => memory.text.includes(text), isDryRun, {
      list: () => this.#wire.memories(signal, text),
      remove: (id) => this.#wire.deleteIfThere(id, signal),
    });
  }

  /** Rows that were too young to be moved, or cannot be read. */
  #pythonRowsLeft(text: string): string | false {
    const rows = countRows(this.#context.home, this.#pythonUser, text);
    const which = text === "" ? "of this user" : "that hold it";
    return rows > 0 && `retaindb_queue.db of the Python edition has ${rows} unsent turns ${which}.`;
  }

  // ---- Checks ----

  async check(signal: AbortSignal): Promise<string> {
    await this.#wire.check(signal);
    const { project, user } = this.#wire.scope;
    return `${this.#wire.baseUrl} accepts the key (project ${project}, user ${user}).`;
  }
}

/** Undefined when it takes longer. */
function inTime<T>(work: Promise<T> | undefined, ms: number): Promise<T | undefined> {
  return Promise.race([Promise.resolve(work), sleep(ms, undefined, { ref: false })]);
}

function settled(result: PromiseSettledResult<unknown>): unknown {
  return result.status === "fulfilled" ? result.value : undefined;
}

/** The owner has the Python edition's `default`, and `.` and `..` name other folders: no user of a gateway may be called so. */
function userId(user: string | undefined): string {
  if (user === undefined) return OWNER;
  const id = safeId(user, USER_RULES);
  return [OWNER, ".", ".."].includes(id) ? `${id}_${sha256(user).slice(0, 12)}` : id;
}

// ---- Tools for files ----
// The five tools for files. RetainDB keeps files per project, not per user: files of a gateway's user are below a folder of their own, and
// nobody else gets at them through these tools.

const USERS_FOLDER = "/hermes-users/";
const SCOPES = ["PROJECT", "USER", "ORG"] as const;
const DEFAULT_LIST = 50;
const READ_CHARS = 32_000;
const READ_BYTES = 16 * 2 ** 20;
const PATH_CHARS = 1_000;
const TEXT_NAMES = /\.(?:txt|md|json|csv|ya?ml|xml|html)$/i;
const FILE_ID = { type: "string", description: "The id of the file, from retaindb_list_files." };

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
        const answer = fieldsOf(await wire.listFiles(shown, limit, signal));
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
  for (;;) {
    const answer = await wire.listFiles(remotePath(place, ""), LIST_LIMIT, signal).then(fieldsOf, noFiles);
    const own = recordsOf(answer.files).filter((file) => isOwn(place, file));
    const ids = own.map(({ id }) => textIn(id)).filter((id) => id !== "" && !erased.has(id));
    if (isDryRun) return Math.max(ids.length, numberIn(answer.total) ?? 0);
    if (ids.length === 0) return erased.size;
    for (const id of ids) {
      await wire.deleteFile(id, signal);
      erased.add(id);
    }
  }
}

/** Some servers keep no files. */
function noFiles(cause: unknown): Fields {
  if (isUnknown(cause)) return {};
  throw cause;
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
  const answer = await wire.upload({ blob, name, path, scope }, signal);
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
  const answer = fieldsOf(await place.wire.file(id, signal));
  const fields = isRecord(answer.file) ? answer.file : answer;
  if (!isOwn(place, fields)) throw new ToolRefusal(`File not found: ${id}`);
  return { id, fields };
}

/** The agent's model is shared by all users, so only the owner's files become part of it. */
function agentFor({ wire, isOwner }: FilePlace): string | undefined {
  return isOwner ? wire.scope.agent : undefined;
}
