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
import type { Scrubbed } from "@hermes-memory/core/internal/providers";
import {
  type CommandBody,
  type CommandContext,
  type CommandInput,
  type CommandOutcome,
  unwrap,
} from "../command.ts";
import { confirmed } from "../confirm.ts";
import { printable } from "../printing.ts";
import { render } from "../render.ts";
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
  const outcome =
    input.flags.purge === true
      ? await purgeAll(store, asked, input, context)
      : await resetAll(store, asked, input, context);
  const nothing = { success: true, message: "Nothing to delete: there is no memory here yet.", deleted: [] };
  return outcome ?? { json: nothing, notes: store.warnings };
};

type Reset = CommandOutcome | undefined;

async function resetAll(
  store: MemoryStore,
  asked: readonly MemoryTarget[],
  input: CommandInput,
  context: CommandContext,
): Promise<Reset> {
  const files = asked.flatMap((target) => {
    const bytes = statSync(targetPaths(store.dir, target).file, { throwIfNoEntry: false })?.size;
    return bytes === undefined ? [] : [{ target, name: fileNameOf(target), bytes }];
  });
  if (files.length === 0) return undefined;
  const json = { files: files.map(({ name, bytes }) => ({ name, bytes })) };
  const list = [`To be deleted in ${store.dir}:`, ...render(json.files, context.io.paint)];
  await confirmed({ list, question: "Delete?", json }, input, context);
  const writes: CommittedWrite[] = [];
  const changes: string[] = [];
  const removed: string[] = [];
  for (const { target } of files) {
    const hadEntries = store.entries(target).length > 0;
    const result = await store.reset(target, { origin: "cli" });
    const outcome = unwrap(result, (error) => memoryFailure(error, error.kind === "io" ? STUCK : undefined));
    writes.push(...committedWrites(outcome));
    removed.push(...(outcome.removed ?? []));
    if (hadEntries && outcome.changeId !== undefined) changes.push(outcome.changeId);
  }
  const deleted = files.map(({ name }) => name);
  const back = changes.map((id) => ` 'hermes memory undo ${id}'`).join(" and");
  const message = `Deleted ${deleted.join(" and ")}.${back === "" ? "" : `${back} brings it back.`}`;
  return withProviderReport(
    { json: { success: true, message, deleted, changes, removed }, notes: store.warnings },
    await mirrorToProvider(input, context, writes),
  );
}

async function purgeAll(
  store: MemoryStore,
  asked: readonly MemoryTarget[],
  input: CommandInput,
  context: CommandContext,
): Promise<Reset> {
  const options = stagedWritesOf(input, context);
  const targets = asked
    .map((target) => ({ target, ...store.purgeable(target, options) }))
    .filter(({ files, pins, pending }) => files.length + pins + pending > 0);
  if (targets.length === 0) return undefined;
  const list = [
    `To be deleted in ${store.dir}, for good:`,
    ...targets.flatMap((each) =>
      render(
        { ...each, files: each.files.map(({ path, bytes }) => ({ path: nameIn(store.dir, path), bytes })) },
        context.io.paint,
      ),
    ),
  ];
  await confirmed({ list, question: "Delete all of it?", json: { targets } }, input, context);
  const purged = [];
  const writes: CommittedWrite[] = [];
  for (const { target } of targets) {
    // The provider still has the archived entries.
    for (const oldText of [...store.entries(target), ...archivedTexts(store, target)])
      writes.push({ target, op: { action: "remove", oldText }, changeId: "purge" });
    purged.push(unwrap(await store.purge(target, options), memoryFailure));
  }
  const done: CommandOutcome = {
    json: {
      success: true,
      message: "Deleted for good.",
      deleted: purged.flatMap(({ files }) => files.map(({ path }) => nameIn(store.dir, path))),
      pins: purged.reduce((sum, { pins }) => sum + pins, 0),
      pending: purged.reduce((sum, { pending }) => sum + pending, 0),
    },
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
  const remaining = [...leftInProvider(scrubbed), ...(await leftInOutbox(texts, context))];
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

function leftInProvider(outcome: Scrubbed): string[] {
  if (outcome.kind === "none") return [];
  const { provider } = outcome;
  if (outcome.kind === "cannot")
    return [`The memory provider '${provider}' has no way to erase deleted text to the bytes.`];
  if (outcome.kind === "failed")
    return [
      `The memory provider '${provider}' could not erase deleted text: ${outcome.reason} 'hermes memory forget' tries it again, text by text.`,
    ];
  const { live, remaining } = outcome;
  const own = `'${provider}' has ${live} of the texts in other records, which stay: 'hermes memory forget' erases those too.`;
  return [...(remaining === undefined ? [] : [remaining]), ...(live === 0 ? [] : [own])];
}

/** Empty when the archive cannot be read: a purge deletes it unread. */
function archivedTexts(store: MemoryStore, target: MemoryTarget): string[] {
  try {
    return store.archived(target).map(({ text }) => text);
  } catch {
    return [];
  }
}

/** Relative to the directory, unless a link leads outside. */
function nameIn(dir: string, path: string): string {
  const short = relative(dir, path);
  return short.startsWith("..") || isAbsolute(short) ? path : short;
}
