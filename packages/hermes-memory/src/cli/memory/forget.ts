// `hermes memory forget`: erases a text from every place of this memory, including the active provider's store, and lists the places
// that it cannot reach.
import { createReadStream, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import {
  type Forgotten,
  fileNameOf,
  looksLikeId,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/internal/curated";
import { pendingWritesDirectory, usersDirectory } from "@hermes-memory/core/internal/home";
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Forgot } from "@hermes-memory/core/internal/providers";
import { pendingSkillsDirectory, skillsDirectory, snapshotPath } from "@hermes-memory/core/internal/skills";
import { type CommandBody, type CommandContext, type CommandInput, unwrap } from "../command.ts";
import { declined } from "../confirm.ts";
import { counted, oneLine, printable } from "../printing.ts";
import { isHomeMemory, memoryFailure, openStore, stagedWritesOf } from "./memory-command.ts";
import { askedEntry, entryName, targetNamed } from "./named-entry.ts";

/** Places outside the memory directory that may hold the text. */
type Outside = {
  readonly provider: Forgot;
  /** Writes with the text that wait in the outbox: of users, and of providers that are not active. */
  readonly queued: readonly Queued[];
  /** Traces of recall in the session database that quote it, of every user. */
  readonly recalls: Recalls;
  /** Inactive bundled providers that hold it. */
  readonly elsewhere: readonly { readonly provider: string; readonly found: string }[];
  /** Files that hold it and that `forget` does not change. */
  readonly left: readonly LeftBehind[];
};

/** `user` is null for the owner. */
type Queued = { readonly provider: string; readonly user: string | null; readonly writes: number };

/** `remaining`: sentences about what could not be searched or may be left. */
type Recalls = { readonly traces: number; readonly remaining: readonly string[] };

const NO_RECALLS: Recalls = { traces: 0, remaining: [] };

/** `reach` is a sentence that says how to erase it there. */
type LeftBehind = { readonly path: string; readonly reach: string };

export const forget: CommandBody = async (input, context) => {
  const asked = await askedEntry(input, context, {
    word: input.args.text,
    command: "forget",
    isDashInput: true,
  });
  const store = await openStore(input, context);
  const target = targetNamed(asked, store, input);
  const options = stagedWritesOf(input, context);
  const isPlain = asked.by === "text" && !isIdOf(asked.text, target, store, options);
  const text = isPlain
    ? asked.text
    : unwrap(
        store.resolve(
          target,
          asked.by === "text" ? { oldText: asked.text, match: "id" } : entryName(asked, store, target),
        ),
        memoryFailure,
      ).op.oldText;
  const traces = store.traces(text, options);
  const outside = await lookOutside(text, input, context);
  const found = { ...toJson(traces), ...outsideJson(outside) };
  const hasRecords =
    !isNothing(traces) ||
    erasedBy(outside.provider) > 0 ||
    outside.queued.length > 0 ||
    outside.recalls.traces > 0;
  if (!hasRecords && remainingIn(outside.provider) === undefined) {
    const isUnknown = outside.provider.kind === "failed" || outside.recalls.remaining.length > 0;
    const isClean = outside.left.length === 0 && !isUnknown;
    const isKnownElsewhere = outside.elsewhere.length > 0 || outside.provider.kind === "cannot";
    return {
      json: { success: isClean, ...found },
      lines: [
        isClean && !isKnownElsewhere
          ? "No trace of this text. (Letter case counts.)"
          : "Nothing to erase in the memory of this home's owner. (Letter case counts.)",
      ],
      notes: [...store.warnings, ...unreached(outside)],
      exitCode: isClean ? 0 : 1,
    };
  }
  const refused = await declined(
    {
      list: [
        "This cannot be undone. It deletes:",
        ...places(traces),
        ...providerPlaces(outside.provider),
        ...outside.queued.map(queuedLine),
        ...recallPlaces(outside.recalls),
        ...unreached(outside),
      ],
      question: "Forget it everywhere?",
      json: found,
    },
    input,
    context,
  );
  if (refused) return refused;
  const forgotten = unwrap(await store.forget(text, { ...options, meta: { origin: "cli" } }), memoryFailure);
  const provider = await askProvider(text, false, input, context);
  if (isHomeMemory(input, context)) await eraseQueued(text, context);
  const recalls = await forgetRecalls(text, false, input, context);
  const done = { ...outside, provider, recalls };
  const isErased =
    provider.kind !== "failed" && remainingIn(provider) === undefined && recalls.remaining.length === 0;
  const isDone = isErased && outside.left.length === 0;
  return {
    json: { success: isDone, ...toJson(forgotten), ...outsideJson(done) },
    lines: hasRecords
      ? [
          "Forgotten:",
          ...places(forgotten),
          ...providerPlaces(provider),
          ...outside.queued.map(queuedLine),
          ...recallPlaces(recalls),
        ]
      : [
          isErased
            ? "Deleted records that held this text were overwritten."
            : "Nothing was found to erase in the memory of this home's owner.",
        ],
    notes: [...store.warnings, ...unreached(done)],
    exitCode: isDone ? 0 : 1,
  };
};

/** True for the id of an existing entry, unless some place holds the same digits as text. */
function isIdOf(
  text: string,
  target: MemoryTarget,
  store: MemoryStore,
  options: { pendingDirectory?: string },
): boolean {
  if (!looksLikeId(text) || !isNothing(store.traces(text, options))) return false;
  return store.resolve(target, { oldText: text, match: "id" }).ok;
}

async function lookOutside(text: string, input: CommandInput, context: CommandContext): Promise<Outside> {
  if (!isHomeMemory(input, context))
    return { provider: { kind: "none" }, queued: [], recalls: NO_RECALLS, elsewhere: [], left: [] };
  const { activeProviderName, ifReadable } = await import("@hermes-memory/core/internal/providers");
  const { findInOutbox, findTracesElsewhere, findTracesOfUsers, unreadableOutboxes } = await import(
    "@hermes-memory/providers/internal"
  );
  const active = activeProviderName((await context.memory.memoryConfig()).provider);
  const { home } = context.memory;
  const provider = await askProvider(text, true, input, context);
  return {
    provider,
    // The active provider counts and erases what waits for the owner itself, if it can be started.
    queued: ifReadable(() => findInOutbox(home, text)).flatMap(({ provider: name, user, items }) =>
      items === 0 || (name === active && user === "" && provider.kind === "forgot")
        ? []
        : [{ provider: name, user: user === "" ? null : user, writes: items }],
    ),
    recalls: await forgetRecalls(text, true, input, context),
    elsewhere: await findTracesElsewhere(home, active, text),
    left: [
      ...(await findLeftBehind(home, text)),
      ...(await findTracesOfUsers(home, text)),
      ...unreadableOutboxes(home).map(({ path, problem, remedy }) => ({
        path,
        reach: `It may hold the text and was not searched. ${problem} ${remedy}`,
      })),
    ],
  };
}

/** In every lane of the home, so that nothing of it is sent later: the file is here, and no server is needed. */
async function eraseQueued(text: string, { memory }: CommandContext): Promise<void> {
  const { ifReadable } = await import("@hermes-memory/core/internal/providers");
  const { eraseInOutbox } = await import("@hermes-memory/providers/internal");
  ifReadable(() => [eraseInOutbox(memory.home, text, () => true)]); // `left` names a file that cannot be read
}

/** What a gateway recalled for requests, which quotes entries and conversations. The conversations themselves stay. */
async function forgetRecalls(
  text: string,
  dryRun: boolean,
  input: CommandInput,
  context: CommandContext,
): Promise<Recalls> {
  if (!isHomeMemory(input, context)) return NO_RECALLS;
  try {
    const store = await context.memory.administrator.sessions({ mode: dryRun ? "read" : "write" });
    const found = (await store?.forgetRecalls(text, { dryRun: true })) ?? NO_RECALLS;
    return dryRun || found.traces === 0 || store === undefined ? found : await store.forgetRecalls(text);
  } catch (cause) {
    if (!(cause instanceof HermesError)) throw cause;
    const why = [cause.message, cause.hint].filter(Boolean).join(" ");
    return { traces: 0, remaining: [`Traces of recall may quote the text and were not erased: ${why}`] };
  }
}

async function askProvider(
  text: string,
  isDryRun: boolean,
  input: CommandInput,
  context: CommandContext,
): Promise<Forgot> {
  if (!isHomeMemory(input, context)) return { kind: "none" };
  const outcome = await context.memory.administrator.provider.forget(text, { isDryRun });
  if (outcome.kind !== "none") context.io.endWithoutWaiting();
  return outcome;
}

// Files of the home that hold the text and that `forget` does not change: memories of other users, their fact stores, skills.

const CHUNK_BYTES = 1 << 20;
const SKILL =
  "Skills are not memory: edit or delete the file yourself ('hermes skills path' prints where skills are).";

async function findLeftBehind(home: string, text: string): Promise<LeftBehind[]> {
  const patterns = [...new Set([text, JSON.stringify(text).slice(1, -1)])].map((each) => Buffer.from(each));
  const users = usersDirectory(home);
  const staged = dirname(pendingWritesDirectory(home, join(users, "any")));
  const places: readonly { readonly root: string; readonly reach: (path: string) => string }[] = [
    ...[users, staged].map((root) => ({ root, reach: (path: string) => userReach(users, root, path) })),
    ...[skillsDirectory(home), pendingSkillsDirectory(home), snapshotPath(home)].map((root) => ({
      root,
      reach: () => SKILL,
    })),
  ];
  const left: LeftBehind[] = [];
  for (const { root, reach } of places) {
    for (const path of filesIn(root)) {
      const state = await searchFile(path, patterns);
      if (state === "holds") left.push({ path, reach: reach(path) });
      if (state === "unreadable")
        left.push({ path, reach: "It could not be read, so look into it yourself." });
    }
  }
  return left;
}

/** One command erases the text in all files of a user's directory. */
function userReach(users: string, root: string, path: string): string {
  const [scope = ""] = relative(root, path).split(sep);
  return `It belongs to another user of this home: 'hermes memory forget --dir ${join(users, scope)} ...' erases it there.`;
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

async function searchFile(
  path: string,
  patterns: readonly Buffer[],
): Promise<"holds" | "clean" | "unreadable"> {
  const overlap = Math.max(...patterns.map(({ length }) => length)) - 1;
  let tail = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
      const piece = Buffer.concat([tail, chunk as Buffer]);
      if (patterns.some((each) => piece.includes(each))) return "holds";
      tail = piece.subarray(Math.max(0, piece.length - overlap));
    }
    return "clean";
  } catch {
    return "unreadable";
  }
}

// The outcome, as text and as JSON.

function erasedBy(provider: Forgot): number {
  return provider.kind === "forgot" ? provider.erased : 0;
}

/** The provider's sentence about text that is left, or may be left. */
function remainingIn(provider: Forgot): string | undefined {
  return provider.kind === "forgot" ? provider.remaining : undefined;
}

/** The places that stay, with the reason. */
function unreached({ provider, recalls, elsewhere, left }: Outside): string[] {
  const stays = [
    ...recalls.remaining.map(printable),
    ...elsewhere.map(
      (each) =>
        `${printable(each.found)} '${each.provider}' is not the active provider, so its store is left alone: make it active ('hermes memory setup ${each.provider}') and forget again.`,
    ),
    ...left.map(({ path, reach }) => printable(`Not erased: ${path}. ${reach}`)),
  ];
  switch (provider.kind) {
    case "none":
      return stays;
    case "forgot":
      return [...(provider.remaining === undefined ? [] : [printable(provider.remaining)]), ...stays];
    case "cannot":
      return [
        `The memory provider '${provider.provider}' has no way to erase a text. What it has stored stays until you erase it there.`,
        ...stays,
      ];
    case "failed":
      return [
        `The memory provider '${provider.provider}' could not be asked, so it is not known whether its store or server holds the text, and nothing was erased there: ${printable(provider.reason.replace(/^forget: /, ""))} Correct that and forget again.`,
        ...stays,
      ];
    default:
      return provider satisfies never;
  }
}

function providerPlaces(provider: Forgot): string[] {
  const erased = erasedBy(provider);
  return provider.kind === "forgot" && erased > 0
    ? [`  ${counted(erased, "record")} of the memory provider '${provider.provider}'`]
    : [];
}

function recallPlaces({ traces }: Recalls): string[] {
  return traces === 0
    ? []
    : [`  ${counted(traces, "trace of recall", "traces of recall")} in the session database`];
}

function queuedLine({ provider, user, writes }: Queued): string {
  const whose = user === null ? "" : `, of the user ${oneLine(user)}`;
  return `  ${counted(writes, "write")} in the outbox of '${printable(provider)}'${whose}, not sent yet`;
}

function outsideJson({ provider, queued, recalls, elsewhere, left }: Outside): Record<string, unknown> {
  return {
    provider: provider.kind === "none" ? undefined : providerJson(provider),
    outbox: queued.length === 0 ? undefined : queued,
    recalls: recalls.traces === 0 && recalls.remaining.length === 0 ? undefined : recalls,
    elsewhere: elsewhere.length === 0 ? undefined : elsewhere,
    left: left.length === 0 ? undefined : left,
  };
}

function providerJson(provider: Exclude<Forgot, { kind: "none" }>): object {
  switch (provider.kind) {
    case "forgot": {
      const { provider: name, erased, remaining } = provider;
      return { name, status: "forgot", erased, remaining };
    }
    case "cannot":
      return { name: provider.provider, status: "cannot" };
    case "failed":
      return { name: provider.provider, status: "failed", problem: provider.reason };
    default:
      return provider satisfies never;
  }
}

function isNothing({ entries, journalLines, archived, backups, leftovers, pending }: Forgotten): boolean {
  return entries.length + journalLines + archived + backups + leftovers + pending === 0;
}

function toJson({ entries, journalLines, ...counts }: Forgotten): Record<string, unknown> {
  return { entries, journal_lines: journalLines, ...counts };
}

function places({ entries, journalLines, archived, backups, leftovers, pending }: Forgotten): string[] {
  const counts = [
    [journalLines, "line of the journal", "lines of the journal"],
    [archived, "archived entry", "archived entries"],
    [backups, "backup, the text in it", "backups, the text in them"],
    [leftovers, "file a killed process left", "files killed processes left"],
    [pending, "staged write", "staged writes"],
  ] as const;
  return [
    ...entries.map(({ target, entry }) => `  ${fileNameOf(target)}: ${oneLine(entry)}`),
    ...counts.flatMap(([count, one, many]) => (count === 0 ? [] : [`  ${counted(count, one, many)}`])),
  ];
}
