// `pending`, `approve` and `reject` of memory, skills and the curator: writes that wait for the user's approval.
import type { CommittedWrite, MemoryStore } from "@hermes-memory/core/internal/curated";
import { diffSkillChange, type SkillStore } from "@hermes-memory/core/internal/skills";
import {
  type Decided,
  decidedLines,
  decideStaged,
  listStaged,
  nothingStaged,
  type StagedChoice,
  type StagedPlace,
  type Subsystem,
  stagedLines,
} from "@hermes-memory/core/internal/staged";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  failureOf,
  unwrap,
} from "./command.ts";
import { mirrorToProvider, openStore, secretHint, withProviderReport } from "./memory/memory-command.ts";
import { printable } from "./printing.ts";
import { openSkills } from "./skills/manage-skills.ts";

export const pendingMemory = pending("memory");
export const approveMemory = decide("approve", "memory");
export const rejectMemory = decide("reject", "memory");
export const pendingSkills = pending("skills");
export const approveSkills = decide("approve", "skills");
export const rejectSkills = decide("reject", "skills");

function pending(subsystem: Subsystem): CommandBody {
  return async ({ flags }, context) => {
    const { records, skipped } = listStaged(placeOf(context), { subsystem });
    const store = flags.diff === true ? await openSkills(context) : undefined;
    const diffs = store ? await Promise.all(records.map(({ id }) => diffOf(store, id))) : [];
    const below = diffs.map(({ diff = [], problem }) => [
      ...diff.map((text) => `    ${text}`),
      ...(problem === undefined ? [] : [`    cannot be done now: ${problem}`]),
    ]);
    return {
      json: { pending: records.map((record, index) => ({ ...record, ...diffs[index] })), skipped },
      lines: stagedLines(subsystem, records, `hermes ${subsystem}`, below).map((line) =>
        coloured(printable(line), context),
      ),
      notes: skipped.map((name) => `${printable(name)} is not a staged write and was skipped.`),
    };
  };
}

type Diff = { readonly diff?: readonly string[]; readonly problem?: string };

async function diffOf(store: SkillStore, id: string): Promise<Diff> {
  const diff = await diffSkillChange(store, id);
  return diff.ok ? { diff: diff.value } : { problem: diff.error.message };
}

function decide(decision: "approve" | "reject", subsystem: Subsystem): CommandBody {
  return async (input, context) => {
    const field = decision === "approve" ? "approved" : "rejected";
    const { id = "" } = input.args;
    const choice = id === "all" ? { subsystem } : { subsystem, id };
    if (id === "all" && listStaged(placeOf(context), choice).records.length === 0)
      return { json: { success: true, [field]: [] }, lines: [nothingStaged(subsystem)] };
    return carryOut(decision, choice, input, context, ({ done, failed }) => ({
      [field]: decision === "approve" ? done : done.map((each) => each.id),
      ...(decision === "approve" || failed.length > 0 ? { failed } : {}),
    }));
  };
}

export const approveProposals: CommandBody = (input, context) =>
  carryOut("approve", ofCurator(input, context), input, context, ({ done, failed }) => ({
    approved: done.map(({ id }) => id),
    failed,
    removed: done.flatMap(({ removed = [], archived = [] }) => [...removed, ...archived]),
  }));

export const rejectProposals: CommandBody = (input, context) =>
  carryOut("reject", ofCurator(input, context), input, context, ({ done }) => ({
    rejected: done.map(({ id }) => id),
  }));

/** How many proposals of the curator wait, by subsystem. */
export function stagedByCurator(context: CommandContext): Record<Subsystem, number> {
  const { records } = listStaged(placeOf(context), { origin: "curator" });
  const count = (subsystem: Subsystem) => records.filter((each) => each.subsystem === subsystem).length;
  return { memory: count("memory"), skills: count("skills") };
}

function ofCurator({ args }: CommandInput, context: CommandContext): StagedChoice {
  const choice = { origin: "curator", group: args.run };
  if (args.run === undefined || listStaged(placeOf(context), choice).records.length > 0) return choice;
  throw new CommandFailure(`Nothing that run '${printable(args.run)}' staged is waiting.`, {
    hint: "'hermes curator status' shows what waits.",
    details: { kind: "no_match" },
  });
}

async function carryOut(
  decision: "approve" | "reject",
  choice: StagedChoice,
  input: CommandInput,
  context: CommandContext,
  jsonOf: (decided: Decided) => object,
): Promise<CommandOutcome> {
  const writes: CommittedWrite[] = [];
  let store: MemoryStore | undefined;
  const decided = unwrap(
    await decideStaged(decision, choice, {
      ...placeOf(context, input.flags),
      curated: async () => {
        store ??= await openStore(input, context);
        return store;
      },
      onCommitted: (write) => void writes.push(write),
    }),
    ({ message, ...details }) => failureOf({ ...details, message: printable(message) }),
  );
  const { done, failed } = decided;
  const hints = failed.map(({ findings }) => secretHint(findings, choice.subsystem));
  const outcome: CommandOutcome = {
    json: { success: failed.length === 0, ...jsonOf(decided) },
    lines: decidedLines(decision, choice, decided).map(printable),
    notes: [
      ...(store?.warnings ?? []),
      ...done.flatMap(({ target, warning }) =>
        warning === undefined ? [] : [`warning: ${target}: ${warning}`],
      ),
      ...new Set(hints.filter((hint) => hint !== undefined)),
    ],
    exitCode: failed.length > 0 ? 1 : 0,
  };
  return withProviderReport(outcome, await mirrorToProvider({ flags: {} }, context, writes));
}

function placeOf(context: CommandContext, flags: CommandInput["flags"] = {}): StagedPlace {
  const { home, administrator } = context.memory;
  return {
    home,
    pendingDirectory: administrator.pendingDirectory,
    curated: () => openStore({ flags }, context),
    skills: () => openSkills(context, flags),
  };
}

/** Lines of a diff are indented by four. */
function coloured(text: string, { io }: CommandContext): string {
  if (text.startsWith("    +")) return io.paint("green", text);
  return text.startsWith("    -") ? io.paint("red", text) : text;
}
