// An OpenViking server on loopback with two profiles: v03 ignores unknown fields and knows the agent header, v04 refuses unknown fields and
// knows batches and peers. Files, search, sessions and resources below /api/v1.
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer, type FormPart, type SeenRequest } from "./fake-server.ts";
import { BODIES, bodyOf, PARAMETERS, queryOf, refuse } from "./openviking-bodies.ts";
import {
  type Caller,
  callerOf,
  keyOf,
  type Tenant,
  VikingError,
  type VikingProfile,
} from "./openviking-caller.ts";
import { VikingFiles } from "./openviking-files.ts";
import { contextTypeOf, isWithin, readZip, VikingTree } from "./openviking-tree.ts";

export type VikingMessage = {
  readonly role: "user" | "assistant";
  readonly content?: string | null;
  readonly parts?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly peer_id?: string | null;
};

type Session = {
  readonly id: string;
  readonly user: string;
  /** All that were posted, oldest first; the first `archived` of them were committed. */
  readonly messages: VikingMessage[];
  archived: number;
  archives: number;
  hasFailedArchive: boolean;
};

type Account = { readonly tree: VikingTree; readonly sessions: Map<string, Session> };

type Person = { readonly user?: string; readonly account?: string };

export type OpenVikingOptions = { readonly profile?: VikingProfile };

export class FakeOpenViking extends FakeServer {
  profile: VikingProfile;
  /** What `/health` reports; undefined: the version of the profile; null: none. */
  version: string | null | undefined;
  /** Indexing and extraction wait for `settle`. */
  settleByHand = false;
  /** Sessions belong to the account, as in some versions: everyone sees them, and their URIs name no user. */
  sharesSessions = false;
  /** The text of a memory made from a committed message; undefined: none is made. */
  extract: (message: VikingMessage) => string | undefined = textOf;
  /** Texts of web pages that can be added as resources; others have a standard text. */
  readonly pages = new Map<string, string>();
  readonly #accounts = new Map<string, Account>();
  readonly #keys = new Map<string, Tenant>();
  readonly #uploads = new Map<string, FormPart>();
  readonly #waiting: (() => void)[] = [];
  #token: string | undefined;
  #tasks = 0;
  #sessions = 0;

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

  /** Runs the indexing and extraction that wait. */
  settle(): void {
    for (const job of this.#waiting.splice(0)) job();
  }

  /** Stores a file without a request. */
  put(uri: string, content: string, { account = "default" }: Person = {}): void {
    this.#account(account).tree.put(uri, content);
  }

  /** Every file of an account by its URI. */
  files({ account = "default" }: Person = {}): Readonly<Record<string, string>> {
    const files = [...this.#account(account).tree.files.values()];
    return Object.fromEntries(files.map(({ uri, content }) => [uri, content]));
  }

  /** Texts of the memories of a user, by URI. */
  memories({ user = "default", account = "default" }: Person = {}): Readonly<Record<string, string>> {
    const files = Object.entries(this.files({ account })).filter(
      ([uri]) =>
        isWithin(uri, `viking://user/${user}`) && contextTypeOf(uri, this.profile === "v03") === "memory",
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

  /** From now on a commit of this session is refused with 412. */
  failArchive(session: string, { user = "default", account = "default" }: Person = {}): void {
    this.#session({ user, account }, session).hasFailedArchive = true;
  }

  /** Every account that has something, with its files and sessions, without times. */
  stored(): unknown {
    const filled = [...this.#accounts].filter(
      ([, { tree, sessions }]) => tree.files.size + sessions.size > 0,
    );
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

  /** The result of the call; undefined: there is no such call. */
  #call(request: SeenRequest): unknown {
    const [api, version, area, name, action, ...rest] = request.path
      .split("/")
      .slice(1)
      .map(decodeURIComponent);
    if (api !== "api" || version !== "v1") return undefined;
    const caller = callerOf(request.headers, this.profile, this.#tenantOf(request.headers));
    if (area === "sessions") return this.#sessionCall(caller, [name, action, ...rest], request);
    const files = new VikingFiles(this.#tree(caller), caller, this.profile, (job, isAwaited) =>
      this.#later(job, isAwaited),
    );
    const call = `${request.method} ${[area, name, action, ...rest].filter((each) => each !== undefined).join("/")}`;
    switch (call) {
      case "GET observer/system":
        return { is_healthy: true, components: {} };
      case "POST resources/temp_upload":
        return this.#upload(request);
      case "POST resources":
        return this.#addResource(files, bodyOf(request, this.profile, BODIES.resource));
      default:
        return files.call(call, request);
    }
  }

  #health(request: SeenRequest): FakeReply {
    const tenant = this.#tenantOf(request.headers);
    const version = this.version === undefined ? STANDARD_VERSIONS[this.profile] : this.version;
    return {
      status: 200,
      body: {
        status: "ok",
        healthy: true,
        ...(version === null ? {} : { version }),
        auth_mode: this.#token === undefined ? "dev" : "api_key",
        ...(tenant === undefined
          ? {}
          : { account_id: tenant.account, user_id: tenant.user, role: tenant.role }),
      },
    };
  }

  /** Whose key it is; undefined without authentication. */
  #tenantOf(headers: IncomingHttpHeaders): Tenant | undefined {
    return this.#token === undefined ? undefined : this.#keys.get(keyOf(headers) ?? "");
  }

  #account(name: string): Account {
    const account = this.#accounts.get(name) ?? { tree: new VikingTree(), sessions: new Map() };
    this.#accounts.set(name, account);
    return account;
  }

  #tree(caller: Caller): VikingTree {
    return this.#account(caller.account).tree;
  }

  /** Runs a job of the background now or at `settle`. A caller that waits gets it done. */
  #later(job: () => void, isAwaited = false): void {
    if (this.settleByHand && !isAwaited) this.#waiting.push(job);
    else job();
  }

  // ---- Sessions

  #sessionCall(
    caller: Caller,
    [id, action, last, ...rest]: readonly (string | undefined)[],
    request: SeenRequest,
  ): unknown {
    const { sessions } = this.#account(caller.account);
    if (id === undefined) {
      if (request.method === "POST")
        return this.#openSession(caller, bodyOf(request, this.profile, BODIES.session));
      if (request.method !== "GET") return undefined;
      return [...sessions.values()]
        .filter(({ user }) => user === caller.user || this.sharesSessions)
        .map((session) => ({
          session_id: session.id,
          uri: this.sharesSessions ? `viking://session/${session.id}` : sessionUri(session),
          is_dir: true,
        }));
    }
    if (id === "" || rest.length > 0) return undefined;
    const call = `${request.method} ${[action, last].filter((each) => each !== undefined).join("/")}`;
    if (call === "POST messages")
      return this.#addMessages(caller, id, [bodyOf(request, this.profile, BODIES.message)]).answer;
    if (call === "POST messages/batch") {
      if (this.profile === "v03") return undefined;
      const { messages } = bodyOf<{ messages: VikingMessage[] }>(request, this.profile, BODIES.batch);
      return { ...this.#addMessages(caller, id, messages).answer, added: messages.length };
    }
    const session = sessions.get(`${caller.user}/${id}`);
    if (!["GET ", "DELETE ", "POST commit", "GET context"].includes(call)) return undefined;
    if (session === undefined) throw new VikingError("NOT_FOUND", `Session not found: ${id}`);
    if (call === "GET ") return { session_id: id, message_count: session.messages.length - session.archived };
    if (call === "POST commit")
      return this.#commit(caller, session, bodyOf(request, this.profile, BODIES.commit));
    if (call === "DELETE ") {
      sessions.delete(`${caller.user}/${id}`);
      return { session_id: id };
    }
    queryOf(request, this.profile, PARAMETERS.context);
    const messages = session.messages.slice(session.archived);
    return { latest_archive_overview: "", messages, estimatedTokens: tokensOf(messages), stats: {} };
  }

  #session({ user, account }: { user: string; account: string }, id: string): Session {
    const { sessions } = this.#account(account);
    const session = sessions.get(`${user}/${id}`) ?? {
      id,
      user,
      messages: [],
      archived: 0,
      archives: 0,
      hasFailedArchive: false,
    };
    sessions.set(`${user}/${id}`, session);
    return session;
  }

  #openSession(caller: Caller, { session_id: wanted }: { session_id?: string | null }): unknown {
    this.#sessions += 1;
    const { id } = this.#session(caller, wanted ?? `session-${this.#sessions}`);
    return { session_id: id, user: { account_id: caller.account, user_id: caller.user } };
  }

  #addMessages(caller: Caller, id: string, messages: readonly VikingMessage[]) {
    for (const [index, message] of messages.entries())
      if ((message.content ?? null) === null && (message.parts ?? null) === null)
        refuse([{ loc: ["body", index], msg: "Either content or parts must be given", type: "value_error" }]);
    const session = this.#session(caller, id);
    session.messages.push(...messages);
    const live = session.messages.slice(session.archived);
    return { answer: { session_id: id, message_count: live.length, pending_tokens: tokensOf(live) } };
  }

  #commit(
    caller: Caller,
    session: Session,
    { keep_recent_count: keep = 0 }: { keep_recent_count?: number },
  ): unknown {
    if (session.hasFailedArchive)
      throw new VikingError("FAILED_PRECONDITION", "An earlier archive of the session failed");
    const end = Math.max(session.archived, session.messages.length - keep);
    const messages = session.messages.slice(session.archived, end);
    if (messages.length === 0)
      return { session_id: session.id, status: "skipped", task_id: null, archive_uri: null, archived: false };
    session.archived = end;
    session.archives += 1;
    const archive = `archive_${String(session.archives).padStart(3, "0")}`;
    this.#later(() => {
      for (const [index, message] of messages.entries()) {
        const memory = this.extract(message);
        const name = createHash("sha256")
          .update(`${session.user}/${session.id}/${archive}/${index}`)
          .digest("hex");
        const uri = `viking://user/${caller.user}/memories/events/mem_${name.slice(0, 12)}.md`;
        if (memory !== undefined && memory !== "") this.#tree(caller).put(uri, memory);
      }
    });
    return {
      session_id: session.id,
      status: "accepted",
      task_id: this.#nextTask(),
      archive_uri: `${sessionUri(session)}/history/${archive}`,
      archived: true,
    };
  }

  #nextTask(): string {
    this.#tasks += 1;
    return `task-${this.#tasks}`;
  }

  // ---- Resources

  #upload(request: SeenRequest): unknown {
    const parts = (request.body as { multipart?: readonly FormPart[] } | undefined)?.multipart ?? [];
    const file = parts.find((part) => part.name === "file" && part.filename !== undefined);
    if (file === undefined)
      return refuse([{ loc: ["body", "file"], msg: "Field required", type: "missing" }]);
    const id = `upload_${this.#uploads.size + 1}`;
    this.#uploads.set(id, file);
    return { temp_file_id: id };
  }

  #addResource(files: VikingFiles, body: ResourceBody): unknown {
    const { path, temp_file_id: uploadId, to, parent } = body;
    if (((path ?? null) === null) === ((uploadId ?? null) === null))
      throw new VikingError("INVALID_ARGUMENT", "Either path or temp_file_id must be given");
    if (to && parent) throw new VikingError("INVALID_ARGUMENT", "Cannot specify both 'to' and 'parent'");
    const source = path ? this.#page(path) : this.#uploaded(uploadId ?? "", body.source_name);
    const name = (body.source_name || source.name).replace(/\.[a-z0-9]+$/i, "").replaceAll("/", "_");
    const place = to || `${(parent || "viking://resources").replace(/\/+$/, "")}/${name}`;
    const root = files.putResource(place, source.members, body.wait === true);
    return { root_uri: root, status: "success", errors: [], task_id: this.#nextTask() };
  }

  #page(path: string) {
    if (!/^(https?:\/\/|git@|ssh:\/\/|git:\/\/)/.test(path))
      throw new VikingError(
        "PERMISSION_DENIED",
        "The server takes remote addresses and uploaded files, no paths of its host",
      );
    const name = path.split("/").filter(Boolean).at(-1) ?? "page";
    return { name, members: [{ name: "content.md", content: this.pages.get(path) ?? `Text of ${path}` }] };
  }

  #uploaded(id: string, sourceName: string | null | undefined) {
    const file = this.#uploads.get(id);
    if (file === undefined) throw new VikingError("NOT_FOUND", `No uploaded file ${id}`);
    const name = sourceName || file.filename || "file";
    if (file.filename?.endsWith(".zip") !== true) return { name, members: [{ name, content: file.value }] };
    const members = readZip(file.bytes);
    if (members === undefined)
      throw new VikingError("INVALID_ARGUMENT", `${file.filename} is no zip archive`);
    return { name, members };
  }
}

// ---- Small parts

type ResourceBody = {
  readonly path?: string | null;
  readonly temp_file_id?: string | null;
  readonly to?: string | null;
  readonly parent?: string | null;
  readonly source_name?: string | null;
  readonly wait?: boolean;
};

const STANDARD_VERSIONS = { v03: "0.3.24", v04: "0.4.16" };

function sessionUri({ user, id }: Session): string {
  return `viking://session/${user}/${id}`;
}

function textOf({ content, parts }: VikingMessage): string {
  return content ?? (parts ?? []).map((part) => String(part.text ?? "")).join("\n");
}

function tokensOf(messages: readonly VikingMessage[]): number {
  return messages.reduce((sum, message) => sum + Math.ceil(textOf(message).length / 4), 0);
}
