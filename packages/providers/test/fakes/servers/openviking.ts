// A fake OpenViking with the requests that our provider makes, in two profiles: v03 ignores unknown fields and knows the agent header, v04
// refuses unknown fields and knows batches and peers.
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { inflateRawSync } from "node:zlib";
import { type FakeReply, FakeServer, type FormPart, rank, type SeenRequest } from "./fake-server.ts";
import {
  either,
  type Fields,
  fieldProblem,
  integer,
  isBoolean,
  isObject,
  listOf,
  nullable,
  objectOf,
  oneOf,
  text,
} from "./strict.ts";

/** `v03`: servers 0.3.x. `v04`: servers from 0.4.1 on. */
export type VikingProfile = "v03" | "v04";

export type VikingMessage = {
  readonly role: "user" | "assistant";
  readonly content?: string | null;
  readonly peer_id?: string | null;
};

type Session = {
  readonly id: string;
  readonly user: string;
  /** All that were posted, oldest first; the first `archived` of them were committed. */
  readonly messages: VikingMessage[];
  archived: number;
  archives: number;
};

type File = { readonly uri: string; readonly content: string; isIndexed: boolean };
type Account = { readonly files: Map<string, File>; readonly sessions: Map<string, Session> };
type Tenant = { readonly account: string; readonly user: string; readonly role: "user" | "root" };
/** `view`: only the folder of this agent (v03) or peer (v04) is seen; undefined: all of them. */
type Caller = Tenant & { readonly view: string | undefined };
type Person = { readonly user?: string; readonly account?: string };

export type OpenVikingOptions = { readonly profile?: VikingProfile };

const ROOT = "viking://";
const SCOPES = ["resources", "user", "agent", "session"];
const NOW = "2026-01-02T03:04:05.000Z";
const STATUS = {
  INVALID_ARGUMENT: 400,
  INVALID_URI: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  FAILED_PRECONDITION: 412,
};

class VikingError extends Error {
  readonly code: keyof typeof STATUS;

  constructor(code: keyof typeof STATUS, message: string) {
    super(message);
    this.code = code;
  }

  reply(): FakeReply {
    const error = { code: this.code, message: this.message };
    return { status: STATUS[this.code], body: { status: "error", result: null, error } };
  }
}

// ---- What it accepts

const anything = () => undefined;
const some = (check: ReturnType<typeof text>) => nullable(either(listOf(check), check));
const FIND: Fields = {
  ...{ target_uri: some(text(0)), limit: integer(1), score_threshold: anything, level: anything },
  ...{ context_type: anything, tags: anything, since: anything, until: anything, read_content: isBoolean },
};
const MESSAGE: readonly [Fields, Fields] = [
  { role: oneOf("user", "assistant") },
  { content: nullable(text(0)), parts: anything, peer_id: nullable(text()) },
];
const BODIES: Readonly<Record<string, readonly [Fields, Fields]>> = {
  find: [{ query: text() }, FIND],
  search: [{ query: text() }, { ...FIND, session_id: nullable(text()) }],
  write: [
    { uri: text(), content: text(0) },
    { mode: oneOf("create", "replace", "append"), wait: isBoolean, timeout: anything },
  ],
  message: MESSAGE,
  batch: [{ messages: listOf(objectOf(...MESSAGE), 1) }, {}],
  commit: [{}, { keep_recent_count: integer(0), extraction_metadata: anything }],
  resource: [
    {},
    {
      ...{ path: nullable(text()), temp_file_id: nullable(text()), to: nullable(text()) },
      ...{ parent: nullable(text()), reason: text(0), instruction: text(0), source_name: anything },
      ...{ wait: isBoolean, timeout: anything, strict: isBoolean, directly_upload_media: isBoolean },
      watch_interval: anything,
    },
  ],
};

// ---- The server

export class FakeOpenViking extends FakeServer {
  profile: VikingProfile;
  /** What `/health` reports; undefined: the version of the profile; null: none. */
  version: string | null | undefined;
  /** Sessions belong to the account, as in some versions: everyone sees them, and their URIs name no user. */
  sharesSessions = false;
  readonly #accounts = new Map<string, Account>();
  readonly #keys = new Map<string, Tenant>();
  readonly #uploads = new Map<string, FormPart>();
  #token: string | undefined;
  #tasks = 0;

  constructor({ profile = "v04" }: OpenVikingOptions = {}) {
    super();
    this.profile = profile;
  }

  // ---- For tests

  /** The token is that of user `default` of account `default`; the one before it is revoked. */
  override requireAuth(token: string | undefined): void {
    if (this.#token !== undefined) this.revokeKey(this.#token);
    this.#token = token;
    if (token !== undefined) this.addKey(token);
    super.requireAuth(token);
  }

  /** One more key that is valid while authentication is on. */
  addKey(key: string, { account = "default", user = "default", role = "user" }: Partial<Tenant> = {}): void {
    this.#keys.set(key, { account, user, role });
  }

  revokeKey(key: string): void {
    this.#keys.delete(key);
  }

  /** Stores a file without a request. */
  put(uri: string, content: string, { account = "default" }: Person = {}): void {
    this.#account(account).files.set(uri, { uri, content, isIndexed: true });
  }

  /** Every file of an account by its URI. */
  files({ account = "default" }: Person = {}): Readonly<Record<string, string>> {
    const files = [...this.#account(account).files.values()];
    return Object.fromEntries(files.map(({ uri, content }) => [uri, content]));
  }

  /** Texts of the memories of a user, by URI. */
  memories({ user = "default", account = "default" }: Person = {}): Readonly<Record<string, string>> {
    const files = Object.entries(this.files({ account })).filter(
      ([uri]) => isWithin(uri, `viking://user/${user}`) && this.#typeOf(uri) === "memory",
    );
    return Object.fromEntries(files);
  }

  /** Every message of a session, committed or not. */
  messagesOf(
    session: string,
    { user = "default", account = "default" }: Person = {},
  ): readonly VikingMessage[] {
    return this.#account(account).sessions.get(`${user}/${session}`)?.messages ?? [];
  }

  /** How often a session was committed with new messages. */
  archivesOf(session: string, { user = "default", account = "default" }: Person = {}): number {
    return this.#account(account).sessions.get(`${user}/${session}`)?.archives ?? 0;
  }

  /** Every account that has something, with its files and sessions. */
  stored(): unknown {
    const filled = [...this.#accounts].filter(([, { files, sessions }]) => files.size + sessions.size > 0);
    const accounts = filled.map(([name, { sessions }]) => {
      const kept = [...sessions].map(([key, { messages, archives }]) => [key, { messages, archives }]);
      return [name, { files: this.files({ account: name }), sessions: Object.fromEntries(kept) }];
    });
    return Object.fromEntries(accounts);
  }

  // ---- Requests

  protected isAuthorised(headers: IncomingHttpHeaders, _token: string, path: string): boolean {
    const key = keyOf(headers);
    return path === "/health" || (key !== undefined && this.#keys.has(key));
  }

  protected refusal(): FakeReply {
    return new VikingError("UNAUTHENTICATED", "Invalid API Key").reply();
  }

  protected handle(request: SeenRequest): FakeReply {
    if (request.path === "/health") return this.#health(request);
    try {
      const result = this.#call(request);
      if (result === undefined) return { status: 404, body: { detail: "Not Found" } };
      return { status: 200, body: { status: "ok", result, error: null, telemetry: null } };
    } catch (cause) {
      if (cause instanceof VikingError) return cause.reply();
      throw cause;
    }
  }

  #health(request: SeenRequest): FakeReply {
    const tenant = this.#tenantOf(request.headers);
    const standard = this.profile === "v03" ? "0.3.24" : "0.4.16";
    const version = this.version === undefined ? standard : this.version;
    const of = { account_id: tenant?.account, user_id: tenant?.user, role: tenant?.role };
    return {
      status: 200,
      body: {
        ...{ status: "ok", healthy: true, auth_mode: this.#token === undefined ? "dev" : "api_key" },
        ...(version === null ? {} : { version }),
        ...(tenant === undefined ? {} : of),
      },
    };
  }

  /** Whose key it is; undefined without authentication. */
  #tenantOf(headers: IncomingHttpHeaders): Tenant | undefined {
    return this.#token === undefined ? undefined : this.#keys.get(keyOf(headers) ?? "");
  }

  #account(name: string): Account {
    const account = this.#accounts.get(name) ?? { files: new Map(), sessions: new Map() };
    this.#accounts.set(name, account);
    return account;
  }

  /** By key and headers. Without authentication everyone is an administrator. */
  #callerOf(headers: IncomingHttpHeaders): Caller {
    const isOld = this.profile === "v03";
    const tenant = this.#tenantOf(headers);
    const account = header(headers, "x-openviking-account");
    const user = header(headers, "x-openviking-user");
    const view = header(headers, isOld ? "x-openviking-agent" : "x-openviking-actor-peer");
    if (tenant === undefined)
      return { account: account ?? "default", user: user ?? "default", role: "root", view };
    if (!isOld && tenant.role === "root")
      throw new VikingError("PERMISSION_DENIED", "A root key cannot use data APIs in api_key mode");
    if (!isOld) return { ...tenant, view };
    if (tenant.role === "root" && (account === undefined || user === undefined))
      throw new VikingError(
        "INVALID_ARGUMENT",
        "A root key needs the headers X-OpenViking-Account and X-OpenViking-User",
      );
    if (tenant.role === "root") return { account: account ?? "", user: user ?? "", role: "root", view };
    if ((account ?? tenant.account) !== tenant.account || (user ?? tenant.user) !== tenant.user)
      throw new VikingError("PERMISSION_DENIED", "The tenant headers do not match the tenant of the key");
    return { ...tenant, view };
  }

  /** The body, if it fits. Version 0.3 ignores fields that it does not know. */
  #body<T>({ body = {} }: SeenRequest, name: keyof typeof BODIES): T {
    const [required, optional] = BODIES[name] ?? [{}, {}];
    const known = Object.entries(isObject(body) ? body : {}).filter(
      ([key]) => this.profile === "v04" || key in required || key in optional,
    );
    const problem = fieldProblem(Object.fromEntries(known), required, optional);
    if (problem !== undefined) throw new VikingError("INVALID_ARGUMENT", problem.message);
    return body as T;
  }

  /** The result of the call; undefined: there is no such call. */
  #call(request: SeenRequest): unknown {
    const [api, version, ...rest] = request.path.split("/").slice(1).map(decodeURIComponent);
    if (api !== "api" || version !== "v1") return undefined;
    const caller = this.#callerOf(request.headers);
    if (rest[0] === "sessions") return this.#sessionCall(caller, rest.slice(1), request);
    const { files } = this.#account(caller.account);
    switch (`${request.method} ${rest.join("/")}`) {
      case "POST resources/temp_upload": {
        const parts = (request.body as { multipart?: readonly FormPart[] } | undefined)?.multipart ?? [];
        const file = parts.find((part) => part.name === "file" && part.filename !== undefined);
        if (file === undefined) throw new VikingError("INVALID_ARGUMENT", "file is required");
        const id = `upload_${this.#uploads.size + 1}`;
        this.#uploads.set(id, file);
        return { temp_file_id: id };
      }
      case "POST resources":
        return this.#addResource(caller, this.#body(request, "resource"));
      case "GET fs/ls":
        return this.#below(
          caller,
          this.#existing(caller, request),
          request.query.recursive === "true" ? 99 : 1,
        );
      case "GET fs/tree":
        return this.#below(caller, this.#existing(caller, request), 3);
      case "GET fs/stat":
        return this.#entry(caller, this.#existing(caller, request));
      case "DELETE fs": {
        const uri = this.#writable(caller, this.#existing(caller, request));
        if (!files.has(uri) && request.query.recursive !== "true")
          throw new VikingError("FAILED_PRECONDITION", `${uri} is a directory: it needs recursive=true`);
        for (const each of files.keys()) if (isWithin(each, uri)) files.delete(each);
        return { uri };
      }
      case "GET content/abstract":
        return this.#abstract(caller, this.#folder(caller, request));
      case "GET content/overview": {
        const uri = this.#folder(caller, request);
        const lines = this.#below(caller, uri, 1).map(({ name, abstract }) => `- ${name}: ${abstract}`);
        return [`# ${uri.split("/").at(-1)}`, ...lines].join("\n");
      }
      case "GET content/read": {
        const uri = this.#existing(caller, request);
        const file = files.get(uri);
        if (file === undefined)
          throw new VikingError("INVALID_ARGUMENT", `${uri} is a directory, not a file`);
        return file.content;
      }
      case "POST content/write":
        return this.#write(caller, this.#body(request, "write"));
      case "POST search/find":
        return this.#find(caller, this.#body(request, "find"));
      case "POST search/search": {
        const asked = this.#body<Find>(request, "search");
        const plan = { queries: [{ query: asked.query, context_type: null, intent: "search" }] };
        return { ...this.#find(caller, asked), query_plan: plan };
      }
      default:
        return undefined;
    }
  }

  // ---- Files

  /** The URI in full, without a trailing slash. Refuses places that the profile does not know and, unless a root asks, those of another user. */
  #uri({ user, role }: Caller, given: unknown): string {
    if (typeof given !== "string" || !given.startsWith(ROOT))
      throw new VikingError("INVALID_URI", `Not a viking:// URI: ${given}`);
    const segments = given.slice(ROOT.length).replace(/\/+$/, "").split("/");
    if (segments.length === 1 && segments[0] === "") return ROOT;
    const [scope = "", second] = segments;
    if (segments.some((segment) => ["", ".", ".."].includes(segment)))
      throw new VikingError("INVALID_URI", `The URI has an unsafe segment: ${given}`);
    const own = [`viking://user/${user}`, ...segments.slice(1)].join("/");
    if (scope === "~" && this.profile === "v04") return own;
    if (!SCOPES.includes(scope)) throw new VikingError("INVALID_URI", `Unknown scope in ${given}`);
    if (scope === "user" && second !== undefined) {
      const isPart = ["memories", "skills", "resources", "peers"].includes(second);
      if (isPart && this.profile === "v03") return own;
      if (isPart) throw new VikingError("INVALID_URI", `The URI names no user: ${given}`);
      if (second !== user && role !== "root")
        throw new VikingError("PERMISSION_DENIED", `Access denied for ${given}`);
    }
    return ROOT + segments.join("/");
  }

  /** Whether a place is the caller's or everybody's (of a root: anyone's), and not below another agent or peer than the one asked for. */
  #isVisible({ user, role, view }: Caller, uri: string): boolean {
    const [scope, second, third, fourth] = uri.slice(ROOT.length).split("/");
    if (scope !== "user" && scope !== "session") return true;
    if (second !== undefined && second !== user) return role === "root";
    const isOfView = third === (this.profile === "v03" ? "agent" : "peers") && fourth !== undefined;
    return scope !== "user" || !isOfView || view === undefined || fourth === view;
  }

  /** The kind of context, by the place of the file. Version 0.4 no longer takes `user/<user>/agent/<agent>/memories` for a place of memories. */
  #typeOf(uri: string): "memory" | "resource" | "skill" {
    const segments = uri.slice(ROOT.length).split("/");
    if (segments.includes("skills")) return "skill";
    const isAgents = segments[0] === "user" && segments[2] === "agent" && this.profile === "v04";
    return segments.includes("memories") && !isAgents ? "memory" : "resource";
  }

  #existing(caller: Caller, { query }: SeenRequest): string {
    const uri = this.#uri(caller, query.uri);
    const isThere =
      uri === ROOT ||
      SCOPES.some((scope) => uri === ROOT + scope) ||
      uri === `viking://user/${caller.user}` ||
      [...this.#account(caller.account).files.keys()].some((each) => isWithin(each, uri));
    if (!isThere || !this.#isVisible(caller, uri)) throw new VikingError("NOT_FOUND", `Not found: ${uri}`);
    return uri;
  }

  #folder(caller: Caller, request: SeenRequest): string {
    const uri = this.#existing(caller, request);
    if (!this.#account(caller.account).files.has(uri)) return uri;
    throw new VikingError("INVALID_ARGUMENT", `${uri} is a file, not a directory`);
  }

  /** The resolved URI of a place that the caller may change. */
  #writable(caller: Caller, given: string): string {
    const uri = this.#uri(caller, given);
    const isDeep = uri.slice(ROOT.length).includes("/");
    if (isDeep && !isWithin(uri, "viking://session") && this.#isVisible(caller, uri)) return uri;
    throw new VikingError("PERMISSION_DENIED", `${uri} cannot be changed`);
  }

  /** What is below a folder, folders too, in the order of the names. */
  #below(caller: Caller, uri: string, levels: number) {
    const prefix = uri === ROOT ? ROOT : `${uri}/`;
    const found = new Set<string>();
    for (const file of this.#account(caller.account).files.keys()) {
      if (!file.startsWith(prefix)) continue;
      const segments = file.slice(prefix.length).split("/");
      for (let count = 1; count <= Math.min(levels, segments.length); count += 1)
        found.add(prefix + segments.slice(0, count).join("/"));
    }
    return [...found]
      .sort()
      .filter((each) => this.#isVisible(caller, each))
      .map((each) => this.#entry(caller, each, prefix));
  }

  #entry(caller: Caller, uri: string, prefix = uri.slice(0, uri.lastIndexOf("/") + 1)) {
    const file = this.#account(caller.account).files.get(uri);
    return {
      ...{ name: uri.split("/").at(-1) ?? "", rel_path: uri.slice(prefix.length), mode: 0o644, modTime: NOW },
      ...{ size: Buffer.byteLength(file?.content ?? ""), isDir: file === undefined, uri },
      abstract: this.#abstract(caller, uri),
    };
  }

  /** The first characters of a file, or of what is in a folder. */
  #abstract(caller: Caller, uri: string): string {
    const files = [...this.#account(caller.account).files.values()].filter((each) => isWithin(each.uri, uri));
    return files
      .map(({ content }) => content)
      .join(" ")
      .slice(0, 100);
  }

  #write(caller: Caller, { uri: given, content, mode = "replace", wait = false }: Write): unknown {
    const uri = this.#writable(caller, given);
    const { files } = this.#account(caller.account);
    const old = files.get(uri);
    if (mode === "create" && old !== undefined)
      throw new VikingError("ALREADY_EXISTS", `File already exists: ${uri}`);
    if (mode !== "create" && old === undefined) throw new VikingError("NOT_FOUND", `Not found: ${uri}`);
    this.put(uri, mode === "append" ? `${old?.content}${content}` : content, caller);
    const status = wait ? "complete" : "queued";
    return {
      ...{ uri, root_uri: uri.split("/").slice(0, -1).join("/"), context_type: this.#typeOf(uri), mode },
      ...{ written_bytes: Buffer.byteLength(content), content_updated: true, queue_status: null },
      ...{ semantic_status: status, vector_status: status },
    };
  }

  #find(caller: Caller, { query, target_uri, limit = 10 }: Find) {
    const targets = [target_uri ?? []].flat().filter((target) => target !== "");
    const among = [...this.#account(caller.account).files.values()].filter(
      ({ uri }) =>
        this.#isVisible(caller, uri) &&
        (targets.length === 0 || targets.some((target) => isWithin(uri, this.#uri(caller, target)))),
    );
    const found = rank(query, among, ({ content }) => content)
      .slice(0, limit)
      .map(({ item: { uri }, score }) => ({
        ...{ context_type: this.#typeOf(uri), uri, level: 2, score, abstract: this.#abstract(caller, uri) },
        ...(this.profile === "v04"
          ? { tags: [] }
          : { overview: null, category: "", match_reason: "", relations: [] }),
      }));
    const only = (type: string) => found.filter((context) => context.context_type === type);
    const groups = { memories: only("memory"), resources: only("resource"), skills: only("skill") };
    return { ...groups, total: found.length };
  }

  #addResource(caller: Caller, body: Resource): unknown {
    const { path, temp_file_id: uploadId, to, parent } = body;
    if (!path === !uploadId)
      throw new VikingError("INVALID_ARGUMENT", "Either path or temp_file_id must be given");
    if (to && parent) throw new VikingError("INVALID_ARGUMENT", "Cannot specify both 'to' and 'parent'");
    if (path && !/^(https?:\/\/|git@|ssh:\/\/|git:\/\/)/.test(path))
      throw new VikingError("PERMISSION_DENIED", "The server takes remote addresses and uploaded files");
    const file = this.#uploads.get(uploadId ?? "");
    if (uploadId && file === undefined) throw new VikingError("NOT_FOUND", `No uploaded file ${uploadId}`);
    const source = body.source_name || file?.filename || path?.split("/").filter(Boolean).at(-1) || "page";
    const members =
      file === undefined
        ? [{ name: "content.md", content: `Text of ${path}` }]
        : file.filename?.endsWith(".zip") === true
          ? readZip(file.bytes)
          : [{ name: source, content: file.value }];
    const name = source.replace(/\.[a-z0-9]+$/i, "").replaceAll("/", "_");
    const root = this.#uri(caller, to || `${(parent || "viking://resources").replace(/\/+$/, "")}/${name}`);
    if (!isWithin(root, "viking://resources"))
      throw new VikingError("INVALID_ARGUMENT", `Resources go below viking://resources, not to ${root}`);
    for (const member of members) this.put(`${root}/${member.name}`, member.content, caller);
    return { root_uri: root, status: "success", errors: [], task_id: this.#nextTask() };
  }

  #nextTask(): string {
    this.#tasks += 1;
    return `task-${this.#tasks}`;
  }

  // ---- Sessions

  #sessionCall(caller: Caller, [id, ...rest]: readonly string[], request: SeenRequest): unknown {
    const { sessions } = this.#account(caller.account);
    if (id === undefined) {
      if (request.method !== "GET") return undefined;
      const shown = [...sessions.values()].filter(({ user }) => user === caller.user || this.sharesSessions);
      return shown.map((session) => ({
        session_id: session.id,
        uri: `viking://session/${this.sharesSessions ? "" : `${session.user}/`}${session.id}`,
        is_dir: true,
      }));
    }
    const call = `${request.method} ${rest.join("/")}`;
    if (call === "POST messages") return this.#add(caller, id, [this.#body(request, "message")]);
    if (call === "POST messages/batch") {
      if (this.profile === "v03") return undefined;
      const { messages } = this.#body<{ messages: VikingMessage[] }>(request, "batch");
      if (messages.length > 100) throw new VikingError("INVALID_ARGUMENT", "At most 100 messages");
      return { ...this.#add(caller, id, messages), added: messages.length };
    }
    const session = sessions.get(`${caller.user}/${id}`);
    if (!["GET ", "DELETE ", "POST commit", "GET context"].includes(call)) return undefined;
    if (session === undefined) throw new VikingError("NOT_FOUND", `Session not found: ${id}`);
    const messages = session.messages.slice(session.archived);
    if (call === "GET ") return { session_id: id, message_count: messages.length };
    if (call === "GET context")
      return { latest_archive_overview: "", messages, estimatedTokens: tokensOf(messages), stats: {} };
    if (call === "POST commit") return this.#commit(caller, session, this.#body(request, "commit"));
    sessions.delete(`${caller.user}/${id}`);
    return { session_id: id };
  }

  #add({ user, account }: Caller, id: string, messages: readonly VikingMessage[]) {
    const { sessions } = this.#account(account);
    const session = sessions.get(`${user}/${id}`) ?? { id, user, messages: [], archived: 0, archives: 0 };
    sessions.set(`${user}/${id}`, session);
    session.messages.push(...messages);
    const live = session.messages.slice(session.archived);
    return { session_id: id, message_count: live.length, pending_tokens: tokensOf(live) };
  }

  /** Each committed message becomes a memory. */
  #commit(caller: Caller, session: Session, { keep_recent_count: keep = 0 }: { keep_recent_count?: number }) {
    const { id } = session;
    const end = Math.max(session.archived, session.messages.length - keep);
    const messages = session.messages.slice(session.archived, end);
    if (messages.length === 0)
      return { session_id: id, status: "skipped", task_id: null, archive_uri: null, archived: false };
    session.archived = end;
    session.archives += 1;
    const archive = `archive_${String(session.archives).padStart(3, "0")}`;
    for (const [index, { content }] of messages.entries()) {
      const name = createHash("sha256").update(`${session.user}/${id}/${archive}/${index}`).digest("hex");
      const uri = `viking://user/${caller.user}/memories/events/mem_${name.slice(0, 12)}.md`;
      if (content) this.put(uri, content, caller);
    }
    const archive_uri = `viking://session/${session.user}/${id}/history/${archive}`;
    return { session_id: id, status: "accepted", task_id: this.#nextTask(), archive_uri, archived: true };
  }
}

// ---- Small parts

type Write = {
  readonly uri: string;
  readonly content: string;
  readonly mode?: "create" | "replace" | "append";
  readonly wait?: boolean;
};

type Find = {
  readonly query: string;
  readonly target_uri?: string | readonly string[] | null;
  readonly limit?: number;
};

type Resource = {
  readonly path?: string | null;
  readonly temp_file_id?: string | null;
  readonly to?: string | null;
  readonly parent?: string | null;
  readonly source_name?: string | null;
};

/** The key of a request, from either of its two headers. */
function keyOf(headers: IncomingHttpHeaders): string | undefined {
  return header(headers, "x-api-key") ?? headers.authorization?.replace(/^Bearer /, "");
}

/** An empty header counts as absent. */
function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isWithin(uri: string, folder: string): boolean {
  return folder === ROOT || uri === folder || uri.startsWith(`${folder}/`);
}

function tokensOf(messages: readonly VikingMessage[]): number {
  return messages.reduce((sum, { content }) => sum + Math.ceil((content ?? "").length / 4), 0);
}

/** The files of a zip archive. */
export function readZip(bytes: Uint8Array): readonly { readonly name: string; readonly content: string }[] {
  const data = Buffer.from(bytes);
  const end = data.lastIndexOf("PK\x05\x06", undefined, "latin1");
  if (end === -1) throw new VikingError("INVALID_ARGUMENT", "This is no zip archive");
  const members: { name: string; content: string }[] = [];
  let at = data.readUInt32LE(end + 16);
  for (let count = data.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [nameLength = 0, extra = 0, comment = 0] = [28, 30, 32].map((each) => data.readUInt16LE(at + each));
    const name = data.toString("utf8", at + 46, at + 46 + nameLength);
    const start = data.readUInt32LE(at + 42);
    const body = start + 30 + data.readUInt16LE(start + 26) + data.readUInt16LE(start + 28);
    const packed = data.subarray(body, body + data.readUInt32LE(at + 20));
    const content = data.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed);
    members.push({ name, content: content.toString("utf8") });
    at += 46 + nameLength + extra + comment;
  }
  return members;
}
