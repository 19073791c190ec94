// `hermes skills pending`, `approve` and `reject`: staged changes that wait for the user's approval.
import {
  approveSkillChange,
  diffSkillChange,
  type PendingSkillChange,
  pendingSkillsDirectory,
  readPendingSkills,
  rejectSkillChange,
  type SkillStore,
} from "@hermes-memory/core/internal/skills";
import type { CommandBody, CommandContext, CommandOutcome } from "../command.ts";
import { unwrap } from "../command.ts";
import { oneLine, printable } from "../printing.ts";
import { openSkills, secretHint, skillFailure } from "./skill-command.ts";

const SUMMARY_CHARS = 200;
const NOTHING = "No pending skill changes.";

export const pending: CommandBody = async ({ flags }, context) => {
  const store = await openSkills(context);
  const { records, skipped } = readPendingSkills(pendingSkillsDirectory(store.home));
  const diffs = flags.diff === true ? await Promise.all(records.map(({ id }) => diffOf(store, id))) : [];
  return {
    json: { pending: records.map((record, index) => ({ ...record, ...diffs[index] })), skipped },
    lines:
      records.length === 0
        ? [NOTHING]
        : [
            `Pending skill changes (${records.length}):`,
            ...records.flatMap((record, index) => [line(record), ...shownDiff(diffs[index], context)]),
            "",
            "Make one with 'hermes skills approve <id>', drop it with 'hermes skills reject <id>'. 'all' means every one.",
          ],
    notes: aboutSkipped(skipped),
  };
};

export const approve: CommandBody = async ({ args, flags }, context) => {
  const store = await openSkills(context, flags);
  const asked = args.id ?? "";
  const { ids, skipped } = chosen(store, asked);
  if (ids.length === 0) return nothingWaits("approved", skipped);
  const approved: { id: string; message: string; change_id: string }[] = [];
  const failed: { id: string; kind: string; error: string }[] = [];
  const hints = new Set<string>();
  for (const id of ids) {
    const outcome = await approveSkillChange(store, id);
    if (outcome.ok)
      approved.push({ id, message: String(outcome.value.reply.message), change_id: outcome.value.changeId });
    else if (asked !== "all" && outcome.error.kind === "not_found" && !isThere(store, id))
      unwrap(outcome, skillFailure);
    else {
      failed.push({ id, kind: outcome.error.kind, error: outcome.error.message });
      hints.add(secretHint(outcome.error.details?.findings) ?? "");
    }
  }
  return {
    json: { success: failed.length === 0, approved, failed },
    lines: [
      `Approved ${approved.length} skill change(s).`,
      ...approved.map(({ id, message }) => `  ${id}: ${printable(message)}`),
      ...(failed.length > 0 ? ["Failed:"] : []),
      ...failed.map(({ id, error }) => `  ${id}: ${printable(error)}`),
    ],
    notes: [...[...hints].filter((hint) => hint !== ""), ...aboutSkipped(skipped)],
    exitCode: failed.length > 0 ? 1 : 0,
  };
};

export const reject: CommandBody = async ({ args }, context) => {
  const store = await openSkills(context);
  const isAll = args.id === "all";
  const { ids, skipped } = chosen(store, args.id ?? "");
  if (ids.length === 0) return nothingWaits("rejected", skipped);
  const rejected: string[] = [];
  for (const id of ids) {
    const outcome = await rejectSkillChange(store, id);
    if (!outcome.ok && isAll && outcome.error.kind === "not_found") continue; // another process decided it meanwhile
    unwrap(outcome, skillFailure);
    rejected.push(id);
  }
  return {
    json: { success: true, rejected },
    lines: [`Rejected ${rejected.length} skill change(s).`],
    notes: aboutSkipped(skipped),
  };
};

type Diff = { readonly diff?: readonly string[]; readonly problem?: string };

async function diffOf(store: SkillStore, id: string): Promise<Diff> {
  const diff = await diffSkillChange(store, id);
  return diff.ok ? { diff: diff.value } : { problem: diff.error.message };
}

function shownDiff({ diff = [], problem }: Diff = {}, { io }: CommandContext): string[] {
  const colour = (text: string): string => {
    if (text.startsWith("+")) return io.paint("green", text);
    return text.startsWith("-") ? io.paint("red", text) : text;
  };
  return [
    ...diff.map((text) => `    ${colour(printable(text))}`),
    ...(problem === undefined
      ? []
      : [`    ${io.paint("yellow", `cannot be done now: ${printable(problem)}`)}`]),
  ];
}

function chosen(store: SkillStore, asked: string): { ids: readonly string[]; skipped: readonly string[] } {
  if (asked !== "all") return { ids: [asked], skipped: [] };
  const { records, skipped } = readPendingSkills(pendingSkillsDirectory(store.home));
  return { ids: records.map(({ id }) => id), skipped };
}

function isThere(store: SkillStore, id: string): boolean {
  return readPendingSkills(pendingSkillsDirectory(store.home)).records.some((record) => record.id === id);
}

function nothingWaits(field: string, skipped: readonly string[]): CommandOutcome {
  return { json: { success: true, [field]: [] }, lines: [NOTHING], notes: aboutSkipped(skipped) };
}

function aboutSkipped(skipped: readonly string[]): string[] {
  return skipped.map((each) => `${printable(each)} is no staged change and was passed over.`);
}

function line({ id, origin, summary }: PendingSkillChange): string {
  return `  ${id}${origin === "background_review" ? " [auto]" : ""}  ${oneLine(summary, SUMMARY_CHARS)}`;
}
