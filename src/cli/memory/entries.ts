// show, add, replace, remove.
import type { MemoryConfig } from "../../config/index.ts";
import {
  committedWrites,
  formatUsage,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryStore,
  type MemoryTarget,
} from "../../curated/index.ts";
import { areSecretIds, scanThreats } from "../../security/index.ts";
import type { CommandBody, CommandContext, CommandInput, CommandOutcome } from "../command.ts";
import { indented, printable } from "../printing.ts";
import { overrideHint } from "./failure.ts";
import { openStore, type PinView, targetFlag, targetsFlag, textArgument, unwrap, viewPins } from "./open.ts";
import { tellProvider, withNews } from "./provider-mirror.ts";

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
  return {
    json: Object.fromEntries(targets.map((target) => [target, describe(store, target, pins)])),
    lines: targets.flatMap((target, index) => [
      ...(index > 0 ? [""] : []),
      ...render(store, target, pins, context),
    ]),
    notes: [...store.warnings, ...pins.notes],
  };
};

export const add: CommandBody = async (input, context) => {
  const content = await textArgument(input, context, "text");
  return change(input, context, { action: "add", content });
};

export const replace: CommandBody = async (input, context) => {
  const content = await textArgument(input, context, "text");
  return change(input, context, { action: "replace", oldText: input.args.old_text ?? "", content });
};

export const remove: CommandBody = async (input, context) =>
  change(input, context, { action: "remove", oldText: input.args.old_text ?? "" });

async function change(input: CommandInput, context: CommandContext, op: MemoryOp): Promise<CommandOutcome> {
  const store = await openStore(input, context);
  const reason = typeof input.flags.reason === "string" ? { reason: input.flags.reason } : {};
  const outcome = await store.apply(targetFlag(input), op, { origin: "cli", ...reason });
  const made = unwrap(outcome, outcome.ok ? undefined : overrideHint(outcome.error));
  const told = await changed(made, store, input, context);
  const config = await context.memoryConfig();
  return isKeptOut(op, config) ? { ...told, notes: [...(told.notes ?? []), KEPT_OUT] } : told;
}

const KEPT_OUT =
  "Prompts will show a placeholder for it: it matches hardcoded_secret, and --allow-secret is only about storing. memory.allow_secrets: true shows it.";

/** Allowed for this one time, but not by the config that the next load goes by. */
function isKeptOut(op: MemoryOp, { scanAllow, allowSecrets }: MemoryConfig): boolean {
  if (op.action === "remove" || allowSecrets) return false;
  return areSecretIds(scanThreats(op.content, "strict", { allow: scanAllow }).map(({ id }) => id));
}

/** How a committed change is told: to the active memory provider, and to the person. */
export async function changed(
  outcome: MemoryOpOutcome,
  store: MemoryStore,
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  const news = await tellProvider(input, context, committedWrites(outcome));
  return withNews(describeChange(outcome, store, context), news);
}

function describeChange(
  outcome: MemoryOpOutcome,
  store: MemoryStore,
  context: CommandContext,
): CommandOutcome {
  const { target, message, entries, entryCount, usedChars, charLimit, warning, archived, changeId } = outcome;
  const usage = formatUsage({ used: usedChars, limit: charLimit });
  return {
    json: {
      success: true,
      target,
      entries,
      usage,
      entry_count: entryCount,
      message,
      ...(warning === undefined ? {} : { warning }),
      ...(archived === undefined ? {} : { archived }),
      ...(changeId === undefined ? {} : { change_id: changeId }),
    },
    lines: [
      `${message}  ${context.io.paint("dim", `${target} ${usage}${changeId ? `, change ${changeId}` : ""}`)}`,
    ],
    notes: [
      ...store.warnings.filter((line) => !warning?.includes(line)), // the store tells of weak locks too
      ...(warning === undefined ? [] : [`warning: ${warning}`]),
    ],
  };
}

function describe(store: MemoryStore, target: MemoryTarget, pins: PinView): object {
  const { used, limit } = store.usage(target);
  const blocked = new Map(store.blockedEntries(target).map(({ index, ids }) => [index, ids]));
  return {
    entries: store.entries(target).map((text, index) => ({
      text,
      pinned: pins.isPinned(target, text),
      ...(blocked.has(index) ? { blocked_ids: blocked.get(index) } : {}),
    })),
    usage: formatUsage({ used, limit }),
    used_chars: used,
    char_limit: limit,
    enabled: store.isEnabled(target),
  };
}

function render(store: MemoryStore, target: MemoryTarget, pins: PinView, { io }: CommandContext): string[] {
  const blocked = new Map(store.blockedEntries(target).map(({ index, ids }) => [index, ids]));
  const off = store.isEnabled(target) ? "" : io.paint("yellow", "  (switched off)");
  const head = `${io.paint("bold", TITLES[target])}  ${io.paint("dim", formatUsage(store.usage(target)))}${off}`;
  const entries = store.entries(target).map((text, index) => {
    const marks = [
      ...(pins.isPinned(target, text) ? [io.paint("cyan", "pinned")] : []),
      ...(blocked.has(index) ? [io.paint("red", `blocked: ${blocked.get(index)?.join(", ")}`)] : []),
    ];
    const number = String(index + 1).padStart(3);
    return `${number}. ${indented(text, 5)}${marks.length > 0 ? `  [${marks.join("; ")}]` : ""}`;
  });
  return [head, ...(entries.length > 0 ? entries : [io.paint("dim", "  (empty)")])];
}
