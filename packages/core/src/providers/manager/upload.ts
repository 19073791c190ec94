// Copying entries of the curated files that the active provider does not have: those written while it was off, or before it was set up.
import { pyStrip } from "../../lib/index.ts";
import { sanitizeContext } from "../../security/index.ts";
import { DEADLINES_MS } from "../contract.ts";
import {
  activeProviderName,
  bundledProviders,
  findBundled,
  ifReadable,
  type KnownEntry,
} from "../discovery/find-providers.ts";
import { loadProvider } from "../discovery/load-provider.ts";
import { currentSettings, inspectConnection } from "../setup/setup.ts";
import { type Failed, type None, type OneOffRequest, withProvider } from "./activate.ts";
import type { MemoryManager } from "./manager.ts";
import { writeMetadata } from "./memory-writes.ts";

/** An entry of `MEMORY.md` or `USER.md`. */
export type CuratedEntry = { readonly target: "memory" | "user"; readonly text: string };

export type Uploaded =
  | None
  /** The provider cannot take copies, or cannot say which entries it has. `reason` is a sentence. Nothing was copied. */
  | { readonly kind: "cannot"; readonly provider: string; readonly reason: string }
  | {
      readonly kind: "uploaded";
      readonly provider: string;
      /** Of a dry run: those that would be copied. */
      readonly copied: readonly CuratedEntry[];
      readonly present: readonly CuratedEntry[];
      /** In the outbox, from earlier or from now. */
      readonly waiting: readonly (CuratedEntry & { readonly reason: string })[];
      readonly refused: readonly (CuratedEntry & { readonly reason: string })[];
      /** Not tried, because the provider failed or the caller stopped. */
      readonly left: readonly CuratedEntry[];
      /** Why some are left. */
      readonly problem?: string;
    }
  | Failed;

export type UploadRequest = OneOffRequest & {
  readonly entries: readonly CuratedEntry[];
  /** Asks what the provider has, and copies nothing. */
  readonly isDryRun: boolean;
  /** For `onMemoryWrite`: `cli`, `library`. */
  readonly origin: string;
  /** Called after each entry. */
  readonly onProgress?: (done: number, total: number) => void;
  /** No further entry is begun once it is aborted. */
  readonly signal?: AbortSignal;
};

const WAITS = "It waits in the outbox.";
const REFUSED =
  "The server refused it before: 'hermes memory outbox list' shows why, 'retry' sends it again.";

/**
 * Each entry at most once: one that was sent, waits or was refused is known from the outbox; for others the provider is asked with a dry
 * run of `forget`. A service that does not answer ends it, because what it has is then not known. Never rejects.
 */
export async function uploadEntries(request: UploadRequest): Promise<Uploaded> {
  const { home, config, entries } = request;
  const name = activeProviderName(config.provider);
  if (name === "" || entries.length === 0) return { kind: "none" };
  const obstacle = await findObstacle(name, request);
  if (obstacle !== undefined) return { ...obstacle, provider: name };
  const known = await knownEntries(home, name);
  const workMs = entries.length * (DEADLINES_MS.forget + DEADLINES_MS.mirror);
  return withProvider(request, workMs, (manager) => copyMissing(name, manager, known, request));
}

/** Entries that were never put into the outbox of this provider. Reads the outbox only; the provider may have them from elsewhere. */
export async function notYetSent(
  home: string,
  provider: string,
  entries: readonly CuratedEntry[],
): Promise<readonly CuratedEntry[]> {
  if ((await findBundled(provider))?.rephrases === true) return [];
  const known = await knownEntries(home, provider);
  return entries.filter((entry) => stateOf(entry, known) === undefined);
}

async function knownEntries(home: string, provider: string): Promise<readonly KnownEntry[]> {
  const bundled = await bundledProviders();
  return bundled === undefined ? [] : ifReadable(() => bundled.knownEntries(home, provider));
}

async function findObstacle(
  name: string,
  { home, config }: OneOffRequest,
): Promise<{ readonly kind: "cannot" | "failed"; readonly reason: string } | undefined> {
  const unable = (reason: string) => ({ kind: "cannot" as const, reason });
  if ((await findBundled(name))?.rephrases === true)
    return unable("It keeps entries in a model's words and cannot say which ones it has.");
  const loaded = await loadProvider(home, name);
  if (!loaded.ok) return { kind: "failed", reason: loaded.error.message };
  const { provider } = loaded.value;
  if (provider.onMemoryWrite == null) return unable("It takes no copies of entries.");
  if (provider.forget == null) return unable("It has no way to say which entries it has.");
  const { mirror_memory } = await currentSettings(provider, home);
  if (mirror_memory === false || mirror_memory === "false")
    return unable(
      `Its setting mirror_memory is false. 'hermes memory setup ${name} --set mirror_memory=true' lets it take copies.`,
    );
  const connection = await inspectConnection(provider, { home, config });
  return connection.kind === "failed" ? { kind: "failed", reason: connection.message } : undefined;
}

async function copyMissing(
  provider: string,
  manager: MemoryManager,
  known: readonly KnownEntry[],
  { entries, isDryRun, origin, user, onProgress, signal }: UploadRequest,
): Promise<Uploaded> {
  // The longest first: a text that is part of a longer entry is found in that one too.
  const order = [...entries].sort((a, b) => b.text.length - a.text.length);
  const copied: CuratedEntry[] = [];
  const present: CuratedEntry[] = [];
  const waiting: (CuratedEntry & { reason: string })[] = [];
  const refused: (CuratedEntry & { reason: string })[] = [];
  const result = (problem?: string): Uploaded => {
    const done = new Set([...copied, ...present, ...waiting, ...refused].map(keyOf));
    const left = entries.filter((entry) => !done.has(keyOf(entry)));
    return { kind: "uploaded", provider, copied, present, waiting, refused, left, problem };
  };
  const metadata = writeMetadata({ origin, platform: user?.platform ?? "cli" });
  for (const [at, entry] of order.entries()) {
    if (signal?.aborted) return result("It was interrupted.");
    onProgress?.(at, order.length);
    const state = stateOf(entry, known);
    if (state === "sent") present.push(entry);
    if (state === "waiting") waiting.push({ ...entry, reason: WAITS });
    if (state === "refused") refused.push({ ...entry, reason: REFUSED });
    if (state !== undefined) continue;
    const text = asSent(entry.text);
    const found = await manager.forget(text, { isDryRun: true, deadlineMs: DEADLINES_MS.forget });
    if (found.kind !== "forgot")
      return result(found.kind === "failed" ? found.reason : "It cannot be asked.");
    const isIn = (other: CuratedEntry) => asSent(other.text) !== text && asSent(other.text).includes(text);
    const longer = isDryRun ? [...present, ...waiting] : [...present, ...waiting, ...copied];
    if (found.erased > longer.filter(isIn).length) {
      present.push(entry);
      continue;
    }
    if (isDryRun) {
      copied.push(entry);
      continue;
    }
    const write = { target: entry.target, op: { action: "add" as const, content: entry.text } };
    const { failed, reports } = await manager.mirrorNow([write], () => metadata, DEADLINES_MS.mirror);
    if (failed !== undefined) return result(failed);
    const [report] = reports;
    if (report?.kind === "queued") waiting.push({ ...entry, reason: report.reason });
    else if (report?.kind === "refused") refused.push({ ...entry, reason: report.reason });
    else copied.push(entry);
  }
  onProgress?.(order.length, order.length);
  return result();
}

function stateOf(
  { target, text }: CuratedEntry,
  known: readonly KnownEntry[],
): KnownEntry["state"] | undefined {
  const sent = asSent(text);
  const same = known.filter((each) => each.target === target && (each.text === sent || each.text === text));
  const states = same.map(({ state }) => state);
  return (["waiting", "sent", "refused"] as const).find((state) => states.includes(state));
}

/** As the networked providers store it. */
function asSent(text: string): string {
  return pyStrip(sanitizeContext(text.toWellFormed()));
}

function keyOf({ target, text }: CuratedEntry): string {
  return `${target}\n${text}`;
}
