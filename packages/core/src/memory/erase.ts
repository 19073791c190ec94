// Erases everything of a person: sessions with what they spilled, files, journal, staged writes, and the provider's records.
//
// What stays: for a user, everything of others, also sessions that come from one of theirs. For the owner, everything of the users,
// and what is no memory of a person: SOUL.md, config.yaml, .env, skills, settings and call counts of providers, the log and the
// curator's reports (which quote no texts), files of other programs, and the lock files in `memories/`. Processes that run keep what
// they have in memory until they end.
//
// Each step can be repeated, and reports what it could not do in `remaining` instead of stopping the others. The files come first: a
// process that still runs copies them into the prompts of sessions and mirrors them to the provider, and not the other way round.
import { lstatSync, rmSync } from "node:fs";
import { chatHistoryPath, sessionFiles } from "../home.ts";
import { describeCause, HermesError } from "../lib/index.ts";
import type { Forgot } from "../providers/index.ts";
import type { ErasedSessions } from "../sessions/index.ts";
import { memoryFilesIn } from "./memory-files.ts";
import { ifUsable } from "./open-home.ts";
import type { Person } from "./types.ts";
import type { Erased } from "./user-memory.ts";

const LOCK_TIMEOUT_MS = 10_000;

/** Rejects only if the home is closed. With `dryRun` it counts what the same call without it would erase. */
export async function erasePerson(
  person: Person,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<Erased> {
  const files = await eraseFiles(person, dryRun);
  const sessions = await eraseSessions(person, dryRun);
  const typed = person.user === undefined ? eraseTyped(person, dryRun) : { files: 0, remaining: [] };
  const { provider, elsewhere } = await eraseRecords(person, dryRun);
  const remaining = [...sessions.remaining, ...files.remaining, ...typed.remaining, ...elsewhere];
  const { entries, archived, changes, pending } = files;
  return {
    entries,
    archived,
    changes,
    pending,
    sessions: sessions.sessions,
    messages: sessions.messages,
    files: files.files + sessions.files + typed.files,
    provider,
    remaining: provider.remaining === undefined ? remaining : [...remaining, provider.remaining],
  };
}

async function eraseSessions(person: Person, dryRun: boolean): Promise<ErasedSessions> {
  const none = { sessions: 0, messages: 0, files: 0, remaining: [] };
  try {
    const store = await person.sessions({ mode: dryRun ? "read" : "write" });
    return (await store?.eraseSessions({ ...sessionFiles(person.memory.home), dryRun })) ?? none;
  } catch (cause) {
    if (isClosed(cause)) throw cause;
    const why =
      cause instanceof HermesError
        ? [cause.message, cause.hint].filter(Boolean).join(" ")
        : describeCause(cause);
    return { ...none, remaining: [`Not all sessions were erased: ${why} Erase again then.`] };
  }
}

async function eraseFiles(person: Person, isDryRun: boolean) {
  const config = await ifUsable(person.memory.memoryConfig());
  const { eraseMemoryFiles } = await import("../curated/index.ts");
  const { directory: dir, pendingDirectory, user } = person;
  const lockTimeoutMs = config === undefined ? LOCK_TIMEOUT_MS : config.lockTimeoutSeconds * 1000;
  const folders = [memoryFilesIn(dir)];
  return eraseMemoryFiles({
    dir,
    pendingDirectory,
    folders,
    isOfUser: user !== undefined,
    lockTimeoutMs,
    isDryRun,
  });
}

/** The input history of the command line's chat. It has no users, so it is the owner's. */
function eraseTyped(
  person: Person,
  isDryRun: boolean,
): { readonly files: number; readonly remaining: readonly string[] } {
  const path = chatHistoryPath(person.memory.home);
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return { files: 0, remaining: [] };
    if (!isDryRun) rmSync(path);
    return { files: 1, remaining: [] };
  } catch (cause) {
    return {
      files: 0,
      remaining: [`${path} could not be deleted: ${describeCause(cause)}. Delete it yourself.`],
    };
  }
}

type Records = { readonly provider: Erased["provider"]; readonly elsewhere: readonly string[] };

async function eraseRecords(person: Person, isDryRun: boolean): Promise<Records> {
  try {
    const provider = outcomeOf(await person.provider.erase({ isDryRun }));
    const others = await person.provider.findElsewhere();
    const { bundledProviders, unreachableStores } = await import("../providers/index.ts");
    const notSearched = (await bundledProviders())?.unreadableOutboxes ?? unreachableStores;
    const elsewhere = [
      ...others.map(
        ({ provider: name, found }) =>
          `${found} '${name}' is not the active provider, so it is left alone: make it active and erase again.`,
      ),
      ...notSearched(person.memory.home).map(
        ({ problem, remedy }) =>
          `${problem} It may hold texts of this memory and was not searched. ${remedy}`,
      ),
    ];
    return { provider, elsewhere };
  } catch (cause) {
    if (isClosed(cause)) throw cause;
    // config.yaml cannot be read, so it is not known which provider is active.
    const remaining = `Records of a memory provider may be left: ${describeCause(cause)}. Correct that and erase again.`;
    return { provider: { name: undefined, erased: 0, remaining }, elsewhere: [] };
  }
}

function outcomeOf(outcome: Forgot): Erased["provider"] {
  if (outcome.kind === "none") return { name: undefined, erased: 0 };
  const { provider: name } = outcome;
  if (outcome.kind === "forgot") return { name, erased: outcome.erased, remaining: outcome.remaining };
  const why =
    outcome.kind === "cannot"
      ? "has no way to erase a user. What it has stored stays until you erase it there."
      : `erased nothing: ${outcome.reason} Correct that and erase again.`;
  return { name, erased: 0, remaining: `The memory provider '${name}' ${why}` };
}

function isClosed(cause: unknown): boolean {
  return cause instanceof HermesError && cause.code === "memory-closed";
}
