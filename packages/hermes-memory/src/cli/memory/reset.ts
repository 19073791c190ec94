// `hermes memory reset`: deletes the memory files; with --purge also their history, archive, pins and staged writes.
import { statSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import {
  type CommittedWrite,
  committedWrites,
  fileNameOf,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
  targetPaths,
} from "@hermes-memory/core/internal/curated";
import { groupThousands } from "@hermes-memory/core/internal/lib";
import type { Scrubbed } from "@hermes-memory/core/internal/providers";
import {
  type CommandBody,
  type CommandContext,
  type CommandInput,
  type CommandOutcome,
  unwrap,
} from "../command.ts";
import { declined } from "../confirm.ts";
import { changeLine, counted, printable } from "../printing.ts";
import {
  hasProvider,
  isHomeMemory,
  memoryFailure,
  mirrorToProvider,
  openStore,
  stagedWritesOf,
  withProviderReport,
} from "./memory-command.ts";

const STUCK = "'hermes memory reset --purge' deletes it unread, with its history.";

export const reset: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const { target: flag = "all" } = input.flags;
  const asked = MEMORY_TARGETS.filter((target) => flag === "all" || flag === target);
  return input.flags.purge === true
    ? purgeAll(store, asked, input, context)
    : resetAll(store, asked, input, context);
};

async function resetAll(
  store: MemoryStore,
  asked: readonly MemoryTarget[],
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  const files = asked.flatMap((target) => {
    const bytes = statSync(targetPaths(store.dir, target).file, { throwIfNoEntry: false })?.size;
    return bytes === undefined ? [] : [{ target, name: fileNameOf(target), bytes }];
  });
  if (files.length === 0) return nothingThere(store);
  const list = files.map(({ name, bytes }) => `  ${name}  ${bytesText(bytes)}`);
  const refused = await declined(
    {
      list: [`To be deleted in ${store.dir}:`, ...list],
      question: "Delete?",
      json: { files: files.map(({ name, bytes }) => ({ name, bytes })) },
    },
    input,
    context,
  );
  if (refused) return refused;
  const done: { name: string; bytes: number; removed: readonly string[]; changeId?: string }[] = [];
  const writes: CommittedWrite[] = [];
  for (const { target, name, bytes } of files) {
    const hadEntries = store.entries(target).length > 0;
    const result = await store.reset(target, { origin: "cli" });
    const outcome = unwrap(result, (error) => memoryFailure(error, error.kind === "io" ? STUCK : undefined));
    writes.push(...committedWrites(outcome));
    const changeId = hadEntries ? outcome.changeId : undefined;
    done.push({ name, bytes, removed: outcome.removed ?? [], changeId });
  }
  const deleted: CommandOutcome = {
    json: {
      success: true,
      deleted: done.map(({ name }) => name),
      changes: done.flatMap(({ changeId }) => changeId ?? []),
      removed: done.flatMap(({ removed }) => removed),
    },
    lines: done.flatMap(({ name, bytes, removed, changeId }) => {
      const back = changeId === undefined ? "" : ` 'hermes memory undo ${changeId}' brings it back.`;
      const removedLines = removed.map((before) => changeLine({ at: 0, before, after: null }, true));
      return [`Deleted ${name} (${bytesText(bytes)}).${back}`, ...removedLines];
    }),
    notes: store.warnings,
  };
  return withProviderReport(deleted, await mirrorToProvider(input, context, writes));
}

async function purgeAll(
  store: MemoryStore,
  asked: readonly MemoryTarget[],
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  const options = stagedWritesOf(input, context);
  const found = asked
    .map((target) => ({ target, ...store.purgeable(target, options) }))
    .filter(({ files, pins, pending }) => files.length + pins + pending > 0);
  if (found.length === 0) return nothingThere(store);
  const list = found.flatMap((each) => linesOf(each, store.dir));
  const refused = await declined(
    {
      list: [`To be deleted in ${store.dir}, for good:`, ...list],
      question: "Delete all of it?",
      json: { targets: found },
    },
    input,
    context,
  );
  if (refused) return refused;
  const purged = [];
  const writes: CommittedWrite[] = [];
  for (const { target } of found) {
    // The provider still has the archived entries.
    const texts = [...store.entries(target), ...archivedTexts(store, target)];
    writes.push(
      ...texts.map((oldText) => ({ target, op: { action: "remove", oldText } as const, changeId: "purge" })),
    );
    purged.push({ target, ...unwrap(await store.purge(target, options), memoryFailure) });
  }
  const done: CommandOutcome = {
    json: {
      success: true,
      deleted: purged.flatMap(({ files }) => files.map(({ path }) => nameIn(store.dir, path))),
      pins: purged.reduce((sum, { pins }) => sum + pins, 0),
      pending: purged.reduce((sum, { pending }) => sum + pending, 0),
    },
    lines: ["Deleted for good:", ...purged.flatMap((each) => linesOf(each, store.dir))],
    notes: store.warnings,
  };
  const mirrored = withProviderReport(done, await mirrorToProvider(input, context, writes));
  const texts = writes.flatMap(({ op }) => (op.action === "remove" ? [op.oldText] : []));
  return withScrub(mirrored, texts, input, context);
}

/** The provider has deleted its records; this erases their bytes from its files. */
async function withScrub(
  done: CommandOutcome,
  texts: readonly string[],
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  if (texts.length === 0 || !isHomeMemory(input, context)) return done;
  const scrubbed: Scrubbed = (await hasProvider(input, context))
    ? await context.memory.administrator.provider.scrub(texts)
    : { kind: "none" };
  const remaining = [leftInProvider(scrubbed) ?? [], await leftInOutbox(texts, context)].flat();
  if (remaining.length === 0) return done;
  return {
    ...done,
    json: { ...(done.json as object), provider_remaining: remaining.join(" ") },
    notes: [...(done.notes ?? []), ...remaining.map((left) => `warning: ${printable(left)}`)],
  };
}

/** The active provider has erased its own; what waits for others is erased here. One sentence for each text that cannot be. */
async function leftInOutbox(texts: readonly string[], { memory }: CommandContext): Promise<string[]> {
  const { activeProviderName, ifReadable } = await import("@hermes-memory/core/internal/providers");
  const { eraseInOutbox, findInOutbox } = await import("@hermes-memory/providers/internal");
  const active = activeProviderName((await memory.memoryConfig()).provider);
  const isOther = ({ provider, user }: { readonly provider: string; readonly user: string }) =>
    provider !== active && user === "";
  for (const text of texts) ifReadable(() => [eraseInOutbox(memory.home, text, isOther)]);
  const copies = texts.flatMap((text) => ifReadable(() => findInOutbox(memory.home, text)).filter(isOther));
  return [...new Set(copies.map(({ provider }) => provider))].map(
    (name) =>
      `'${name}', which is not active, has copies of deleted entries at its server: make it active ('hermes memory setup ${name}') and forget the texts.`,
  );
}

function leftInProvider(outcome: Scrubbed): string | undefined {
  switch (outcome.kind) {
    case "none":
      return undefined;
    case "cannot":
      return `The memory provider '${outcome.provider}' has no way to erase deleted text to the bytes.`;
    case "failed":
      return `The memory provider '${outcome.provider}' could not erase deleted text: ${outcome.reason} 'hermes memory forget' tries it again, text by text.`;
    case "scrubbed": {
      const { provider, live, remaining } = outcome;
      const own = `'${provider}' has ${live} of the texts in other records, which stay: 'hermes memory forget' erases those too.`;
      const left = [...(remaining === undefined ? [] : [remaining]), ...(live === 0 ? [] : [own])];
      return left.length === 0 ? undefined : left.join(" ");
    }
    default:
      return outcome satisfies never;
  }
}

/** Empty when the archive cannot be read: a purge deletes it unread. */
function archivedTexts(store: MemoryStore, target: MemoryTarget): string[] {
  try {
    return store.archived(target).map(({ text }) => text);
  } catch {
    return [];
  }
}

type Purgeable = ReturnType<MemoryStore["purgeable"]> & { readonly target: MemoryTarget };

function linesOf({ target, files, pins, pending }: Purgeable, dir: string): string[] {
  return [
    ...files.map(({ path, bytes }) => `  ${nameIn(dir, path)}  ${bytesText(bytes)}`),
    ...(pins > 0 ? [`  ${counted(pins, "pin")} of ${fileNameOf(target)}`] : []),
    ...(pending > 0 ? [`  ${counted(pending, "staged write")} for ${fileNameOf(target)}`] : []),
  ];
}

/** Relative to the directory, unless a link leads outside. */
function nameIn(dir: string, path: string): string {
  const short = relative(dir, path);
  return short.startsWith("..") || isAbsolute(short) ? path : short;
}

function nothingThere(store: MemoryStore): CommandOutcome {
  return {
    json: { success: true, deleted: [] },
    lines: ["Nothing to delete: there is no memory here yet."],
    notes: store.warnings,
  };
}

function bytesText(bytes: number): string {
  return `${groupThousands(bytes)} ${bytes === 1 ? "byte" : "bytes"}`;
}
