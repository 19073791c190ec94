// `hermes memory status` and `path`.
import { statSync } from "node:fs";
import {
  fileNameOf,
  formatUsage,
  listBackups,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
  readPendingWrites,
  targetPaths,
} from "@hermes-memory/core/internal/curated";
import { groupThousands } from "@hermes-memory/core/internal/lib";
import type { CommandBody, CommandContext } from "../command.ts";
import { counted, printable } from "../printing.ts";
import { memoryDirectory, openStore, type PinView, stagedWritesOf, viewPins } from "./memory-command.ts";
import { providerStatus, statusLines } from "./provider/provider-status.ts";

export const path: CommandBody = (input, context) => {
  const directory = memoryDirectory(input, context);
  return { json: { path: directory }, lines: [directory] };
};

export const status: CommandBody = async (input, context) => {
  const config = await context.memory.memoryConfig();
  const store = await openStore(input, context);
  const pins = viewPins(store);
  const { pendingDirectory } = stagedWritesOf(input, context);
  const pending = pendingDirectory === undefined ? null : readPendingWrites(pendingDirectory).records.length;
  const targets = MEMORY_TARGETS.map((target) => describe(store, target, pins));
  const { home, profile } = context.home;
  const external = await providerStatus(context);
  return {
    json: {
      home,
      profile,
      directory: store.dir,
      targets: Object.fromEntries(targets.map(({ target, ...rest }) => [target, rest])),
      write_approval: config.writeApproval,
      pending,
      overflow: config.overflow,
      provider: external.active?.name ?? null,
      provider_status: external.active,
      outbox: external.outbox,
      outbox_problems: external.outboxTroubles,
      providers: external.providers,
      provider_warnings: external.warnings,
    },
    lines: [
      row("home", home),
      row("profile", profile),
      row("directory", store.dir),
      ...targets.flatMap((each) => ["", ...linesOf(each, context)]),
      "",
      row("write approval", config.writeApproval ? "on" : "off"),
      ...(pending === null ? [] : [row("pending writes", String(pending))]),
      row("when full", config.overflow === "archive" ? "archive (the oldest makes room)" : "refuse"),
      ...statusLines(external, context.io.paint),
    ],
    notes: [...store.warnings, ...pins.notes, ...external.warnings.map(printable)],
  };
};

type TargetStatus = ReturnType<typeof describe>;

function describe(store: MemoryStore, target: MemoryTarget, pins: PinView) {
  const { used, limit, warning } = store.usage(target);
  const paths = targetPaths(store.dir, target);
  const entries = store.entries(target);
  const history = store.history({ target });
  return {
    target,
    enabled: store.isEnabled(target),
    entries: entries.length,
    usage: formatUsage({ used, limit }),
    used_chars: used,
    char_limit: limit,
    warning,
    file_bytes: sizeOf(paths.file),
    blocked: store.blockedEntries(target).length,
    pinned: entries.filter((entry) => pins.isPinned(target, entry)).length,
    archived: store.archived(target).length,
    backups: listBackups(paths.file).length,
    journal_bytes: sizeOf(paths.journal) ?? 0,
    changes: history.filter(({ status: state }) => state !== "refused").length,
    refusals: history.filter(({ status: state }) => state === "refused").length,
  };
}

function linesOf(each: TargetStatus, { io }: CommandContext): string[] {
  const off = each.enabled ? "" : io.paint("yellow", "  (switched off)");
  const file = each.file_bytes === null ? "no file yet" : `${groupThousands(each.file_bytes)} bytes`;
  const kept = [
    counted(each.changes, "change"),
    counted(each.refusals, "refusal"),
    `${groupThousands(each.journal_bytes)} bytes`,
  ];
  const blocked = each.blocked === 0 ? "0" : io.paint("red", `${each.blocked} kept out of the prompt`);
  return [
    `${io.paint("bold", fileNameOf(each.target))}${off}`,
    row("  entries", `${each.entries}, ${each.usage}`),
    ...(each.warning === undefined ? [] : [row("  warning", io.paint("yellow", each.warning))]),
    row("  file", file),
    row("  blocked", blocked),
    row("  pinned", String(each.pinned)),
    row("  archived", String(each.archived)),
    row("  journal", kept.join(", ")),
    ...(each.backups === 0 ? [] : [row("  backups", String(each.backups))]),
  ];
}

function row(name: string, value: string): string {
  return `${name.padEnd(15)} ${value}`;
}

function sizeOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.size ?? null;
}
