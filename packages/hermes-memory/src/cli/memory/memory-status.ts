// `hermes memory status` and `path`.
import { statSync } from "node:fs";
import {
  formatUsage,
  listBackups,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
  readPendingWrites,
  targetPaths,
} from "@hermes-memory/core/internal/curated";
import type { CommandBody } from "../command.ts";
import { printable } from "../printing.ts";
import { render } from "../render.ts";
import { memoryDirectory, openStore, type PinView, stagedWritesOf, viewPins } from "./memory-command.ts";
import { providerStatus, statusLines } from "./provider/provider-status.ts";

export const path: CommandBody = (input, context) => {
  const directory = memoryDirectory(input, context);
  return { json: { path: directory }, lines: [directory] };
};

export const status: CommandBody = async (input, context) => {
  const { writeApproval, overflow } = await context.memory.memoryConfig();
  const store = await openStore(input, context);
  const pins = viewPins(store);
  const { pendingDirectory } = stagedWritesOf(input, context);
  const { home, profile } = context.home;
  const curated = {
    home,
    profile,
    directory: store.dir,
    targets: Object.fromEntries(MEMORY_TARGETS.map((target) => [target, describe(store, target, pins)])),
    write_approval: writeApproval,
    pending: pendingDirectory === undefined ? null : readPendingWrites(pendingDirectory).records.length,
    overflow,
  };
  const external = await providerStatus(context);
  return {
    json: {
      ...curated,
      provider: external.active?.name ?? null,
      provider_status: external.active,
      outbox: external.outbox,
      outbox_problems: external.outboxTroubles,
      providers: external.providers,
      provider_warnings: external.warnings,
    },
    lines: [...render(curated, context.io.paint), "", ...statusLines(external, context.io.paint)],
    notes: [...store.warnings, ...pins.notes, ...external.warnings.map(printable)],
  };
};

function describe(store: MemoryStore, target: MemoryTarget, pins: PinView): object {
  const { used, limit, warning } = store.usage(target);
  const paths = targetPaths(store.dir, target);
  const entries = store.entries(target);
  const history = store.history({ target });
  return {
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

function sizeOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.size ?? null;
}
