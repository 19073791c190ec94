// approve, reject: what the curator staged, one run or all of it.
import {
  approvePending,
  type CommittedWrite,
  type PendingRecord,
  readPendingWrites,
  rejectPending,
} from "@hermes-memory/core/curated";
import type { Memory } from "@hermes-memory/core/memory";
import {
  approveSkillChange,
  type PendingSkillChange,
  pendingSkillsDirectory,
  readPendingSkills,
  rejectSkillChange,
} from "@hermes-memory/core/skills";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
} from "../command.ts";
import { goneLines } from "../memory/entries.ts";
import { mirrorToProvider, openStore, withProviderReport } from "../memory/memory-command.ts";
import { counted, printable } from "../printing.ts";
import { openSkills } from "../skills/open.ts";

type Failure = { readonly id: string; readonly kind: string; readonly error: string };

export const approve: CommandBody = async (input, context) => {
  const { memory, skills } = stagedOf(input, context);
  const approved: string[] = [];
  const failed: Failure[] = [];
  const note = (
    id: string,
    outcome: { ok: true } | { ok: false; error: { kind: string; message: string } },
  ): void => {
    if (outcome.ok) approved.push(id);
    else failed.push({ id, kind: outcome.error.kind, error: outcome.error.message });
  };
  const directory = context.memory.owner.pendingDirectory;
  const writes: CommittedWrite[] = [];
  const store = memory.length > 0 ? await openStore({ ...input, flags: {} }, context) : undefined;
  const gone: string[] = [];
  const removed: string[] = [];
  for (const { id } of memory) {
    if (!store) continue;
    const outcome = await approvePending(store, directory, id, {
      onCommitted: (write) => writes.push(write),
    });
    note(id, outcome);
    if (!outcome.ok) continue;
    gone.push(...goneLines(outcome.value.changes ?? [], outcome.value.archived));
    removed.push(...(outcome.value.removed ?? []), ...(outcome.value.archived ?? []));
  }
  const skillStore = skills.length > 0 ? await openSkills(context) : undefined;
  for (const { id } of skills) if (skillStore) note(id, await approveSkillChange(skillStore, id));
  const told: CommandOutcome = {
    json: { success: failed.length === 0, approved, failed, removed },
    lines: [
      `Approved ${counted(approved.length, "proposal")}.`,
      ...gone,
      ...failed.map(({ id, error }) => `  ${id} failed: ${printable(error)}`),
    ],
    notes: store?.warnings ?? [],
    exitCode: failed.length > 0 ? 1 : 0,
  };
  return withProviderReport(told, await mirrorToProvider({ flags: {} }, context, writes));
};

export const reject: CommandBody = async (input, context) => {
  const { memory, skills } = stagedOf(input, context);
  const rejected: string[] = [];
  const directory = context.memory.owner.pendingDirectory;
  for (const { id } of memory) if (rejectPending(directory, id).ok) rejected.push(id);
  const store = skills.length > 0 ? await openSkills(context) : undefined;
  for (const { id } of skills) if (store && (await rejectSkillChange(store, id)).ok) rejected.push(id);
  return { json: { success: true, rejected }, lines: [`Rejected ${counted(rejected.length, "proposal")}.`] };
};

export type Staged = {
  readonly memory: readonly PendingRecord[];
  readonly skills: readonly PendingSkillChange[];
};

/** What the curator staged in this home, in the order it was staged. */
export function allStaged({ home, owner }: Memory): Staged {
  return {
    memory: readPendingWrites(owner.pendingDirectory).records.filter(({ origin }) => origin === "curator"),
    skills: readPendingSkills(pendingSkillsDirectory(home)).records.filter(
      ({ origin }) => origin === "curator",
    ),
  };
}

function stagedOf(input: CommandInput, { memory }: CommandContext): Staged {
  const wanted = input.args.run;
  const all = allStaged(memory);
  if (wanted === undefined) return all;
  const isWanted = ({ group }: { readonly group?: string }): boolean => group === wanted;
  const staged = { memory: all.memory.filter(isWanted), skills: all.skills.filter(isWanted) };
  if (staged.memory.length + staged.skills.length > 0) return staged;
  throw new CommandFailure(`Nothing that run '${printable(wanted)}' staged is waiting.`, {
    hint: "'hermes curator status' shows what waits.",
    details: { kind: "no_match" },
  });
}
