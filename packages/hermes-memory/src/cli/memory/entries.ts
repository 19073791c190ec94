// The entries of MEMORY.md and USER.md: `hermes memory show`, `add`, `replace`, `remove`, then archive and pins.
import type { MemoryConfig } from "@hermes-memory/core/internal/config";
import {
  type ArchivedEntry,
  committedWrites,
  entryId,
  entryIds,
  fileNameOf,
  formatUsage,
  type HistoryChange,
  MEMORY_TARGETS,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryStore,
  type MemoryTarget,
  withAllWords,
} from "@hermes-memory/core/internal/curated";
import { areSecretIds, scanThreats } from "@hermes-memory/core/internal/security";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  unwrap,
  usageFailure,
} from "../command.ts";
import { changeLine, indented, localTime, oneLine, printable } from "../printing.ts";
import {
  askedEntry,
  entryName,
  memoryFailure,
  mirrorToProvider,
  nonEmptyText,
  openStore,
  type PinView,
  secretHint,
  targetFlag,
  targetNamed,
  targetsFlag,
  textArgument,
  viewPins,
  withProviderReport,
} from "./memory-command.ts";

const TITLES: Record<MemoryTarget, string> = {
  memory: "MEMORY.md  the agent's notes",
  user: "USER.md  the user's profile",
};

export const show: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const targets = targetsFlag(input);
  if (input.flags.prompt === true) {
    const blocks = targets.flatMap((target) => store.renderSnapshot(target) ?? []);
    return {
      json: Object.fromEntries(targets.map((target) => [target, store.renderSnapshot(target) ?? null])),
      lines: blocks.length > 0 ? [printable(blocks.join("\n\n"))] : [],
      notes: store.warnings,
    };
  }
  const pins = viewPins(store);
  const shown = targets.map((target) => [target, describe(store, target, pins)] as const);
  return {
    json: Object.fromEntries(shown),
    lines: shown.flatMap(([target, each], index) => [
      ...(index > 0 ? [""] : []),
      ...linesOf(target, each, input.flags.ids === true, context),
    ]),
    notes: [...store.warnings, ...pins.notes],
  };
};

export const add: CommandBody = async (input, context) => {
  const content = await textArgument(input, context, "text");
  const store = await openStore(input, context);
  return change(store, targetFlag(input), input, context, { action: "add", content });
};

/** With --entry, --id or --text the only argument is the new text. */
export const replace: CommandBody = async (input, context) => {
  const { old_text: first, text: second } = input.args;
  const isFlagged = ["entry", "id", "text"].some((name) => input.flags[name] !== undefined);
  const isComplete = isFlagged ? first !== undefined && second === undefined : second !== undefined;
  if (!isComplete)
    throw usageFailure(
      isFlagged
        ? "Give the new text, and no old one beside --entry, --id or --text."
        : "Give two texts: a part of the entry, and its new text.",
    );
  const word = isFlagged ? undefined : first;
  const asked = await askedEntry(input, context, { word, command: "replace" });
  const content = await textArgument(input, context, isFlagged ? "old_text" : "text");
  const store = await openStore(input, context);
  const target = targetNamed(asked, store, input);
  return change(store, target, input, context, {
    action: "replace",
    ...entryName(asked, store, target),
    content,
  });
};

export const remove: CommandBody = async (input, context) => {
  const asked = await askedEntry(input, context, { word: input.args.old_text, command: "remove" });
  const store = await openStore(input, context);
  const target = targetNamed(asked, store, input);
  return change(store, target, input, context, { action: "remove", ...entryName(asked, store, target) });
};

async function change(
  store: MemoryStore,
  target: MemoryTarget,
  input: CommandInput,
  context: CommandContext,
  op: MemoryOp,
): Promise<CommandOutcome> {
  const reason = typeof input.flags.reason === "string" ? input.flags.reason : undefined;
  const outcome = await store.apply(target, op, { origin: "cli", reason });
  if (!outcome.ok)
    throw memoryFailure(
      outcome.error,
      outcome.error.kind === "blocked" ? secretHint(outcome.error.ids) : undefined,
    );
  const done = await changed(outcome.value, store, input, context);
  const config = await context.memory.memoryConfig();
  return isKeptOut(op, config) ? { ...done, notes: [...(done.notes ?? []), KEPT_OUT] } : done;
}

const KEPT_OUT =
  "Prompts will show a placeholder for it: it matches hardcoded_secret, and --allow-secret is only about storing. memory.allow_secrets: true shows it.";

/** True when --allow-secret let the text in, but config.yaml will keep it out of prompts. */
function isKeptOut(op: MemoryOp, { scanAllow, allowSecrets }: MemoryConfig): boolean {
  if (op.action === "remove" || allowSecrets) return false;
  return areSecretIds(scanThreats(op.content, "strict", { allow: scanAllow }).map(({ id }) => id));
}

/** Sends a committed change to the active provider, and describes it for the user. */
export async function changed(
  outcome: MemoryOpOutcome,
  store: MemoryStore,
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  const report = await mirrorToProvider(input, context, committedWrites(outcome));
  return withProviderReport(describeChange(outcome, store, context), report);
}

function describeChange(
  outcome: MemoryOpOutcome,
  store: MemoryStore,
  { io }: CommandContext,
): CommandOutcome {
  const { target, message, entries, entryCount, usedChars, charLimit, warning, archived, changeId } = outcome;
  const { removed, followed, changes = [] } = outcome;
  const usage = formatUsage({ used: usedChars, limit: charLimit });
  return {
    json: {
      success: true,
      target,
      entries,
      usage,
      entry_count: entryCount,
      message,
      warning,
      archived,
      removed,
      entry_ids: entryIds(target, entries),
      followed_changes: followed,
      change_id: changeId,
    },
    lines: [
      `${message}  ${io.paint("dim", `${target} ${usage}${changeId ? `, change ${changeId}` : ""}`)}`,
      ...(followed
        ? [`The id belongs to an earlier text of this entry; followed ${followed.join(", ")}.`]
        : []),
      // Each text that left the file, whole, and the text that replaced it.
      ...changes.flatMap((step) =>
        step.before === null ? [] : [`${changeLine(step, true)}${archiveMark(step, archived)}`],
      ),
    ],
    notes: [
      ...store.warnings.filter((line) => !warning?.includes(line)), // the store repeats warnings about locks
      ...(warning === undefined ? [] : [`warning: ${warning}`]),
    ],
  };
}

function describe(store: MemoryStore, target: MemoryTarget, pins: PinView) {
  const { used, limit } = store.usage(target);
  const blocked = new Map(store.blockedEntries(target).map(({ index, ids }) => [index, ids]));
  const ids = entryIds(target, store.entries(target));
  return {
    entries: store.entries(target).map((text, index) => ({
      id: ids[index],
      text,
      pinned: pins.isPinned(target, text),
      blocked_ids: blocked.get(index),
    })),
    usage: formatUsage({ used, limit }),
    used_chars: used,
    char_limit: limit,
    enabled: store.isEnabled(target),
  };
}

function linesOf(
  target: MemoryTarget,
  { entries, usage, enabled }: ReturnType<typeof describe>,
  hasIds: boolean,
  { io: { paint } }: CommandContext,
): string[] {
  const off = enabled ? "" : paint("yellow", "  (switched off)");
  const shown = entries.map(({ id, text, pinned, blocked_ids: blocked }, index) => {
    const marks = [
      ...(hasIds ? [paint("dim", `id ${id}`)] : []),
      ...(pinned ? [paint("cyan", "pinned")] : []),
      ...(blocked ? [paint("red", `blocked: ${blocked.join(", ")}`)] : []),
    ];
    return `${String(index + 1).padStart(3)}. ${indented(text, 5)}${marks.length > 0 ? `  [${marks.join("; ")}]` : ""}`;
  });
  return [
    `${paint("bold", TITLES[target])}  ${paint("dim", usage)}${off}`,
    ...(shown.length > 0 ? shown : [paint("dim", "  (empty)")]),
  ];
}

// `hermes memory archive list`, `search` and `restore`; `pin` and `unpin`, which keep entries from being archived.

type Archived = ArchivedEntry & { readonly target: MemoryTarget };

export const list: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  return listing(archivedIn(store, input), input, store);
};

export const search: CommandBody = async (input, context) => {
  const words = await nonEmptyText(input, context, "words");
  const store = await openStore(input, context);
  const hits = withAllWords(archivedIn(store, input), words);
  return listing(hits, input, store);
};

export const restore: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const outcome = unwrap(await store.restore(input.args.id ?? "", { origin: "cli" }), memoryFailure);
  return changed(outcome, store, input, context);
};

export const pin: CommandBody = (input, context) => setPin(input, context, true);

export const unpin: CommandBody = (input, context) => setPin(input, context, false);

async function setPin(input: CommandInput, context: CommandContext, isOn: boolean): Promise<CommandOutcome> {
  const command = isOn ? "pin" : "unpin";
  const asked = await askedEntry(input, context, { word: input.args.text, command, isDashInput: true });
  const store = await openStore(input, context);
  const isPlain = asked.by === "text" && input.flags.target === undefined;
  const plain = isPlain ? theOneTarget(store, asked.text) : undefined;
  const target = plain ?? targetNamed(asked, store, input);
  const { oldText, match } = entryName(asked, store, target);
  const entry = unwrap(await store.pin(target, oldText, isOn, match), memoryFailure);
  return {
    json: {
      success: true,
      message: `${isOn ? "Pinned" : "Unpinned"} in ${fileNameOf(target)}.`,
      target,
      id: entryId(target, entry),
      entry,
      pinned: isOn,
    },
    notes: store.warnings,
  };
}

/** The only file that has the text. An entry equal to the text takes precedence over entries that contain it. */
function theOneTarget(store: MemoryStore, text: string): MemoryTarget | undefined {
  const all = MEMORY_TARGETS.flatMap((target) => store.entries(target).map((entry) => ({ target, entry })));
  const equal = all.filter(({ entry }) => entry === text);
  const hits = equal.length > 0 ? equal : all.filter(({ entry }) => entry.includes(text));
  if (new Set(hits.map(({ target }) => target)).size < 2) return hits[0]?.target;
  throw new CommandFailure("Entries of both MEMORY.md and USER.md hold this text. Pass --target.", {
    details: { kind: "ambiguous", matches: hits },
    hint: hits.map(({ target, entry }) => `  ${target.padEnd(6)}  ${oneLine(entry)}`).join("\n"),
  });
}

function archivedIn(store: MemoryStore, input: CommandInput): Archived[] {
  return targetsFlag(input).flatMap((target) => store.archived(target));
}

function listing(entries: readonly Archived[], { flags }: CommandInput, store: MemoryStore): CommandOutcome {
  const json = entries.map(({ id, time, target, origin, sessionId: session, text }) => {
    return { id, entry_id: entryId(target, text), time, target, origin, session, text };
  });
  const whole = json.map(
    ({ id, time, target, text }) => `${id}  ${localTime(time)}  ${target}\n    ${indented(text, 4)}`,
  );
  return { json, lines: flags.full === true ? whole : undefined, notes: store.warnings };
}

export function archiveMark({ before }: HistoryChange, archived: readonly string[] = []): string {
  return before !== null && archived.includes(before) ? "  (to the archive)" : "";
}
