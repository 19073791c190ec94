// Erasing in a networked memory. What waits here is erased first, after a delivery of it that is under way; what has reached the server
// is found there afterwards. A server that cannot be reached is a part of the report and no error: the rest is done.
import { describeForeign, type ForgetReport } from "@hermes-memory/core/internal/providers";
import { ServiceError } from "../http.ts";
import type { OutboxLane } from "../outbox/outbox.ts";
import type { Link } from "./link.ts";
import type { CommonSettings } from "./service.ts";

/** Less than the deadline of the caller, who would otherwise not learn what was erased. */
const SERVER_MS = 25_000;

export type Erasing<S extends CommonSettings> = {
  readonly label: string;
  readonly link: Link<S>;
  readonly outbox: OutboxLane;
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
};

export async function forgetText<S extends CommonSettings>(
  erasing: Erasing<S>,
  text: string,
): Promise<ForgetReport> {
  const { outbox, link, isDryRun } = erasing;
  const { mirrors } = outbox;
  const mirrored = mirrors.containing(text);
  const queued = await outbox.forget(text, isDryRun);
  const connection = link.current();
  const atServer = await askServer(erasing, (signal) => connection.forget(text, isDryRun, signal));
  if (typeof atServer !== "string") {
    // They were needed to find the entries at the server.
    if (!isDryRun) for (const each of mirrored) mirrors.remove(each);
    return { ...atServer, erased: atServer.erased + queued };
  }
  const [count, it] =
    mirrored.length === 1 ? ["1 mirrored entry", "it"] : [`${mirrored.length} mirrored entries`, "them"];
  const names =
    isDryRun || mirrored.length === 0
      ? ""
      : ` Until then memory_outbox.db keeps the text of ${count}, which is needed to find ${it} there.`;
  return { erased: queued, remaining: `${atServer}${names}` };
}

export async function eraseEverything<S extends CommonSettings>(erasing: Erasing<S>): Promise<ForgetReport> {
  const { label, outbox, link, isDryRun } = erasing;
  const waiting = await outbox.eraseAll(isDryRun);
  if (!link.isOwnMemory) {
    const remaining = `All users share one memory at ${label} (user_scope: shared), so nothing was erased there.`;
    return { erased: waiting, remaining };
  }
  const connection = link.current();
  const atServer = await askServer(erasing, (signal) => connection.eraseUser(isDryRun, signal));
  const erased = waiting + (isDryRun ? 0 : await outbox.eraseAll(false)); // what came meanwhile
  return typeof atServer === "string"
    ? { erased, remaining: atServer }
    : { ...atServer, erased: atServer.erased + erased };
}

/** The server's report, or why it could not do it. */
async function askServer<S extends CommonSettings>(
  { label, link, isDryRun, signal }: Erasing<S>,
  work: (signal: AbortSignal) => Promise<ForgetReport>,
): Promise<ForgetReport | string> {
  const answersBefore = link.answers;
  try {
    return await work(AbortSignal.any([signal, AbortSignal.timeout(SERVER_MS)]));
  } catch (cause) {
    const reason = cause instanceof ServiceError ? cause.message : describeForeign(cause);
    const extent = link.answers === answersBefore ? "Nothing" : "Not everything";
    const what = isDryRun ? `${label} could not be searched` : `${extent} was erased at ${label}`;
    return `${what}: ${reason.replace(/[^.!?]$/, "$&.")} Run the command again when it can be reached.`;
  }
}

// ---- For services ----

/** The notes that are not empty are what remains. */
export function reportOf(erased: number, notes: readonly (string | false)[]): ForgetReport {
  const remaining = notes.filter((note) => note !== false && note !== "").join(" ");
  return remaining === "" ? { erased } : { erased, remaining };
}

/** Requests at the same time. */
const PARALLEL = 8;

/** The results in the order of the items. */
export async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
  return results;
}

type Stored = { readonly id: string; readonly text: string };

export type Listed = {
  readonly found: readonly Stored[];
  /** False: the server has more than it lists. */
  readonly isWhole: boolean;
};

/** Listings: each shows the next memories after those before it were deleted. */
const ROUNDS = 100;

/** Erases the chosen ones of a list, until it shows no further ones. */
export async function eraseListed(
  isChosen: (memory: Stored) => boolean,
  isDryRun: boolean,
  { list, remove }: { readonly list: () => Promise<Listed>; readonly remove: (id: string) => Promise<void> },
): Promise<{ readonly erased: number; readonly isWhole: boolean }> {
  const erased = new Set<string>();
  for (let round = 1; ; round += 1) {
    const { found, isWhole } = await list();
    const chosen = found.filter((memory) => isChosen(memory) && !erased.has(memory.id));
    const ids = [...new Set(chosen.map(({ id }) => id))];
    for (const id of ids) erased.add(id);
    if (!isDryRun) await inParallel(ids, remove);
    if (isDryRun || isWhole || ids.length === 0 || round === ROUNDS) return { erased: erased.size, isWhole };
  }
}
