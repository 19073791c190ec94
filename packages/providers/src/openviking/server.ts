// One OpenViking server: which version it is, whose data a request concerns, and calls with the envelope `{status, result, error}` opened.
// Versions 0.3 and 0.4 differ in headers, in where memories are, and in what a key decides.
import { setTimeout as sleep } from "node:timers/promises";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { createRedactor } from "@hermes-memory/core/internal/security";
import {
  type HttpCall,
  type HttpClient,
  type HttpFailure,
  type HttpFailureKind,
  ServiceError,
} from "../kit/http.ts";
import { type Fields, fieldsOf, textIn } from "../kit/networked/answers.ts";
import type { ConnectionContext } from "../kit/networked/service.ts";
import { isVisibleTo } from "./places.ts";
import { DEFAULT_ENDPOINT, tenantUser, type VikingSettings } from "./settings.ts";

const CALL_MS = 30_000;
const HEALTH_MS = 3_000;

/** `unknown`: the server did not say; it is treated like 0.3 and gets only fields that both take. */
export type Wire = "0.3" | "0.4" | "unknown";

/** What `/health` said. */
export type ServerInfo = {
  readonly version: string;
  readonly wire: Wire;
  readonly authMode: string;
  /** The tenant user that every request concerns. */
  readonly user: string;
  /** The server may answer with data of other users, so that places have to be looked at. */
  readonly showsAll: boolean;
};

export class VikingServer {
  readonly #settings: VikingSettings;
  readonly #http: HttpClient;
  readonly #redact: (text: string) => string;
  /** A user of a gateway; undefined: the owner of the home. */
  readonly #person: string | undefined;
  readonly #ownUser: string;
  #info: ServerInfo | undefined;
  #asking: Promise<ServerInfo> | undefined;
  /** The server asked for the tenant's headers beside the key. */
  #wantsTenant = false;

  constructor(settings: VikingSettings, context: ConnectionContext) {
    this.#settings = settings;
    this.#person = context.user;
    this.#ownUser = tenantUser(settings.user, context.user);
    this.#redact = createRedactor([settings.apiKey]);
    this.#http = context.http({
      baseUrl: settings.endpoint || DEFAULT_ENDPOINT,
      timeoutMs: CALL_MS,
      headers: () => this.#headers(),
      messageOf: errorWords,
    });
  }

  /** Without a user and password. */
  get endpoint(): string {
    return this.#http.baseUrl;
  }

  /** Asks for the version until the server answers. */
  async watch(signal: AbortSignal, everyMs: number): Promise<void> {
    for (;;) {
      try {
        await this.info({ ignoresBreaker: true });
        return;
      } catch (cause) {
        if (!(cause instanceof ServiceError) || signal.aborted) throw cause;
        if (cause.failure.kind === "unauthorised") throw cause; // another answer needs another configuration
      }
      await sleep(everyMs, undefined, { signal, ref: false });
    }
  }

  /** What is known of the server; asks it if nothing is. Throws `ServiceError`. */
  async info({ ignoresBreaker }: Pick<HttpCall, "ignoresBreaker"> = {}): Promise<ServerInfo> {
    if (this.#info !== undefined) return this.#info;
    this.#asking ??= this.#askHealth(ignoresBreaker).finally(() => {
      this.#asking = undefined;
    });
    return await this.#asking;
  }

  /** Whether what is at a URI is this user's or everybody's. Throws `ServiceError`. */
  async visibility(): Promise<(uri: string) => boolean> {
    const { user, showsAll } = await this.info();
    const viewer = { user, isApart: this.#person !== undefined };
    return (uri) => !showsAll || isVisibleTo(viewer, uri);
  }

  /** The result of a call. Throws `ServiceError`. */
  async call(call: HttpCall): Promise<unknown> {
    await this.info(call);
    let answer = await this.#http.request(call);
    if (!answer.ok && this.#asksForTenant(answer.error)) {
      this.#wantsTenant = true;
      answer = await this.#http.request(call);
    }
    if (!answer.ok) {
      // It may come back as another version.
      if (answer.error.kind === "unreachable") this.#info = undefined;
      throw new ServiceError(answer.error);
    }
    if (answer.value === undefined && call.method === "DELETE") return undefined;
    return this.#opened(call, answer.value);
  }

  /** As `call`; undefined when the server says that the place or session does not exist. A 404 of something else in between is not that. */
  async find(call: HttpCall): Promise<unknown> {
    try {
      return (await this.call(call)) ?? null;
    } catch (cause) {
      if (isMissing(cause)) return undefined;
      throw cause;
    }
  }

  /** The result of a call that answers with an object. `{status: "ok"}` alone is what many other servers say, too. Throws `ServiceError`. */
  async record(call: HttpCall): Promise<Fields> {
    const result = await this.call(call);
    if (isRecord(result)) return result;
    throw this.foreign(call);
  }

  /** The objects that a call lists, in `key` of its result or as its result; [] for what does not exist. Throws `ServiceError`. */
  async list(call: HttpCall, key?: string): Promise<readonly Fields[]> {
    const result = await this.find(call);
    const list = key === undefined ? result : fieldsOf(result)[key];
    if (result === undefined) return [];
    if (Array.isArray(list) && list.every(isRecord)) return list;
    throw this.foreign(call);
  }

  async #askHealth(ignoresBreaker: boolean | undefined): Promise<ServerInfo> {
    const answer = await this.#http.request({
      method: "GET",
      path: "/health",
      timeoutMs: HEALTH_MS,
      isRepeatable: false,
      ignoresBreaker,
    });
    if (!answer.ok) return this.#withoutHealth(answer.error);
    const health = fieldsOf(answer.value);
    if (health.status !== "ok" && health.healthy !== true)
      throw failed(
        "bad-answer",
        `${this.endpoint}/health does not say that an OpenViking server is healthy.`,
      );
    const version = textIn(health.version);
    const wire = wireOf(version);
    this.#info = { version, wire, authMode: textIn(health.auth_mode), ...this.#userBy(health, wire) };
    return this.#info;
  }

  /** A server without this call is one of unknown version. Another refusal says nothing about the write that waits for the answer. */
  #withoutHealth(failure: HttpFailure): ServerInfo {
    if (failure.status === 404)
      return { version: "", wire: "unknown", authMode: "", ...this.#userBy({}, "unknown") };
    const isAboutHealth = failure.kind === "refused" || failure.kind === "conflict";
    const kind = isAboutHealth && failure.status !== undefined ? "bad-answer" : failure.kind;
    throw new ServiceError({ ...failure, kind, mayHaveHappened: false });
  }

  /** Whose data the server will take requests for. Refuses where users of a gateway would share one memory. */
  #userBy(health: Fields, wire: Wire): Pick<ServerInfo, "user" | "showsAll"> {
    const keyUser = textIn(health.user_id);
    const isByKey = this.#settings.apiKey !== "" && health.role !== "root" && keyUser !== "";
    if (this.#person === undefined) return { user: isByKey ? keyUser : this.#ownUser, showsAll: !isByKey };
    const mode = textIn(health.auth_mode);
    const isSeparate =
      this.#settings.apiKey === "" ||
      health.role === "root" ||
      (keyUser === "" ? wire === "0.3" || mode === "dev" || mode === "trusted" : keyUser === this.#ownUser);
    if (isSeparate) return { user: this.#ownUser, showsAll: !isByKey };
    throw failed(
      "unauthorised",
      "The key of OpenViking belongs to one tenant user, so the users of a gateway would share one memory, and nothing is sent for them. Use a server that takes the user from the request (no key, or a root key on 0.3), or set user_scope to shared.",
    );
  }

  #headers(): Readonly<Record<string, string>> {
    const { apiKey, account, agent, isTenantSet } = this.#settings;
    const wire = this.#info?.wire ?? "unknown";
    const isTenantSent = apiKey === "" || isTenantSet || this.#wantsTenant || this.#person !== undefined;
    return {
      ...(apiKey === "" ? {} : { "X-API-Key": apiKey }),
      ...(apiKey === "" || wire === "0.4" ? {} : { Authorization: `Bearer ${apiKey}` }),
      ...(isTenantSent ? { "X-OpenViking-Account": account, "X-OpenViking-User": this.#ownUser } : {}),
      [wire === "0.4" ? "X-OpenViking-Actor-Peer" : "X-OpenViking-Agent"]: agent,
    };
  }

  #asksForTenant({ status, detail }: HttpFailure): boolean {
    return status === 400 && !this.#wantsTenant && /x-openviking-account/i.test(detail);
  }

  /** The `result`. An answer without the envelope is not from OpenViking: taken for success, it would lose a write. */
  #opened(call: HttpCall, answer: unknown): unknown {
    const { status, result, error } = fieldsOf(answer);
    if (status === "ok") return result;
    if (status !== "error") throw this.foreign(call);
    const what = `${call.method} ${call.path}`;
    const words = this.#redact(errorWords({ error }) ?? "an error without a message");
    const kind = kindOf(textIn(fieldsOf(error).code));
    throw failed(kind, `OpenViking answered ${what} with ${words}`, words, answer);
  }

  foreign({ method, path }: HttpCall): ServiceError {
    const what = `The answer to ${method} ${path} from ${this.endpoint}`;
    return failed("bad-answer", `${what} is not one of OpenViking. Check OPENVIKING_ENDPOINT.`);
  }
}

function failed(kind: HttpFailureKind, message: string, detail = "", body?: unknown): ServiceError {
  const status = kind === "refused" ? { status: 400 } : {};
  return new ServiceError({ kind, message, detail, body, mayHaveHappened: true, ...status });
}

function isMissing(cause: unknown): boolean {
  if (!(cause instanceof ServiceError) || cause.failure.kind !== "not-found") return false;
  return ["NOT_FOUND", "SESSION_EXPIRED"].includes(codeOf(cause.failure));
}

/** "0.4.16" is 0.4; later versions keep its rules. 0.4.0 was not released with them. */
export function wireOf(version: string): Wire {
  const [, major = "", minor = "", patch = "0"] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(version) ?? [];
  if (major === "") return "unknown";
  const isNew = Number(major) > 0 || Number(minor) > 4 || (Number(minor) === 4 && Number(patch) >= 1);
  return isNew ? "0.4" : "0.3";
}

/** `<CODE>: <message>`, with the first validation errors. */
function errorWords(body: unknown): string | undefined {
  const { error } = fieldsOf(body);
  if (!isRecord(error)) return undefined;
  const problems = fieldsOf(error.details).validation_errors;
  const more = (Array.isArray(problems) ? problems : []).slice(0, 3).map((problem) => {
    const { loc, msg } = fieldsOf(problem);
    return ` (${Array.isArray(loc) ? loc.join(".") : ""}: ${textIn(msg)})`;
  });
  const words = [textIn(error.code), textIn(error.message)].filter((word) => word !== "").join(": ");
  return words === "" ? undefined : words + more.join("");
}

/** The code in an error body; "" without one. */
export function codeOf({ body }: HttpFailure): string {
  return textIn(fieldsOf(fieldsOf(body).error).code);
}

const KINDS: Readonly<Record<string, HttpFailureKind>> = {
  INVALID_ARGUMENT: "refused",
  INVALID_URI: "refused",
  FAILED_PRECONDITION: "refused",
  UNIMPLEMENTED: "refused",
  UNAUTHENTICATED: "unauthorised",
  PERMISSION_DENIED: "unauthorised",
  NOT_FOUND: "not-found",
  SESSION_EXPIRED: "not-found",
  ALREADY_EXISTS: "conflict",
  CONFLICT: "conflict",
  ABORTED: "conflict",
  RESOURCE_EXHAUSTED: "throttled",
};

function kindOf(code: string): HttpFailureKind {
  return KINDS[code] ?? "server";
}
