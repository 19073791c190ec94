// `hermes memory forget`: erases a text from every place of this memory, including the active provider's store, and lists the places
// that it cannot reach.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { type Forgotten, looksLikeId } from "@hermes-memory/core/internal/curated";
import { pendingWritesDirectory, usersDirectory } from "@hermes-memory/core/internal/home";
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Forgot } from "@hermes-memory/core/internal/providers";
import { pendingSkillsDirectory, skillsDirectory, snapshotPath } from "@hermes-memory/core/internal/skills";
import { type CommandBody, type CommandContext, unwrap } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { printable } from "../printing.ts";
import { render } from "../render.ts";
import {
  askedEntry,
  entryName,
  isHomeMemory,
  memoryFailure,
  openStore,
  stagedWritesOf,
  targetNamed,
} from "./memory-command.ts";

/** Places outside the memory directory that may hold the text. */
type Outside = {
  readonly provider: Forgot;
  /** Writes with the text that wait in the outbox: of users, and of providers that are not active. `user` is null for the owner. */
  readonly queued: readonly {
    readonly provider: string;
    readonly user: string | null;
    readonly writes: number;
  }[];
  /** Traces of recall in the session database that quote it, of every user. `remaining`: sentences about what may be left. */
  readonly recalls: { readonly traces: number; readonly remaining: readonly string[] };
  /** Inactive bundled providers that hold it. */
  readonly elsewhere: readonly { readonly provider: string; readonly found: string }[];
  /** Files that hold it and that `forget` does not change. */
  readonly left: readonly LeftBehind[];
};

/** `reach` is a sentence that says how to erase it there. */
type LeftBehind = { readonly path: string; readonly reach: string };

const NOWHERE: Outside = {
  provider: { kind: "none" },
  queued: [],
  recalls: { traces: 0, remaining: [] },
  elsewhere: [],
  left: [],
};

export const forget: CommandBody = async (input, context) => {
  const word = input.args.text;
  const asked = await askedEntry(input, context, { word, command: "forget", isDashInput: true });
  const store = await openStore(input, context);
  const target = targetNamed(asked, store, input);
  const options = stagedWritesOf(input, context);
  const { paint } = context.io;
  const name = asked.by === "text" ? { oldText: asked.text, match: "id" as const } : undefined;
  const named = store.resolve(target, name ?? entryName(asked, store, target));
  // The id of an entry, unless some place holds the same digits as text.
  const isId =
    name !== undefined &&
    looksLikeId(name.oldText) &&
    named.ok &&
    isNothing(store.traces(name.oldText, options));
  const text = name === undefined || isId ? unwrap(named, memoryFailure).op.oldText : name.oldText;
  const traces = store.traces(text, options);
  const isHome = isHomeMemory(input, context);
  const outside = isHome ? await lookOutside(text, context) : NOWHERE;
  const found = jsonOf(traces, outside);
  const isFound =
    !isNothing(traces) ||
    (outside.provider.kind === "forgot" && outside.provider.erased > 0) ||
    outside.queued.length + outside.recalls.traces > 0;
  const mayRemain = outside.provider.kind === "forgot" && outside.provider.remaining !== undefined;
  if (!isFound && !mayRemain) {
    const isClean = isErased(outside) && outside.left.length === 0;
    const isKnownElsewhere = outside.elsewhere.length > 0 || outside.provider.kind === "cannot";
    const where = "Nothing to erase in the memory of this home's owner.";
    return {
      json: { success: isClean, ...found },
      lines: [`${isClean && !isKnownElsewhere ? "No trace of this text." : where} (Letter case counts.)`],
      notes: [...store.warnings, ...unreached(outside)],
      exitCode: isClean ? 0 : 1,
    };
  }
  const list = ["This cannot be undone. It deletes:", ...render(places(found), paint), ...unreached(outside)];
  await confirmed({ list, question: "Forget it everywhere?", json: found }, input, context);
  const forgotten = unwrap(await store.forget(text, { ...options, meta: { origin: "cli" } }), memoryFailure);
  const done = isHome ? { ...outside, ...(await eraseOutside(text, context)) } : outside;
  const json = jsonOf(forgotten, done);
  const isDone = isErased(done) && done.left.length === 0;
  const overwritten = isErased(done)
    ? "Deleted records that held this text were overwritten."
    : "Nothing was found to erase.";
  return {
    json: { success: isDone, ...json },
    lines: isFound ? ["Forgotten:", ...render(places(json), paint)] : [overwritten],
    notes: [...store.warnings, ...unreached(done)],
    exitCode: isDone ? 0 : 1,
  };
};

async function lookOutside(text: string, context: CommandContext): Promise<Outside> {
  const { activeProviderName, ifReadable } = await import("@hermes-memory/core/internal/providers");
  const outboxes = await import("@hermes-memory/providers/internal");
  const { home } = context.memory;
  const active = activeProviderName((await context.memory.memoryConfig()).provider);
  const provider = await askProvider(text, true, context);
  return {
    provider,
    // The active provider counts and erases what waits for the owner itself, if it can be started.
    queued: ifReadable(() => outboxes.findInOutbox(home, text))
      .filter(({ items }) => items > 0)
      .filter(({ provider: name, user }) => name !== active || user !== "" || provider.kind !== "forgot")
      .map(({ provider: name, user, items: writes }) => ({ provider: name, user: user || null, writes })),
    recalls: await forgetRecalls(text, true, context),
    elsewhere: await outboxes.findTracesElsewhere(home, active, text),
    left: [
      ...findLeftBehind(home, text),
      ...(await outboxes.findTracesOfUsers(home, text)),
      ...outboxes.unreadableOutboxes(home).map(({ path, problem, remedy }) => ({
        path,
        reach: `It may hold the text and was not searched. ${problem} ${remedy}`,
      })),
    ],
  };
}

async function eraseOutside(text: string, context: CommandContext) {
  const { ifReadable } = await import("@hermes-memory/core/internal/providers");
  const { eraseInOutbox } = await import("@hermes-memory/providers/internal");
  const provider = await askProvider(text, false, context);
  // In every lane of the home, so that nothing of it is sent later. `left` names a file that cannot be read.
  ifReadable(() => [eraseInOutbox(context.memory.home, text, () => true)]);
  return { provider, recalls: await forgetRecalls(text, false, context) };
}

/** What a gateway recalled for requests, which quotes entries and conversations. The conversations themselves stay. */
async function forgetRecalls(
  text: string,
  dryRun: boolean,
  { memory }: CommandContext,
): Promise<Outside["recalls"]> {
  try {
    const store = await memory.administrator.sessions({ mode: dryRun ? "read" : "write" });
    const found = (await store?.turns.forgetRecalls(text, { dryRun: true })) ?? NOWHERE.recalls;
    return dryRun || found.traces === 0 || store === undefined
      ? found
      : await store.turns.forgetRecalls(text);
  } catch (cause) {
    if (!(cause instanceof HermesError)) throw cause;
    const why = [cause.message, cause.hint].filter(Boolean).join(" ");
    return { traces: 0, remaining: [`Traces of recall may quote the text and were not erased: ${why}`] };
  }
}

async function askProvider(text: string, isDryRun: boolean, { memory, io }: CommandContext): Promise<Forgot> {
  const outcome = await memory.administrator.provider.forget(text, { isDryRun });
  if (outcome.kind !== "none") io.endWithoutWaiting();
  return outcome;
}

// Files of the home that hold the text and that `forget` does not change: memories of other users, their fact stores, skills.

const SKILL =
  "Skills are not memory: edit or delete the file yourself ('hermes skills path' prints where skills are).";

function findLeftBehind(home: string, text: string): LeftBehind[] {
  const patterns = [text, JSON.stringify(text).slice(1, -1)];
  const users = usersDirectory(home);
  const ofUsers = [users, dirname(pendingWritesDirectory(home, join(users, "any")))];
  const ofSkills = [skillsDirectory(home), pendingSkillsDirectory(home), snapshotPath(home)];
  return [...ofUsers, ...ofSkills].flatMap((root) =>
    filesIn(root).flatMap((path) => {
      const holds = isHolding(path, patterns);
      if (holds === undefined) return { path, reach: "It could not be read, so look into it yourself." };
      const [scope = ""] = relative(root, path).split(sep);
      // One command erases the text in all files of a user's directory.
      const user = `It belongs to another user of this home: 'hermes memory forget --dir ${join(users, scope)} ...' erases it there.`;
      return holds ? { path, reach: ofUsers.includes(root) ? user : SKILL } : [];
    }),
  );
}

function filesIn(root: string): string[] {
  const stats = statSync(root, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (!stats.isDirectory()) return [root];
  return readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .sort();
}

/** Undefined: it cannot be read. */
function isHolding(path: string, patterns: readonly string[]): boolean | undefined {
  try {
    const bytes = readFileSync(path);
    return patterns.some((each) => bytes.includes(each));
  } catch {
    return undefined;
  }
}

// The outcome

function isNothing({ entries, journalLines, archived, backups, leftovers, pending }: Forgotten): boolean {
  return entries.length + journalLines + archived + backups + leftovers + pending === 0;
}

/** False if deleted text is left in the provider's store or the session database, or may be. */
function isErased({ provider, recalls }: Outside): boolean {
  const isGone = provider.kind !== "forgot" || provider.remaining === undefined;
  return provider.kind !== "failed" && isGone && recalls.remaining.length === 0;
}

/** The places that stay, with the reason. */
function unreached({ provider, recalls, elsewhere, left }: Outside): string[] {
  return [
    ...leftAtProvider(provider),
    ...recalls.remaining,
    ...elsewhere.map(
      (each) =>
        `${each.found} '${each.provider}' is not the active provider, so its store is left alone: make it active ('hermes memory setup ${each.provider}') and forget again.`,
    ),
    ...left.map(({ path, reach }) => `Not erased: ${path}. ${reach}`),
  ].map(printable);
}

function leftAtProvider(forgot: Forgot): string[] {
  if (forgot.kind === "none") return [];
  if (forgot.kind === "forgot") return forgot.remaining === undefined ? [] : [forgot.remaining];
  const name = `The memory provider '${forgot.provider}'`;
  return forgot.kind === "cannot"
    ? [`${name} has no way to erase a text. What it has stored stays until you erase it there.`]
    : [
        `${name} could not be asked, so it is not known whether its store or server holds the text, and nothing was erased there: ${forgot.reason.replace(/^forget: /, "")} Correct that and forget again.`,
      ];
}

type Json = ReturnType<typeof jsonOf>;

/** What is erased, without the zeros and without what `unreached` says. */
function places({ elsewhere, left, recalls, provider, ...counts }: Json): object {
  const erased =
    provider?.erased === undefined ? {} : { [`memory provider ${provider.name}`]: provider.erased };
  const all = { ...counts, ...erased, "traces of recall": recalls?.traces };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== 0));
}

function jsonOf({ entries, journalLines, ...counts }: Forgotten, outside: Outside) {
  const { provider, queued, recalls, elsewhere, left } = outside;
  return {
    entries,
    journal_lines: journalLines,
    ...counts,
    provider: provider.kind === "none" ? undefined : providerJson(provider),
    outbox: queued.length === 0 ? undefined : queued,
    recalls: recalls.traces === 0 && recalls.remaining.length === 0 ? undefined : recalls,
    elsewhere: elsewhere.length === 0 ? undefined : elsewhere,
    left: left.length === 0 ? undefined : left,
  };
}

function providerJson({ kind: status, provider: name, ...rest }: Exclude<Forgot, { kind: "none" }>) {
  const { erased, remaining, reason } = rest as { erased?: number; remaining?: string; reason?: string };
  return { name, status, erased, remaining, problem: reason };
}
