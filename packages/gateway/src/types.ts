// The nouns of the gateway: who calls (Caller), for whom and in which conversation (Identity), one model request (ModelTurn), and the
// routes. answer.ts is the story of a model request; app.ts mounts the routes; serve.ts is the life of the server.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import type { Clock } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { Memory, UserMemory } from "@hermes-memory/core/internal/memory";
import type { JsonObject } from "./problem.ts";
import type { Wire, WireRequest } from "./wires/wire.ts";

// ---- Who ----

/** A user of a shared home, as `memory.user()` takes one. */
export type UserRef = { readonly platform: string; readonly id: string };

export type PersonRef = {
  /** Undefined: the owner of the home. */
  readonly user: UserRef | undefined;
  /** The profile that config maps this identity to; undefined for the served home. */
  readonly profile: string | undefined;
};

/** Who sent the request, by its token. Made by tokens.ts only. */
export type Caller =
  /** Has the local token: the owner's rights, and may name users. */
  { readonly kind: "local" } | ({ readonly kind: "token"; readonly id: string } & TokenPowers);

export type TokenPowers = { readonly rights: TokenRights; readonly limits?: TokenLimits };

/** What a token may use of the server's models, as tokens.json has it. Absent: no limit. */
export type TokenLimits = {
  /** Names, or beginnings such as `gpt-*`. */
  readonly models?: readonly string[];
  /** Per day in UTC, for all users of the token together. The cost is in US dollars. */
  readonly requests_per_day?: number;
  readonly tokens_per_day?: number;
  readonly cost_per_day?: number;
  /** Users that a `names-users` token may name; 0 for any number. Absent: `gateway.max_users`. */
  readonly max_users?: number;
};

export type TokenRights =
  /** The owner's own memory and sessions. */
  | { readonly kind: "owner" }
  /** One user, whatever the request says. */
  | { readonly kind: "user"; readonly user: UserRef }
  /** A program with users of its own, such as Open WebUI: each request names one, on this platform; without a name it is refused. */
  | { readonly kind: "names-users"; readonly platform: string }
  /** Sees all users. Names one to act for them; without a name it acts for the owner. */
  | { readonly kind: "admin" };

/** The program that sent the request, as far as it can be told from its headers and body. */
export type ClientName =
  | "claude-code"
  | "codex"
  | "opencode"
  | "kilo"
  | "open-webui"
  | "librechat"
  | "lobechat"
  | "unknown";

/** How the conversation was found. The order of the issue: the first that is present counts. */
type SessionKind =
  | "hermes-session-id"
  | "claude-code"
  | "codex"
  | "opencode"
  | "open-webui"
  | "conversation"
  | "previous-response"
  | "litellm"
  | "session-key"
  | "prefix";

/** The conversation of a request. */
export type SessionRef = {
  readonly kind: SessionKind;
  /** For `UserMemory`: names the conversation among those of the user. For `prefix` and `previous-response`: undefined until looked up. */
  readonly chatId: string | undefined;
  /**
   * `client`: the request has the whole conversation, and the stored one follows it. `server`: the request has only what is new (Hermes
   * session ids, `conversation`, `previous_response_id`), and a longer list is compared with what is stored.
   */
  readonly history: "client" | "server";
  /** The owner's session gets exactly this id when it is created, so that an import of the client's transcript finds it. */
  readonly sessionId?: string;
  /** The conversation that started this one: Claude Code's subagents. */
  readonly parentChatId?: string;
  /** `X-Hermes-Session-Key`: the long-term scope, told to the provider; alone it names the conversation until it expires. */
  readonly sessionKey?: string;
  /** The platform's own ids, told to the provider. */
  readonly platformChatId?: string;
  readonly threadId?: string;
  /** `previous_response_id`. */
  readonly previousResponseId?: string;
};

export type Identity = PersonRef & { readonly client: ClientName; readonly session: SessionRef };

// ---- What goes wrong: problem.ts ----

export { type GatewayProblem, type JsonObject, ProblemError, refused } from "./problem.ts";

// ---- One model request ----

/** What a mode needs to answer a model request. */
export type ModelTurn = Pick<RouteRequest, "headers" | "signal" | "annotate" | "onSent"> & {
  readonly wire: Wire;
  readonly request: WireRequest;
  /** As it arrived: bytes, their SHA-256, and parsed. */
  readonly rawBody: Uint8Array;
  readonly bodyHash: string;
  readonly body: JsonObject;
  /** Of the address, with its question mark: `?beta=true`. The proxy forwards it on the same wire. */
  readonly query?: string;
  readonly identity: Identity;
  /** Absent: without limits. */
  readonly caller?: Caller;
  /** The conversation, looked up: `identity.session` with its chat id. */
  readonly chatId: string;
  /** The memory of `identity.user` in the home of `identity.profile`. */
  readonly memory: UserMemory;
  /** The credential that the client sent and that is no token of ours; forwarded to the vendor of the same wire only. */
  readonly clientCredential:
    | { readonly header: "authorization" | "x-api-key"; readonly value: string }
    | undefined;
  /** Names the request for recognising retries: `Idempotency-Key`, or the hash of the body when the client says that it retries. */
  readonly retryKey: string | undefined;
  /** Of a conversation that was not found: to be saved as soon as its session exists, so that a repetition of this request finds it. */
  readonly requestMarks?: readonly string[];
  readonly gateway: Gateway;
  /** Call before waiting for the model: the next request of the user may be worked on. */
  readonly prepared?: () => void;
};

/** Answers one model request: `answerAsAgent`, `answerAsProxy`, `answerAuxiliary`. Throws `ProblemError`. */
export type Answer = (turn: ModelTurn) => Promise<Response>;

// ---- The gateway ----

export type GatewaySettings = HermesConfig["gateway"];

/** What every route has at hand. One per server. */
export interface Gateway {
  readonly home: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** config.yaml as it is now; read again when the file changes. */
  config(): Promise<HermesConfig>;
  /** The opened home of a profile; undefined: the served one. Throws `ProblemError` for an unknown profile. */
  memory(profile: string | undefined): Memory;
  readonly metrics: Metrics;
  readonly events: Events;
  /** Requests being answered, waited for at shutdown. */
  readonly isStopping: boolean;
}

/** Counters and times for `/metrics`. Names without the prefix `hermes_`; label values are few and never user data. */
export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>, by?: number): void;
  observe(name: string, seconds: number, labels?: Readonly<Record<string, string>>): void;
  gauge(name: string, read: () => number): void;
}

/** What the dashboard watches. Each event belongs to one person and is shown to them and to an administrator. Never a text. */
export type GatewayEvent = NewEvent & { readonly at: string };

type NewEvent = PersonRef & {
  readonly type:
    | "turn-start"
    | "turn-end"
    | "memory-write"
    | "recall"
    | "session-start"
    | "session-end"
    | "compaction"
    | "notice";
  readonly session_id?: string;
  readonly [field: string]: unknown;
};

export interface Events {
  /** Now. */
  emit(event: NewEvent): void;
  /** Until the returned function is called. */
  listen(listener: (event: GatewayEvent) => void): () => void;
}

/** What a route tells about its request, for spans, metrics and the access log. Never a text, a title or an id of a user. */
export type RequestFacts = {
  readonly mode?: "agent" | "proxy" | "auxiliary";
  readonly client?: ClientName;
  readonly model?: string;
  readonly isStream?: boolean;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Only its hash is exported. */
  readonly user?: UserRef;
};

// ---- Routes ----

export type Route = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** As Hono writes it: `/api/sessions/:id`. */
  readonly path: string;
  /**
   * `open`: no token, no data (`/healthz`). `user`: the caller's own data. `admin`: an admin token, or a local caller. `any-caller`: a valid
   * caller of any kind, but nobody's data (`/v1/models`).
   */
  readonly access: "open" | "any-caller" | "user" | "admin";
  /** One sentence for the reference. */
  readonly summary: string;
  /** How problems are rendered. */
  readonly shape: "api" | "chat" | "responses" | "messages" | "plain";
  readonly handle: (request: RouteRequest, gateway: Gateway) => Promise<Response>;
};

/** A request whose caller is known. */
export type RouteRequest = {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  /** As Node received them, for headers that may not be repeated. */
  readonly rawHeaders: readonly string[];
  readonly params: Readonly<Record<string, string>>;
  readonly caller: Caller;
  /** The caller's memory in the right home: the token's user, or the one that the caller may name. Throws `ProblemError`. */
  person(): Promise<PersonRef & { readonly memory: UserMemory }>;
  /** At most `gateway.max_body_bytes`. Throws `ProblemError` (413, 408, 400). */
  bytes(): Promise<Uint8Array>;
  json(): Promise<JsonObject>;
  /** May be called several times, until the reply has been sent; tokens add up. */
  annotate?(facts: RequestFacts): void;
  /** Called when the whole reply has been sent; not if the client left before. */
  onSent?(listener: () => void): void;
  /** Before the work on a model request: resolves to `ModelTurn.prepared`. */
  work?(): Promise<(() => void) | undefined>;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
};
