// What is checked before any route sees a request: its form (header smuggling, tricks with paths), by which name it calls the server
// (DNS rebinding), which web page sent it, its size, and how often its sender calls. Pure, except for Limits, which counts, and readBody.
// app.ts calls them in the order of this file.
import { isIPv4, isIPv6 } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { Clock } from "@hermes-memory/core/internal/lib";
import {
  type GatewayProblem,
  type GatewaySettings,
  type JsonObject,
  ProblemError,
  type Route,
  refused,
  type UserRef,
} from "./types.ts";

export type GuardRequest = {
  readonly method: string;
  /** The target of the request line, as Node received it: `/v1/models?limit=1`. */
  readonly url: string;
  /** As Node received them: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  /** The address that the server was told to listen on: `127.0.0.1`, `0.0.0.0`, `mybox.lan`. */
  readonly boundHost: string;
  readonly port: number;
};

// ---- Form ----

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** Two programs that read such a request may each believe another one of them. */
const ONCE = [
  "host",
  "authorization",
  "x-api-key",
  "x-hermes-token",
  "content-length",
  "content-type",
  "transfer-encoding",
  "origin",
  "idempotency-key",
  "mcp-session-id",
] as const;

/** Besides what Node's parser refuses: a missing Host, wrong or two lengths, line breaks in headers. */
export function checkForm(request: GuardRequest): void {
  if (!METHODS.has(request.method))
    throw bad("bad-method", "This server does not know the method of the request.", 405);
  for (const name of ONCE)
    if (valuesOf(request, name).length > 1)
      throw bad("repeated-header", `The header '${name}' was sent more than once.`);
  const [encoding] = valuesOf(request, "transfer-encoding");
  if (encoding !== undefined && encoding.toLowerCase() !== "chunked")
    throw bad("bad-encoding", "The only Transfer-Encoding that this server reads is 'chunked'.");
  if (!isPlainPath(request.url))
    throw bad("bad-path", "The path of the request is not one that this server reads.");
}

/** After one decoding, a segment of a path has none of these, and is neither `.` nor `..`. */
const NOT_IN_SEGMENT = /[/\\\u0000-\u001f\u007f]/;
const DOTS = /^\.{1,2}$/;

/**
 * Ids in paths may contain `%` (sent as `%25`): session ids do. A segment that leads upwards or holds U+0000 however often it is
 * decoded is refused.
 */
function isPlainPath(url: string): boolean {
  const path = url.split("?", 1)[0] ?? "";
  if (!path.startsWith("/") || path.startsWith("//") || /[\\#\u0000-\u0020\u007f-\uffff]/.test(url))
    return false;
  for (const segment of path.split("/").slice(1)) {
    if (DOTS.test(segment) || /%2e/i.test(segment)) return false;
    let text = segment;
    for (let round = 0; text.includes("%"); round += 1) {
      const decoded = decodedOnce(text);
      if (decoded === undefined) {
        if (round === 0) return false;
        break; // `%25` before other text: the id contains a percent sign
      }
      if (round === 0 && NOT_IN_SEGMENT.test(decoded)) return false;
      if (decoded.includes("\0") || decoded.split(/[/\\]/).some((part) => DOTS.test(part))) return false;
      if (decoded === text) break;
      text = decoded;
    }
  }
  return true;
}

function decodedOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

// ---- Host ----

const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,252}))(?::(\d{1,5}))?$/i;

/**
 * A page can make its own name resolve to this machine, but cannot change the name that the browser then sends in Host. So only names
 * that nobody else can point here are answered: loopback, the address that the server is bound to, and `gateway.allowed_hosts`.
 */
export function checkHost(request: GuardRequest, settings: Pick<GatewaySettings, "allowedHosts">): void {
  const given = valuesOf(request, "host")[0] ?? "";
  const host = hostOf(given);
  if (host === undefined) throw bad("bad-host", "The Host header is not the name of a server.");
  if (isOwnName(host, request) || settings.allowedHosts.some((allowed) => isAllowedBy(allowed, host))) return;
  throw refused(403, "host-not-allowed", {
    message: `This server does not answer to the name '${given.toLowerCase()}'.`,
    hint: `If it is yours, allow it on the server: hermes config set gateway.allowed_hosts '["${host.name}"]'`,
  });
}

type Host = { readonly name: string; readonly port: number | undefined };

function hostOf(text: string): Host | undefined {
  const [, name, port] = HOST.exec(text) ?? [];
  if (name === undefined || Number(port ?? 1) > 65_535) return undefined;
  if (name.startsWith("[") && !isIPv6(name.slice(1, -1))) return undefined;
  const plain = name.toLowerCase().replace(/\.$/, "");
  return { name: plain, port: port === undefined ? undefined : Number(port) };
}

function isOwnName({ name, port }: Host, { boundHost, port: own }: GuardRequest): boolean {
  if ((port ?? 80) !== own) return false;
  const bare = name.replace(/^\[|\]$/g, "");
  const bound = boundHost.toLowerCase().replace(/^\[|\]$/g, "");
  // Bound to every address of the machine: an address is no name that a page could point here.
  const isAnyAddress = ["0.0.0.0", "::", ""].includes(bound) && (isIPv4(bare) || isIPv6(bare));
  return isLoopbackName(bare) || bare === bound || isAnyAddress;
}

function isAllowedBy(allowed: string, { name, port }: Host): boolean {
  const entry = hostOf(allowed.trim());
  return (
    entry !== undefined && entry.name === name && (entry.port === undefined || entry.port === (port ?? 80))
  );
}

/** `localhost`, 127.0.0.0/8 and ::1, without brackets. */
export function isLoopbackName(name: string): boolean {
  if (name === "localhost" || name === "::1" || name === "0:0:0:0:0:0:0:1") return true;
  const mapped = name.replace(/^::ffff:/i, "");
  return isIPv4(mapped) && mapped.startsWith("127.");
}

/** A server that listens on every address is shown by the one that always works here. */
export function urlHost(host: string): string {
  const shown = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return shown.includes(":") && !shown.startsWith("[") ? `[${shown}]` : shown;
}

// ---- Origin ----

/** The page that sent the request. `cors`: of another origin that config allows; its answers need `corsHeaders`. */
export type Origin = { readonly kind: "none" | "own" } | { readonly kind: "cors"; readonly origin: string };

/** Call after `checkHost`: the origin of our own pages is known by it. */
export function checkOrigin(request: GuardRequest, settings: Pick<GatewaySettings, "corsOrigins">): Origin {
  const given = valuesOf(request, "origin")[0]?.toLowerCase();
  const site = valuesOf(request, "sec-fetch-site")[0]?.toLowerCase();
  if (given === undefined || given === "") {
    if (site === "cross-site" || site === "same-site") throw foreignPage("another page");
    return { kind: "none" };
  }
  const host = valuesOf(request, "host")[0]?.toLowerCase() ?? "";
  if (given === `http://${host}` || given === `https://${host}`) return { kind: "own" };
  const isAllowed = settings.corsOrigins.some((origin) => originText(origin) === given);
  // `null` is the origin of every sandboxed page and local file, so listing it would allow all of them.
  if (isAllowed && given !== "null" && given !== "*") return { kind: "cors", origin: given };
  throw foreignPage(/^[a-z][a-z0-9+.-]*:\/\/[\w.:[\]-]{1,255}$/.test(given) ? `'${given}'` : "another page");
}

function originText(setting: string): string {
  return setting.trim().toLowerCase().replace(/\/$/, "");
}

function foreignPage(page: string): ProblemError {
  return refused(403, "origin-not-allowed", {
    message: `Scripts of ${page} may not call this server.`,
    hint: "If the page is yours, add its origin on the server to gateway.cors_origins, such as https://chat.example.org",
  });
}

/** The answer to a browser that asks whether a page may send a request: without a token, because browsers send none with the question. */
export function preflight(
  request: GuardRequest,
  origin: Origin,
): { readonly status: 204; readonly headers: Readonly<Record<string, string>> } | undefined {
  const [method] = valuesOf(request, "access-control-request-method");
  if (request.method !== "OPTIONS" || method === undefined || origin.kind !== "cors") return undefined;
  const [asked = ""] = valuesOf(request, "access-control-request-headers");
  const isList = asked.length <= 4_096 && /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/.test(asked);
  const isPrivate = valuesOf(request, "access-control-request-private-network")[0] === "true";
  return {
    status: 204,
    headers: {
      ...answerHeaders(origin),
      "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
      ...(isList && { "access-control-allow-headers": asked }),
      ...(isPrivate && { "access-control-allow-private-network": "true" }),
      "access-control-max-age": "600",
    },
  };
}

/**
 * For every answer, also those to refused requests. Never `*`, and never credentials: there are no cookies, and pages send their token in a
 * header.
 */
export function answerHeaders(origin: Origin): Readonly<Record<string, string>> {
  return {
    "content-security-policy":
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
    vary: "Origin",
    ...(origin.kind === "cors" && {
      "access-control-allow-origin": origin.origin,
      "access-control-expose-headers": "X-Hermes-Session-Id, Retry-After, X-Request-Id, Mcp-Session-Id",
    }),
  };
}

// ---- Size ----

/** The largest body that a route takes, and the key that raises it. */
export type BodyLimit = { readonly bytes: number; readonly key: string };

/** Routes in the shape of `/api`, MCP among them, take small JSON; only model requests carry conversations and pictures. */
export function bodyLimit(
  shape: Route["shape"],
  { maxBodyBytes, maxApiBodyBytes }: GatewaySettings,
): BodyLimit {
  return shape === "api" && maxApiBodyBytes < maxBodyBytes
    ? { bytes: maxApiBodyBytes, key: "gateway.max_api_body_bytes" }
    : { bytes: maxBodyBytes, key: "gateway.max_body_bytes" };
}

/** What the client says; 0 if it says nothing. */
export function declaredBytes(request: GuardRequest): number {
  return Number(valuesOf(request, "content-length")[0] ?? 0);
}

/** Before a byte of the body is read. */
export function checkLength(request: GuardRequest, limit: BodyLimit): void {
  if (declaredBytes(request) > limit.bytes) throw tooLarge(limit);
}

/** A sender that lies about the length, or sends slowly, is stopped while it sends. Throws `ProblemError`: 413, 408, 400. */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  limits: {
    readonly limit: BodyLimit;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
    /** Told of each piece; what it throws ends the reading. */
    readonly onPiece?: (bytes: number, total: number) => void;
  },
): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const { limit, timeoutMs, signal, onPiece } = limits;
  const slow = AbortSignal.timeout(timeoutMs);
  const stop = AbortSignal.any(signal === undefined ? [slow] : [slow, signal]);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    stop.throwIfAborted();
    for await (const chunk of Readable.fromWeb(body as NodeStream<Uint8Array>, { signal: stop })) {
      bytes += chunk.byteLength;
      if (bytes > limit.bytes) throw tooLarge(limit);
      onPiece?.(chunk.byteLength, bytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes);
  } catch (cause) {
    if (cause instanceof ProblemError) throw cause;
    if (!slow.aborted) throw bad("body-incomplete", "The request ended before all of its body arrived.");
    const said = `The request did not arrive within ${Math.round(timeoutMs / 1000)} s.`;
    throw bad("body-too-slow", said, 408);
  }
}

/** `unpacked`: the body had fewer bytes before it was unpacked. */
export function tooLarge({ bytes, key }: BodyLimit, unpacked = ""): ProblemError {
  return refused(413, "body-too-large", {
    message: `The request has more than ${bytes} bytes${unpacked}, which is the most that this server takes here.`,
    hint: `Send less, or raise ${key} on the server.`,
  });
}

/** Each message of a list has some fields and parts. */
export const VALUES_PER_MESSAGE = 25;

/** After parsing and before anything else is done: lists that would keep the server busy for seconds. */
export function checkItems(body: JsonObject, maxMessages: number): number {
  let most = 0;
  for (const [name, list] of Object.entries(body)) {
    if (!Array.isArray(list)) continue;
    if (list.length > maxMessages)
      throw tooMany(`The list '${name.slice(0, 40)}' has more than ${maxMessages} items`);
    most = Math.max(most, list.length);
  }
  return most;
}

export function tooMany(what: string): ProblemError {
  return refused(413, "too-many-items", {
    message: `${what}, which is the most that this server takes.`,
    hint: "Shorten the conversation, or raise gateway.max_messages on the server.",
  });
}

// ---- How often, and how much ----

type Rates = "requestsPerMinute" | "megabytesPerMinute" | "messagesPerMinute";
type LimitSettings = Pick<GatewaySettings, Rates | "concurrentRequests" | "tokenShare" | "maxHeldBytes">;

export type Limits = ReturnType<typeof createLimits>;
/** A request that was let in. */
export type Entered = ReturnType<Limits["enter"]>;

/** Wrong tokens of one address: so many at once, then one in this time. A token has 256 random bits, so this only keeps the log short. */
const FAILURES = 20;
const FAILURE_SECONDS = 3;
/** Users, tokens and addresses that are counted. Beyond it the ones that have been quiet longest start again. */
const MOST_COUNTED = 20_000;
/** Requests of one user that are worked on at a time: however many a user sends, others wait for few of them. */
const AT_WORK = 4;
/** This share of `max_held_bytes` is open to every user, however much others hold. */
const OWN_SHARE = 1 / 32;

type Kind = "requests" | "bytes" | "messages";
/** `left`: something may be spent as long as at least 1 is left, so the last request may leave a debt. */
type Account = {
  readonly left: Partial<Record<Kind, number>>;
  atMs: number;
  running: number;
  held: number;
  working: number;
  readonly waiting: (() => void)[];
};
/** Per minute, and at once; 0 for no limit. */
type Budgets = Partial<Record<Kind, { readonly perMinute: number; readonly most: number }>>;
/** Whose account it is, for messages, and what may be spent of it. */
type Party = { readonly whose: string; readonly account: Account; readonly budgets: Budgets };

/** Throws what is beyond a limit. */
export function createLimits({ clock }: { readonly clock: Clock }) {
  const users = new Map<string, Account>();
  const tokens = new Map<string, Account>();
  const addresses = new Map<string, Account>();
  let held = 0;

  /** Most recently used. */
  function accountOf(all: Map<string, Account>, name: string): Account {
    const atMs = clock.now().getTime();
    const account = all.get(name) ?? { left: {}, atMs, running: 0, held: 0, working: 0, waiting: [] };
    all.delete(name);
    all.set(name, account);
    if (all.size > MOST_COUNTED) forgetQuiet(all);
    return account;
  }

  /** From all parties, or from none if one of them has nothing left. */
  function spend(parties: readonly Party[], kind: Kind, amount: number): void {
    const nowMs = clock.now().getTime();
    for (const { account, budgets, whose } of parties) {
      fill(account, budgets, nowMs);
      const [left = 0, perMinute = 0] = [account.left[kind], budgets[kind]?.perMinute];
      if (left < 1) throw overspent(kind, whose, perMinute, Math.ceil(((1 - left) / perMinute) * 60));
    }
    for (const { account } of parties) account.left[kind] = (account.left[kind] ?? 0) - amount;
  }

  return {
    /** A request begins: it counts for its user, and for its token with all users that the token names. */
    enter(who: { readonly user: string; readonly token: string }, settings: LimitSettings) {
      const { concurrentRequests, tokenShare, maxHeldBytes } = settings;
      const user = {
        whose: "this user",
        account: accountOf(users, who.user),
        budgets: budgetsOf(settings, 1),
      };
      const token = {
        whose: "all users of this token",
        account: accountOf(tokens, who.token),
        budgets: budgetsOf(settings, tokenShare),
      };
      for (const [{ whose, account }, most] of [
        [user, concurrentRequests],
        [token, concurrentRequests * tokenShare],
      ] as const) {
        if (account.running < most) continue;
        const message = `${most} requests of ${whose} are running, which is the most at one time.`;
        throw busy(
          "too-many-at-once",
          message,
          1,
          "Wait for one of them, or raise gateway.concurrent_requests.",
        );
      }
      const parties = [user, token];
      spend(parties, "requests", 1);
      for (const { account } of parties) account.running += 1;
      let own = 0;
      let isOver = false;
      let isAtWork = false;
      const release = (): void => {
        if (!isAtWork) return;
        isAtWork = false;
        const next = user.account.waiting.shift();
        if (next === undefined) user.account.working -= 1;
        else next();
      };
      return {
        /** Before work on so many bytes, or messages, of its body. */
        spend: (kind: "bytes" | "messages", amount: number): void => spend(parties, kind, amount),
        /** So many more bytes of its body are in memory, until it leaves. */
        hold(bytes: number): void {
          own += bytes;
          held += bytes;
          user.account.held += bytes;
          const isOpen = user.account.held <= maxHeldBytes * OWN_SHARE;
          if (held > maxHeldBytes && !isOpen) throw new ProblemError(FULL);
        },
        /** Waits while several requests of this user are worked on; call the result when it waits for its model. */
        async work(): Promise<() => void> {
          if (user.account.working < AT_WORK) user.account.working += 1;
          else await new Promise<void>((resolve) => user.account.waiting.push(resolve));
          isAtWork = true;
          if (isOver) release(); // its client left meanwhile
          return release;
        },
        /** It has been answered. More than once does no harm. */
        leave(): void {
          if (isOver) return;
          isOver = true;
          release();
          held -= own;
          user.account.held -= own;
          for (const { account } of parties) account.running -= 1;
        },
      };
    },

    /** A request from this address had a wrong token. Throws once it tries too often. Right tokens are never slowed down. */
    failed(address: string | undefined): void {
      const budgets = { requests: { perMinute: 60 / FAILURE_SECONDS, most: FAILURES } };
      const account = accountOf(addresses, address ?? "unknown");
      fill(account, budgets, clock.now().getTime());
      const { requests: left = 0 } = account.left;
      if (left >= 1) {
        account.left.requests = left - 1;
        return;
      }
      const message = "Too many requests from this address had no token of this server, or a wrong one.";
      const hint =
        "A right token is never slowed down: 'hermes token local' on the server's machine prints one.";
      throw busy("too-many-failures", message, FAILURE_SECONDS, hint);
    },
  };
}

/** Half a minute's bytes and messages at once: the largest request takes a quarter of a minute's. */
function budgetsOf(settings: LimitSettings, share: number): Budgets {
  const { requestsPerMinute, megabytesPerMinute, messagesPerMinute } = settings;
  const budget = (perMinute: number, most: number) => ({ perMinute: perMinute * share, most: most * share });
  return {
    requests: budget(requestsPerMinute, requestsPerMinute),
    bytes: budget(megabytesPerMinute * 1e6, megabytesPerMinute * 5e5),
    messages: budget(messagesPerMinute, messagesPerMinute / 2),
  };
}

/** A budget that config did not have until now is full. */
function fill(account: Account, budgets: Budgets, nowMs: number): void {
  const minutes = Math.max(0, nowMs - account.atMs) / 60_000;
  account.atMs = nowMs;
  for (const kind of ["requests", "bytes", "messages"] as const) {
    const { most, perMinute } = budgets[kind] ?? { most: 0, perMinute: 0 };
    const left = Math.min(most, (account.left[kind] ?? most) + minutes * perMinute);
    account.left[kind] = perMinute === 0 ? Number.POSITIVE_INFINITY : left;
  }
}

function overspent(kind: Kind, whose: string, perMinute: number, waitSeconds: number): ProblemError {
  const [amount, unit] = kind === "bytes" ? [perMinute / 1e6, "megabytes"] : [perMinute, kind];
  const hint = `Wait, or raise gateway.${unit}_per_minute on the server.`;
  return busy(`too-many-${kind}`, `Per minute, ${whose} may send ${amount} ${unit}.`, waitSeconds, hint);
}

const FULL: GatewayProblem = {
  status: 503,
  code: "server-full",
  message: "The server is working on as many large requests as it may hold.",
  hint: "Send it again in some seconds, or raise gateway.max_held_bytes on the server.",
  retryAfterSeconds: 2,
};

/** One that is not running, among the first few: those that are go to the end, so that the next call looks at others. */
function forgetQuiet(all: Map<string, Account>): void {
  let looked = 0;
  for (const [name, account] of all) {
    all.delete(name);
    if (account.running === 0) return;
    all.set(name, account);
    looked += 1;
    if (looked === 8) return;
  }
}

/** The name under which a person's requests are counted. Not in logs or metrics: it has the user's id. */
export function limitKey(user: UserRef | undefined, profile: string | undefined): string {
  return JSON.stringify([profile ?? null, user?.platform ?? null, user?.id ?? null]);
}

function busy(code: string, message: string, retryAfterSeconds: number, hint: string): ProblemError {
  return new ProblemError({ status: 429, code, message, hint, retryAfterSeconds });
}

// ---- Headers ----

function valuesOf({ rawHeaders }: GuardRequest, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? "");
  return values;
}

function bad(code: string, message: string, status: GatewayProblem["status"] = 400): ProblemError {
  return new ProblemError({ status, code, message });
}
