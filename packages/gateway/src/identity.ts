// For whom a request is, and in which conversation. Pure. The user: by the caller's rights, and by the names that headers or body give.
// The conversation: the first id that is present, in the order of `sessionOf`. Two different ids never become one: nothing is trimmed,
// folded or decoded twice, and an id that cannot be told apart from another one is refused.
import { parseProfileName } from "@hermes-memory/core/internal/home";
import { isRecord, outsideJsonOr, sha256 } from "@hermes-memory/core/internal/lib";
import { transcriptSessionId } from "@hermes-memory/core/internal/sessions";
import { jwtSecretOf, verifyUserJwt } from "./jwt.ts";
import {
  type Caller,
  type ClientName,
  type GatewayProblem,
  type GatewaySettings,
  type Identity,
  type ModelTurn,
  type PersonRef,
  ProblemError,
  refused,
  type SessionRef,
  type UserRef,
} from "./types.ts";
import type { WireRequest } from "./wires/wire.ts";

export type IdentitySettings = Pick<GatewaySettings, "identityProfiles" | "jwtSecret"> &
  Partial<Pick<GatewaySettings, "jwtAudience" | "jwtMaxAgeHours">>;

type Asked = {
  readonly caller: Caller;
  /** As Node received them: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  readonly settings: IdentitySettings;
  /** For `gateway.jwt_secret: $NAME`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: Date;
};

/** For a model request. `request`: undefined before the body is read; then the body names neither user nor conversation. */
export function identify(asked: Asked & { readonly request: WireRequest | undefined }): Identity {
  const read = readHeaders(asked);
  const user = userOf(asked, read, asked.request?.ids.user);
  const profile = profileOf(user, asked.settings);
  const client = clientOf(read, asked.request);
  const session = sessionOf(read, asked.request, { client, isOwner: user === undefined });
  return { user, profile, client, session };
}

/** For `/api` and `/mcp`: as `identify`, and whoever may name users may also write `?user=platform:id`. */
export function personOf(asked: Asked & { readonly query: URLSearchParams }): PersonRef {
  const byHeaders = userOf(asked, readHeaders(asked), undefined);
  const named = userInQuery(asked.query);
  const user = named === undefined ? byHeaders : chosenByQuery(asked.caller, byHeaders, named);
  return { user, profile: profileOf(user, asked.settings) };
}

/** An admin token, or the local one. */
export function isAdministrator(caller: Caller): boolean {
  return caller.kind === "local" || caller.rights.kind === "admin";
}

/** An admin token that names no user sees what belongs to all. The local one, and everybody else, sees their own. */
export function seesAll(caller: Caller, user: UserRef | undefined): boolean {
  return caller.kind === "token" && caller.rights.kind === "admin" && user === undefined;
}

// ---- Headers ----

/** The headers that say who and where. One that is repeated, or written with other separators, is refused: the next program in line might read the other one. */
const IDENTITY_HEADERS = new Set([
  "x-hermes-user-id",
  "x-openwebui-user-id",
  "x-openwebui-user-jwt",
  "x-sm-user-id",
  "x-hermes-session-id",
  "x-hermes-session-key",
  "x-claude-code-session-id",
  "x-claude-code-agent-id",
  "session-id",
  "thread-id",
  "x-codex-parent-thread-id",
  "x-opencode-session",
  "x-session-affinity",
  "x-parent-session-id",
  "x-openwebui-chat-id",
]);
/** Codex wrote them like this until version 0.130, and some programs send both. */
const OTHER_SPELLINGS = new Set(["session_id", "thread_id"]);

type Pairs = readonly (readonly [name: string, value: string])[];

/** The value of an identity header as the sender wrote it; undefined when it is absent or empty. */
type Read = {
  text(name: string): string | undefined;
  /** An id: as `text`, and checked by `checkId`. */
  id(name: string): string | undefined;
  /** Of any header, for recognising programs. */
  raw(name: string): string;
  has(name: string): boolean;
};

function readHeaders({ rawHeaders }: Pick<Asked, "rawHeaders">): Read {
  const pairs = pairsOf(rawHeaders);
  const found = new Map<string, string>();
  for (const [name, value] of pairs) {
    const canonical = name.replaceAll("_", "-");
    if (!IDENTITY_HEADERS.has(canonical)) continue;
    if (name !== canonical && !OTHER_SPELLINGS.has(name))
      throw refusal(
        "bad-header",
        `The header '${canonical}' was sent with other separators.`,
        `Send it as '${canonical}', once.`,
      );
    const before = found.get(canonical);
    const isSecondSpelling = before !== undefined && pairs.filter(([each]) => each === name).length === 1;
    if (before !== undefined && !(isSecondSpelling && before === value))
      throw refusal("repeated-header", `The header '${canonical}' was sent more than once.`, "Send it once.");
    found.set(canonical, value);
  }
  const text = (name: string): string | undefined => {
    const value = found.get(name);
    if (value === undefined || value === "") return undefined;
    const decoded = decodeHeader(value);
    if (decoded === undefined) throw refusal("bad-id", `The header '${name}' is not text in UTF-8.`);
    return decoded;
  };
  return {
    text,
    id: (name) => optionalId(text(name), name),
    raw: (name) => pairs.find(([each]) => each === name)?.[1] ?? "",
    has: (name) => pairs.some(([each]) => each === name),
  };
}

/** Names in lower case, values as Node gives them: one character per byte. */
function pairsOf(rawHeaders: readonly string[]): Pairs {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    pairs.push([(rawHeaders[at] ?? "").toLowerCase(), rawHeaders[at + 1] ?? ""]);
  return pairs;
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined for bytes that are not UTF-8: read as Latin-1, they could spell an id that another program sends in UTF-8. */
function decodeHeader(value: string): string | undefined {
  if (/^[\x20-\x7e]*$/.test(value)) return value;
  try {
    return UTF_8.decode(Buffer.from(value, "latin1"));
  } catch {
    return undefined;
  }
}

// ---- Ids ----

const MAX_ID_CHARS = 4_096;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
/** A variable that the sender's settings did not fill in. All its users would become one. */
const PLACEHOLDER = /^(?:\{\{\s*[\w.:-]+\s*\}\}|\$\{\w+\})$/;

/** Any other text is an id. */
export function whyNoId(id: string): string | undefined {
  if (id.trim() === "") return "is blank";
  if (id.length > MAX_ID_CHARS) return `has ${id.length} characters, and ${MAX_ID_CHARS} is the most`;
  if (!id.isWellFormed()) return "contains half of a surrogate pair";
  if (CONTROL.test(id)) return "contains control characters";
  return PLACEHOLDER.test(id) ? "is a placeholder that the client has not filled in" : undefined;
}

/** The id, unchanged. `name`: the header, field or flag, for the message. */
function checked(id: string, name: string): string {
  const why = whyNoId(id);
  if (why === undefined) return id;
  throw refused(400, "bad-id", {
    message: `The id in '${name}' ${why}.`,
    param: name,
  });
}

/** `platform:id`. The platform has no colon, the id may. */
export function parseUserRef(text: string, name: string): UserRef {
  const colon = text.indexOf(":");
  if (colon < 0)
    throw refused(400, "bad-user", {
      message: `'${name}' must be a platform and an id, such as open-webui:alice.`,
      param: name,
    });
  return { platform: checked(text.slice(0, colon), name), id: checked(text.slice(colon + 1), name) };
}

// ---- Who ----

type Named = {
  readonly by: string;
  readonly id: string;
  readonly isOpenWebUi: boolean;
  readonly isSigned: boolean;
};

const OPEN_WEBUI = "open-webui";

function userOf(
  { caller, settings, env, now }: Asked,
  read: Read,
  bodyUser: string | undefined,
): UserRef | undefined {
  const names = namesInHeaders(read, settings, env, now);
  const rights = caller.kind === "local" ? { kind: "admin" as const } : caller.rights;
  if (rights.kind === "owner" || rights.kind === "user") {
    const own = rights.kind === "user" ? rights.user : undefined;
    const other = names.find(({ id }) => id !== own?.id);
    // Never ignored: the users of a program that forwards its users' names would otherwise share one memory.
    if (other !== undefined) throw notYours(other.by);
    return own;
  }
  // A secret for Open WebUI's users would protect nothing if its token could name them in other ways.
  const isSignedOnly =
    rights.kind === "names-users" && rights.platform === OPEN_WEBUI && settings.jwtSecret.trim() !== "";
  if (isSignedOnly && (bodyUser !== undefined || names.some(({ isSigned }) => !isSigned))) {
    if (names.some(({ isSigned }) => !isSigned) || names.length === 0) throw new ProblemError(UNSIGNED);
    return { platform: rights.platform, id: names[0]?.id ?? "" };
  }
  if (bodyUser !== undefined) {
    const id = checked(bodyUser, "user");
    names.push({ by: "the field 'user'", id, isOpenWebUi: false, isSigned: false });
  }
  const [first, ...others] = names;
  const other = others.find(({ id }) => id !== first?.id);
  if (first !== undefined && other !== undefined)
    throw refusal(
      "users-disagree",
      `${first.by} and ${other.by} name different users.`,
      "Send one of them. LibreChat: add 'user' to dropParams of the endpoint, or use its id in the header.",
    );
  if (first !== undefined) return { platform: platformOf(rights, first), id: first.id };
  if (rights.kind === "admin") return undefined;
  throw refusal(
    "no-user",
    "This token acts for the users of a program, and the request names none.",
    "Send the user's id in X-Hermes-User-Id, or forward user headers (Open WebUI: ENABLE_FORWARD_USER_INFO_HEADERS=true).",
  );
}

function platformOf(
  rights: { readonly kind: "admin" } | { readonly kind: "names-users"; readonly platform: string },
  { isOpenWebUi }: Named,
): string {
  if (rights.kind === "names-users") return rights.platform;
  return isOpenWebUi ? OPEN_WEBUI : "api";
}

/** In the order in which they count. */
function namesInHeaders(read: Read, settings: IdentitySettings, env: Asked["env"], now: Date): Named[] {
  const names: Named[] = [];
  for (const [header, isOpenWebUi] of [
    ["x-hermes-user-id", false],
    ["x-openwebui-user-jwt", true],
    ["x-openwebui-user-id", true],
    ["x-sm-user-id", false],
  ] as const) {
    if (!read.has(header)) continue;
    const text = read.text(header) ?? "";
    const isSigned = header === "x-openwebui-user-jwt";
    if (header === "x-openwebui-user-id" && settings.jwtSecret.trim() !== "")
      throw new ProblemError(UNSIGNED);
    const id = checked(isSigned ? signedUser(text, settings, env, now) : text, header);
    names.push({ by: `the header '${header}'`, id, isOpenWebUi, isSigned });
  }
  return names;
}

const UNSIGNED: GatewayProblem = {
  status: 403,
  code: "unsigned-user",
  message: "The user that this request names is not signed, and gateway.jwt_secret demands signed users.",
  hint: "Set FORWARD_USER_INFO_HEADER_JWT_SECRET of Open WebUI to the secret of gateway.jwt_secret.",
};

function signedUser(jwt: string, settings: IdentitySettings, env: Asked["env"], now: Date): string {
  const secret = jwtSecretOf(settings.jwtSecret, env);
  if (secret.kind === "off")
    throw refused(403, "jwt-not-configured", {
      message:
        "The request has a signed user (x-openwebui-user-jwt), and this server has no secret to verify it.",
      hint: "Set gateway.jwt_secret to FORWARD_USER_INFO_HEADER_JWT_SECRET of Open WebUI.",
    });
  if (secret.kind === "missing")
    throw refused(503, "jwt-not-configured", {
      message: `gateway.jwt_secret names the environment variable ${secret.variable}, which is not set.`,
      hint: `Set ${secret.variable} for the server, or in the .env file of the home, and start it again.`,
    });
  const subject = verifyUserJwt(jwt, secret.value, {
    now,
    audience: settings.jwtAudience,
    maxAgeHours: settings.jwtMaxAgeHours,
  });
  if (subject.ok) return subject.value;
  const message = `The signed user (x-openwebui-user-jwt) was refused, because it ${subject.error}.`;
  throw refused(401, "bad-user-jwt", { message });
}

function userInQuery(query: URLSearchParams): UserRef | undefined {
  const [given, ...more] = query.getAll("user");
  if (more.length > 0) throw refusal("bad-user", "'user' was given more than once.");
  return given === undefined ? undefined : parseUserRef(given, "user");
}

function chosenByQuery(caller: Caller, byHeaders: UserRef | undefined, named: UserRef): UserRef {
  if (byHeaders?.platform === named.platform && byHeaders.id === named.id) return named;
  if (!isAdministrator(caller)) throw notYours("'user'");
  // A header that names nobody leaves the choice to the query.
  if (byHeaders === undefined) return named;
  throw refusal("users-disagree", "A header and 'user' name different users.", "Send one of them.");
}

function notYours(by: string): ProblemError {
  return refused(403, "not-your-user", {
    message: `This token belongs to one person, and ${by} names another.`,
    hint: "For a program that serves several users, make a token with 'hermes token create --names-users --platform <name>'.",
  });
}

/** Only users are mapped; the owner's home is the served one. */
function profileOf(user: UserRef | undefined, { identityProfiles }: IdentitySettings): string | undefined {
  if (user === undefined) return undefined;
  const keys = [`${user.platform}:${user.id}`, `${user.platform}:*`];
  const key = keys.find((each) => Object.hasOwn(identityProfiles, each));
  if (key === undefined) return undefined;
  const name: unknown = identityProfiles[key];
  const profile = typeof name === "string" ? parseProfileName(name) : undefined;
  if (profile?.ok) return profile.value;
  // Never the served home instead: the user's memory would be written to another place than the one that was chosen.
  throw refused(503, "bad-profile", {
    message: `gateway.identity_profiles names no valid profile for '${user.platform}:${key.endsWith(":*") ? "*" : "..."}'.`,
    hint: "Run 'hermes config check' on the server.",
  });
}

// ---- Which program ----

/** By what programs say of themselves; nothing is allowed or refused because of it. */
function clientOf(read: Read, request: WireRequest | undefined): ClientName {
  const agent = read.raw("user-agent");
  const title = read.raw("x-title").toLowerCase();
  if (
    read.has("x-claude-code-session-id") ||
    /^claude-(?:cli|code)\//i.test(agent) ||
    claudeSession(request) !== undefined
  )
    return "claude-code";
  if (
    /^codex[ _-]/i.test(agent) ||
    /^codex[ _-]/i.test(read.raw("originator")) ||
    read.has("x-codex-turn-metadata") ||
    read.has("x-codex-window-id")
  )
    return "codex";
  if (read.has("x-opencode-session") || /^opencode\//i.test(agent)) return "opencode";
  if (/^kilo-code\//i.test(agent)) return "kilo";
  if (OPEN_WEBUI_HEADERS.some((name) => read.has(name)) || title === "open webui") return "open-webui";
  if (/librechat/i.test(agent) || title === "librechat") return "librechat";
  if (/lobe-?(?:chat|hub)/i.test(agent) || /^lobe ?(?:chat|hub)$/.test(title)) return "lobechat";
  return "unknown";
}

const OPEN_WEBUI_HEADERS = ["chat-id", "user-id", "user-jwt", "message-id"].map(
  (name) => `x-openwebui-${name}`,
);

/** Stored as the source of a conversation: the program, or the platform of the user. */
export function sourceOf({ client, user }: Identity): string {
  return client === "unknown" ? (user?.platform ?? "api") : client;
}

// ---- Which conversation ----

type Place = { readonly client: ClientName; readonly isOwner: boolean };
type Found = Omit<SessionRef, "sessionKey" | "previousResponseId">;

function sessionOf(read: Read, request: WireRequest | undefined, place: Place): SessionRef {
  const sessionKey = read.id("x-hermes-session-key");
  const previous = optionalId(request?.ids.previousResponseId, "previous_response_id");
  // The first that finds an id counts.
  const found =
    byHermesId(read) ??
    byClaudeCode(read, request, place) ??
    byCodex(read, request, place) ??
    byOpencode(read, place) ??
    byOpenWebUi(read) ??
    byBody(request) ??
    bySessionKey(sessionKey) ??
    ({ kind: "prefix", chatId: undefined, history: "client" } as const);
  return {
    ...found,
    ...(sessionKey !== undefined && { sessionKey }),
    // Whoever continues a stored response sends only what is new, whatever names the conversation.
    ...(previous !== undefined && { previousResponseId: previous, history: "server" as const }),
  };
}

/** The text itself, which may also be the id of a session. One of another user is simply a chat that this user does not have. */
function byHermesId(read: Read): Found | undefined {
  const id = read.id("x-hermes-session-id");
  return id === undefined ? undefined : { kind: "hermes-session-id", chatId: id, history: "server" };
}

type Client = {
  readonly source: "codex" | "opencode" | "kilo";
  readonly parent: string | undefined;
  /** The form of the ids by which the importer names sessions. */
  readonly form: RegExp;
  readonly isOwner: boolean;
};

function ofClient(kind: "codex" | "opencode", id: string, { source, parent, form, isOwner }: Client): Found {
  return {
    kind,
    chatId: chatIdOf(`${source}-`, id),
    history: "client",
    ...(isOwner && form.test(id) && { sessionId: transcriptSessionId(source, id) }),
    ...(parent !== undefined && parent !== id && { parentChatId: chatIdOf(`${source}-`, parent) }),
    platformChatId: id,
  };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const AGENT_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** Of opencode, and of Kilo Code, which is made from it. */
const SES_ID = /^ses_[0-9A-Za-z]{1,64}$/;

function byClaudeCode(read: Read, request: WireRequest | undefined, { isOwner }: Place): Found | undefined {
  const header = read.id("x-claude-code-session-id");
  const agent = read.id("x-claude-code-agent-id");
  const session = header ?? claudeSession(request);
  if (session === undefined) return undefined;
  const chatId = claudeChat(session, agent);
  return {
    kind: "claude-code",
    chatId: chatId.id,
    history: "client",
    ...(isOwner && chatId.isImported && { sessionId: chatId.id }),
    ...(agent !== undefined && {
      parentChatId: claudeChat(session, undefined).id,
      threadId: agent,
    }),
    platformChatId: session,
  };
}

/** As the importer names sessions and those of subagents. Ids of another form are hashed, so that no two pairs give the same text. */
function claudeChat(
  session: string,
  agent: string | undefined,
): { readonly id: string; readonly isImported: boolean } {
  const isImported = UUID.test(session) && (agent === undefined || AGENT_ID.test(agent));
  if (!isImported)
    return { id: `claude-code-~${sha256(JSON.stringify([session, agent ?? null]))}`, isImported };
  const own = agent === undefined ? session : `${session}-agent-${agent}`;
  return { id: transcriptSessionId("claude-code", own), isImported };
}

/**
 * The session in `metadata.user_id`, which Claude Code sends where the header is missing (before 2.1.86): JSON since 2.1.78, before it
 * `user_<hash>_account_<uuid>_session_<uuid>`.
 */
function claudeSession(request: WireRequest | undefined): string | undefined {
  const text = request?.wire === "messages" ? request.ids.metadataUserId : undefined;
  if (text === undefined || text.length > MAX_ID_CHARS) return undefined;
  const old = /^user_[0-9a-f]*_account_[0-9a-f-]*_session_([0-9a-f-]+)$/i.exec(text)?.[1];
  const parsed = text.startsWith("{") ? outsideJsonOr(text, undefined) : undefined;
  const session: unknown = old ?? (isRecord(parsed) && "device_id" in parsed ? parsed.session_id : undefined);
  return typeof session === "string" && UUID.test(session) ? session : undefined;
}

/**
 * The thread before the session: subagents have a thread of their own in the session that started them. `prompt_cache_key` counts for
 * Codex only, because other programs share one between conversations.
 */
function byCodex(
  read: Read,
  request: WireRequest | undefined,
  { client, isOwner }: Place,
): Found | undefined {
  const session = read.id("session-id");
  const key = client === "codex" ? optionalId(request?.ids.promptCacheKey, "prompt_cache_key") : undefined;
  const id = read.id("thread-id") ?? session ?? key;
  if (id === undefined) return undefined;
  const parent = read.id("x-codex-parent-thread-id") ?? session;
  return ofClient("codex", id, { source: "codex", parent, form: UUID, isOwner });
}

/** OpenCode sends `x-opencode-session` to its own service and `x-session-affinity` to the others, as Kilo does. */
function byOpencode(read: Read, { client, isOwner }: Place): Found | undefined {
  const isOne = client === "opencode" || client === "kilo";
  const id = read.id("x-opencode-session") ?? (isOne ? read.id("x-session-affinity") : undefined);
  if (id === undefined) return undefined;
  const parent = read.id("x-parent-session-id");
  const source = client === "kilo" ? "kilo" : "opencode";
  return ofClient("opencode", id, { source, parent, form: SES_ID, isOwner });
}

/** Temporary chats (`local:<socket>`) of one browser tab share an id, so they are told apart by their messages. */
function byOpenWebUi(read: Read): Found | undefined {
  const id = read.id("x-openwebui-chat-id");
  if (id === undefined || id.startsWith("local:")) return undefined;
  return {
    kind: "open-webui",
    chatId: chatIdOf("open-webui-", id),
    history: "client",
    platformChatId: id,
  };
}

function byBody(request: WireRequest | undefined): Found | undefined {
  const conversation = optionalId(request?.ids.conversation, "conversation");
  if (conversation !== undefined)
    return {
      kind: "conversation",
      chatId: chatIdOf("conversation-", conversation),
      history: "server",
    };
  if (request?.ids.previousResponseId !== undefined)
    return { kind: "previous-response", chatId: undefined, history: "server" };
  const litellm = optionalId(request?.ids.litellmSessionId, "litellm_session_id");
  if (litellm === undefined) return undefined;
  return { kind: "litellm", chatId: chatIdOf("litellm-", litellm), history: "client" };
}

function bySessionKey(key: string | undefined): Found | undefined {
  if (key === undefined) return undefined;
  return { kind: "session-key", chatId: chatIdOf("key-", key), history: "server" };
}

function optionalId(value: string | undefined, field: string): string | undefined {
  return value === undefined ? undefined : checked(value, field);
}

const HASHED = /^~[0-9a-f]{64}$/;

/** A chat id has at most 4,096 characters with its prefix. Ids that look like a hash are hashed too, so that no two share a chat. */
function chatIdOf(prefix: string, id: string): string {
  const isPlain = prefix.length + id.length <= MAX_ID_CHARS && !HASHED.test(id);
  return prefix + (isPlain ? id : `~${sha256(id)}`);
}

function refusal(code: string, message: string, hint?: string): ProblemError {
  return new ProblemError({ status: 400, code, message, ...(hint !== undefined && { hint }) });
}

// ---- Credentials ----

/** What tokens of `hermes token` start with. */
export const TOKEN_PREFIX = "hm_";

export type Credentials = {
  /** Ours: for `Tokens.authenticate`. */
  readonly token: string | undefined;
  /** The client's own for a model's vendor; `value` is the whole header. */
  readonly client: ModelTurn["clientCredential"];
};

const CREDENTIAL_HEADERS = ["x-hermes-token", "authorization", "x-api-key"] as const;

/**
 * Which of the headers is our token. A text with our prefix never counts as the client's own, so that it is not sent to a vendor.
 * `pathToken`: the one in the address, which must be the same.
 */
export function credentialOf(rawHeaders: readonly string[], pathToken?: string): Credentials {
  const pairs = pairsOf(rawHeaders);
  const tokens = new Set(pathToken === undefined ? [] : [pathToken]);
  let client: Credentials["client"];
  for (const header of CREDENTIAL_HEADERS) {
    const values = pairs.filter(([name]) => name === header).map(([, value]) => value.trim());
    const [value, ...more] = values;
    if (more.length > 0)
      throw refusal("repeated-header", `The header '${header}' was sent more than once.`, "Send it once.");
    if (value === undefined || value === "") continue;
    const bare = header === "authorization" ? value.replace(/^bearer[ \t]+/i, "") : value;
    if (header === "x-hermes-token" || bare.startsWith(TOKEN_PREFIX)) tokens.add(bare);
    else if (!holdsToken(value)) client ??= { header, value };
  }
  if (tokens.size > 1)
    throw refusal("two-tokens", "The request has two different tokens of this server.", "Send one of them.");
  return { token: [...tokens][0], client };
}

/** One of our tokens, written as something else: `Token hm_...`, or as the password of Basic. Nobody is let in by it, and it goes to no vendor. */
function holdsToken(value: string): boolean {
  const basic = /^basic[ \t]+([\w+/=-]+)$/i.exec(value)?.[1];
  const text = basic === undefined ? value : `${value} ${Buffer.from(basic, "base64").toString("latin1")}`;
  return new RegExp(`${TOKEN_PREFIX}[\\w-]{43}`).test(text);
}
