// The connection of a started provider. When the service refuses the key, the settings are read again; if they have changed, a new
// connection takes over. The outbox and prepared recall stay; what the old connection knew of its session is lost.
import { isDeepStrictEqual } from "node:util";
import type { Breaker, InitializeOptions } from "@hermes-memory/core/internal/providers";
import { createHttpClient, deliveryOf, type HttpFailure, ServiceError } from "../http.ts";
import { remoteUser } from "./identity.ts";
import type { CommonSettings, Connection, ConnectionContext, Service } from "./service.ts";
import type { Place } from "./settings.ts";

export type LinkOptions<S extends CommonSettings> = {
  readonly service: Service<S>;
  /** With the environment of this moment. */
  readonly place: () => Place;
  readonly options: InitializeOptions;
  /** The session of this moment. */
  readonly sessionId: () => string;
  readonly breaker: Breaker;
  readonly closing: AbortSignal;
  readonly base: Pick<ConnectionContext, "isWriting" | "outbox" | "log" | "clock" | "inBackground">;
  /** Least time between two looks at the settings, in milliseconds. */
  readonly renewMs: number;
};

export class Link<S extends CommonSettings> {
  readonly #options: LinkOptions<S>;
  #settings: S;
  #connection: Connection;
  #isOwnMemory = true;
  /** The service refused a call of this connection: the key, the plan, or the address. */
  #isRefused = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #answers = 0;

  constructor(options: LinkOptions<S>) {
    this.#options = options;
    const place = options.place();
    this.#settings = options.service.settings.read(place);
    this.#connection = this.#connect(place);
  }

  get settings(): S {
    return this.#settings;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** The remote memory belongs to this user alone. */
  get isOwnMemory(): boolean {
    return this.#isOwnMemory;
  }

  /** How many calls the service has answered. */
  get answers(): number {
    return this.#answers;
  }

  /** For calls that begin: with a new connection if an earlier call was refused and the settings have changed since. */
  current(): Connection {
    if (this.#isRefused) this.renew();
    return this.#connection;
  }

  /** True when the settings have changed: `connection` is a new one. Looks at most once per `renewMs`. */
  renew(): boolean {
    const { service, place, breaker, closing, base, renewMs } = this.#options;
    const now = performance.now();
    if (closing.aborted || now - this.#lookedAt < renewMs) return false;
    this.#lookedAt = now;
    const at = place();
    const settings = service.settings.read(at);
    if (isDeepStrictEqual(settings, this.#settings) || service.missing(settings) !== undefined) return false;
    this.#settings = settings;
    this.#connection = this.#connect(at);
    this.#isRefused = false;
    breaker.succeeded(); // its failures were those of the old key
    base.outbox.retryNow();
    base.log.info(`The settings of ${service.label} have changed; they are used from now on.`, {
      provider: service.name,
    });
    return true;
  }

  /** After `used` was refused: true when `connection` is another one now. */
  replaces(used: Connection): boolean {
    return this.renew() || this.#connection !== used;
  }

  #connect(place: Place): Connection {
    const { service, options, sessionId, breaker, closing, base } = this.#options;
    const user = remoteUser(options, this.#settings.userScope);
    this.#isOwnMemory = user !== undefined || (options.user_id ?? "") === "";
    const missing = service.missing(this.#settings);
    if (missing !== undefined) return unusable(missing);
    return service.connect(this.#settings, {
      ...place,
      ...base,
      options,
      sessionId: sessionId(),
      user,
      http: (own) =>
        createHttpClient({
          ...own,
          service: service.label,
          breaker,
          closing,
          onSuccess: () => {
            this.#answers += 1;
          },
          onFailure: (failure) => {
            this.#isRefused ||= isRefusal(failure);
          },
        }),
    });
  }
}

/** Without a key or a program: no tools, no prompt, no request. What waits in the outbox stays there. */
function unusable(message: string): Connection {
  const refuse = async (): Promise<never> => {
    throw new ServiceError({ kind: "unauthorised", message, mayHaveHappened: false });
  };
  return {
    inactive: message,
    promptBlock: () => "",
    tools: [],
    turnItems: () => [],
    entries: { cleaned: () => "", add: refuse, remove: refuse, find: refuse, recalls: refuse },
    deliver: refuse,
    check: refuse,
    forget: refuse,
    eraseUser: refuse,
  };
}

function isRefusal(failure: HttpFailure): boolean {
  return deliveryOf(failure).kind === "blocked";
}

/** Whether other settings may help. */
export function wasRefused(cause: unknown): boolean {
  return cause instanceof ServiceError && isRefusal(cause.failure);
}
