// The active provider, started for one piece of work outside a conversation and shut down again: to be handed writes that a command
// made, or to erase a text. The built-in memory is written already, so nothing here rejects, and nothing takes longer than its time.
import type { MemoryConfig } from "../../config/index.ts";
import { type Clock, randomHex } from "../../lib/index.ts";
import type { Logger } from "../../lib/logger.ts";
import { activeProviderName } from "../discovery/find-providers.ts";
import { activateProvider } from "./activate.ts";
import { withDeadline } from "./deadlines.ts";
import type { MemoryManager } from "./manager.ts";
import type { MirroredWrite, ProviderForgot } from "./options.ts";
import { writeMetadata } from "./write-metadata.ts";

export type OneOffRequest = {
  readonly home: string;
  readonly config: MemoryConfig;
  /** One user of several; absent: the owner of the home. */
  readonly user?: { readonly platform: string; readonly userId: string };
  readonly log?: Logger;
  readonly clock?: Clock;
};

export type Mirrored =
  /** No provider is active, or there was nothing to hand over. */
  | { readonly kind: "none" }
  /** It was told. `isStored`: it said that it has each of them; `refused`: why it does not have some, a sentence each. */
  | {
      readonly kind: "mirrored";
      readonly provider: string;
      readonly writes: number;
      readonly isStored: boolean;
      readonly refused: readonly string[];
    }
  /** `reason` is a sentence. The provider has what it had before, or a part of the writes. */
  | { readonly kind: "failed"; readonly provider: string; readonly reason: string };

export type Forgot =
  | { readonly kind: "none" }
  | (ProviderForgot & { readonly provider: string })
  /** It could not be asked: `reason` is a sentence. */
  | { readonly kind: "failed"; readonly provider: string; readonly reason: string };

/** A person waits in front of the command. */
const WRITES_MS = 5_000;
const FORGET_MS = 30_000;
const DEADLINES_MS = { initialize: 5_000, drain: 0, shutdown: 2_000 };
/** Beside the work itself: loading, asking whether it is available, starting, shutting down. */
const AROUND_MS = 10_000;

/**
 * Hands committed writes to the active provider as an agent would (`onMemoryWrite`, in order). `origin` is who wrote: `cli`, `mcp`,
 * `curator`. A user's plugin counts like a bundled one: its code runs, because it is the active provider and memory has changed.
 */
export async function mirrorWrites(
  request: OneOffRequest & { readonly writes: readonly MirroredWrite[]; readonly origin: string },
): Promise<Mirrored> {
  const { writes, origin, user } = request;
  if (writes.length === 0) return { kind: "none" };
  const platform = user?.platform ?? "cli";
  const done = await withProvider(request, WRITES_MS, async (manager, provider): Promise<Mirrored> => {
    const { failed, reports } = await manager.mirrorNow(
      writes,
      (oldText) => writeMetadata({ origin, platform, oldText }),
      WRITES_MS,
    );
    if (failed !== undefined) return { kind: "failed", provider, reason: failed };
    const refused = reports.flatMap((each) => (each.kind === "refused" ? [each.reason] : []));
    const isStored = reports.every(({ kind }) => kind === "stored");
    return { kind: "mirrored", provider, writes: writes.length, isStored, refused };
  });
  return done;
}

/** Erases a text in the active provider's store, or with `isDryRun` counts what would go. */
export async function forgetInProvider(
  request: OneOffRequest & { readonly text: string; readonly isDryRun: boolean },
): Promise<Forgot> {
  const { text, isDryRun } = request;
  return withProvider(request, FORGET_MS, async (manager, provider): Promise<Forgot> => {
    const outcome = await manager.forget(text, { isDryRun, deadlineMs: FORGET_MS });
    return { ...outcome, provider };
  });
}

export type Scrubbed =
  | { readonly kind: "none" }
  /** `live`: how many of the texts are in records of the provider's own, which stay. `remaining`: why deleted text may be left. */
  | {
      readonly kind: "scrubbed";
      readonly provider: string;
      readonly live: number;
      readonly remaining?: string;
    }
  | { readonly kind: "cannot"; readonly provider: string }
  | { readonly kind: "failed"; readonly provider: string; readonly reason: string };

/**
 * Has the active provider erase what it deleted, to the bytes: texts that its live records hold are left alone. A provider that
 * erases one text may clean its whole file with it, so the rest is only asked for what is left.
 */
export async function scrubInProvider(
  request: OneOffRequest & { readonly texts: readonly string[] },
): Promise<Scrubbed> {
  const texts = [...new Set(request.texts)];
  if (texts.length === 0) return { kind: "none" };
  const until = performance.now() + FORGET_MS;
  return withProvider(request, FORGET_MS, async (manager, provider): Promise<Scrubbed> => {
    let live = 0;
    let isCleaned = false;
    let remaining: string | undefined;
    for (const text of texts) {
      const deadlineMs = until - performance.now();
      if (deadlineMs <= 0)
        return { kind: "failed", provider, reason: `It did not finish within ${FORGET_MS / 1000} s.` };
      const look = await manager.forget(text, { isDryRun: true, deadlineMs });
      if (look.kind !== "forgot") return { ...look, provider };
      if (look.erased > 0) live += 1;
      if (look.erased > 0 || (isCleaned && look.remaining === undefined)) continue;
      if (remaining !== undefined) continue; // another process is in the way; it still is
      const done = await manager.forget(text, { isDryRun: false, deadlineMs });
      if (done.kind !== "forgot") return { ...done, provider };
      isCleaned = true;
      remaining = done.remaining;
    }
    return { kind: "scrubbed", provider, live, ...(remaining === undefined ? {} : { remaining }) };
  });
}

type Failed = { readonly kind: "failed"; readonly provider: string; readonly reason: string };

async function withProvider<T extends { readonly kind: string }>(
  { home, config, user, log, clock }: OneOffRequest,
  workMs: number,
  work: (manager: MemoryManager, provider: string) => Promise<T>,
): Promise<T | Failed | { readonly kind: "none" }> {
  const name = activeProviderName(config.provider);
  if (name === "") return { kind: "none" };
  const failed = (reason: string): Failed => ({ kind: "failed", provider: name, reason });
  const troubles: string[] = [];
  const timed = await withDeadline({ ms: workMs + AROUND_MS }, async (): Promise<T | Failed> => {
    const active = await activateProvider({
      home,
      config,
      sessionId: `memory-${randomHex(6)}`,
      options: {
        platform: user?.platform ?? "cli",
        agent_context: "primary",
        ...(user === undefined ? {} : { user_id: user.userId }),
      },
      deadlinesMs: DEADLINES_MS,
      onTrouble: (text) => troubles.push(text),
      ...(log === undefined ? {} : { log }),
      ...(clock === undefined ? {} : { clock }),
    });
    if (active.kind !== "active") return failed(active.kind === "unavailable" ? active.reason : "It is off.");
    try {
      const [trouble] = troubles;
      if (trouble !== undefined) return failed(trouble); // it did not start; its calls would do nothing, and say nothing
      return await work(active.manager, name);
    } finally {
      await active.manager.shutdownAll();
    }
  });
  return timed.kind === "done"
    ? timed.value
    : failed(`It did not finish within ${(workMs + AROUND_MS) / 1000} s.`);
}
