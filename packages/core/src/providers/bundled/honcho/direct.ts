// Requests of commands and of setup, which have no agent: a client that ends with the command, and what a user reads about a failure.
import { Breaker } from "../../kit/breaker.ts";
import { createHttpClient, ServiceError } from "../../kit/http.ts";
import { aiPeer, findRepository, honchoSession, sessionKey, userPeer } from "./naming.ts";
import type { Peers } from "./session.ts";
import type { HonchoSettings } from "./settings.ts";
import { HonchoWire, honchoHttpOptions } from "./wire.ts";

const CHECK_MS = 10_000;

export function directWire(settings: HonchoSettings): HonchoWire {
  const http = createHttpClient({
    ...honchoHttpOptions(settings),
    service: "Honcho",
    breaker: new Breaker({ failures: Number.POSITIVE_INFINITY }),
    closing: new AbortController().signal,
  });
  return new HonchoWire(http, settings.workspace);
}

/** One request with the key, with a line for the user. */
export async function tryConnection(
  settings: HonchoSettings,
): Promise<{ readonly isUp: boolean; readonly line: string }> {
  try {
    await directWire(settings).ensureWorkspace(AbortSignal.timeout(CHECK_MS));
    return { isUp: true, line: `Honcho answers at ${settings.baseUrl}.` };
  } catch (cause) {
    return { isUp: false, line: `Honcho does not answer at ${settings.baseUrl}: ${failureText(cause)}` };
  }
}

/** Throws what is not a failed request. */
export function failureText(cause: unknown): string {
  if (cause instanceof ServiceError) return cause.failure.message;
  throw cause;
}

/** What the owner of the home is called in a session that starts in this directory. */
export function ownerNames(
  settings: HonchoSettings,
  cwd: string,
): { readonly peers: Peers; readonly session: string } {
  const runtime = { user: undefined, isByPlatform: true, ids: [] };
  const repository = findRepository(settings.sessionStrategy, cwd);
  const sources = { cwd, repository, title: undefined, gatewayKey: undefined, sessionId: "" };
  const name = sessionKey(settings, sources);
  const user = userPeer(settings, runtime, name.key);
  return {
    peers: { user: user.id, ai: aiPeer(settings, runtime, user) },
    session: honchoSession(name, runtime, { peer: user, gatewayKey: undefined }),
  };
}
