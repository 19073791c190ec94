// `hermes memory pending`, `approve` and `reject`: writes that wait for the user's approval.
import {
  approvePending,
  type CommittedWrite,
  MEMORY_TARGETS,
  type MemoryStore,
  type PendingRecord,
  pendingOperations,
  readPendingWrites,
  rejectPending,
} from "@hermes-memory/core/internal/curated";
import { type CommandBody, type CommandOutcome, unwrap } from "../command.ts";
import { oneLine, printable } from "../printing.ts";
import { goneLines } from "./entries.ts";
import {
  memoryFailure,
  mirrorToProvider,
  openStore,
  secretHint,
  withProviderReport,
} from "./memory-command.ts";

// The writer has cut the summary already; this limit only keeps it on one line.
const SUMMARY_CHARS = 200;
const NOTHING = "No pending memory writes.";

export const pending: CommandBody = (_input, context) => {
  const { records, skipped } = readPendingWrites(context.memory.administrator.pendingDirectory);
  return {
    json: { pending: records, skipped },
    lines:
      records.length === 0
        ? [NOTHING]
        : [
            `Pending memory writes (${records.length}):`,
            ...records.map(line),
            "",
            "Save one with 'hermes memory approve <id>', drop it with 'hermes memory reject <id>'. 'all' means every one.",
          ],
    notes: aboutSkipped(skipped),
  };
};

export const approve: CommandBody = async (input, context) => {
  const directory = context.memory.administrator.pendingDirectory;
  const { ids, records, skipped } = chosen(directory, input.args.id ?? "");
  if (ids.length === 0) return nothingWaits("approved", skipped);
  const store = await openStore(input, context);
  const approved: {
    id: string;
    target: string;
    message: string;
    removed?: readonly string[];
    change_id?: string;
  }[] = [];
  const gone: string[] = [];
  const failed: { id: string; kind: string; error: string }[] = [];
  const warnings = new Set<string>();
  const writes: CommittedWrite[] = [];
  for (const id of ids) {
    const outcome = await approvePending(store, directory, id, {
      onCommitted: (write) => writes.push(write),
    });
    if (outcome.ok) {
      const { target, message, warning, changeId, removed, changes, archived } = outcome.value;
      approved.push({ id, target, message, removed, change_id: changeId });
      gone.push(...goneLines(changes ?? [], archived));
      if (warning !== undefined) warnings.add(`warning: ${target}: ${warning}`);
    } else if (!records.some((record) => record.id === id)) {
      unwrap(outcome, memoryFailure); // there is no such record
    } else {
      failed.push({ id, kind: outcome.error.kind, error: outcome.error.message });
      const hint = secretHint(outcome.error);
      if (hint !== undefined) warnings.add(hint);
    }
  }
  const decided: CommandOutcome = {
    json: { success: failed.length === 0, approved, failed },
    lines: [
      `Approved ${approved.length} memory write(s).`,
      ...gone,
      ...(failed.length > 0 ? ["Failed:"] : []),
      ...failed.map(({ id, error }) => `  ${id}: ${printable(error)}`),
    ],
    notes: [...store.warnings, ...warnings, ...aboutSkipped(skipped)],
    exitCode: failed.length > 0 ? 1 : 0,
  };
  return withProviderReport(decided, await mirrorToProvider(input, context, writes));
};

export const reject: CommandBody = async (input, context) => {
  const directory = context.memory.administrator.pendingDirectory;
  const { ids, skipped, records } = chosen(directory, input.args.id ?? "");
  if (ids.length === 0) return nothingWaits("rejected", skipped);
  const store = await openStore(input, context);
  const isAll = input.args.id === "all";
  const rejected: string[] = [];
  for (const id of ids) {
    const outcome = rejectPending(directory, id);
    if (!outcome.ok && isAll && outcome.error.kind === "no_match") continue; // another process has decided it meanwhile
    unwrap(outcome, memoryFailure);
    rejected.push(id);
    await noteRejection(
      store,
      records.find((record) => record.id === id),
    );
  }
  return {
    json: { success: true, rejected },
    lines: [
      isAll
        ? `Rejected ${rejected.length} pending memory write(s).`
        : `Rejected pending memory write '${ids[0]}'.`,
    ],
    notes: [...store.warnings, ...aboutSkipped(skipped)],
  };
};

type Choice = { ids: readonly string[]; records: readonly PendingRecord[]; skipped: readonly string[] };

function chosen(directory: string, asked: string): Choice {
  const { records, skipped } = readPendingWrites(directory);
  return asked === "all"
    ? { ids: records.map(({ id }) => id), records, skipped }
    : { ids: [asked], records, skipped: [] };
}

/** Notes the rejection in the journal, for `explain`. Of the text only a hash is kept. */
async function noteRejection(store: MemoryStore, record: PendingRecord | undefined): Promise<void> {
  const target = MEMORY_TARGETS.find((each) => each === record?.payload.target);
  const ops = record && pendingOperations(record);
  if (!target || !ops) return; // a damaged record has nothing to note
  const meta = { origin: "cli", reason: `rejected ${record.id}` } as const;
  for (const op of ops) await store.noteRefusal(target, op, { kind: "denied", message: "rejected" }, meta);
}

function nothingWaits(field: string, skipped: readonly string[]): CommandOutcome {
  return { json: { success: true, [field]: [] }, lines: [NOTHING], notes: aboutSkipped(skipped) };
}

function aboutSkipped(skipped: readonly string[]): string[] {
  return skipped.map((name) => `${printable(name)} is not a staged write and was skipped.`);
}

function line({ id, origin, summary }: PendingRecord): string {
  return `  ${id}${origin === "background_review" ? " [auto]" : ""}  ${oneLine(summary, SUMMARY_CHARS)}`;
}
