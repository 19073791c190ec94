// Writes of memory and of skills that wait for the user's approval: the one way to list, approve and reject them, for the command
// line, the chat and the curator.
import {
  approvePending,
  type CommittedWrite,
  MEMORY_TARGETS,
  type MemoryStore,
  type PendingRecord,
  pendingOperations,
  readPendingWrites,
  rejectPending,
} from "./curated/index.ts";
import { err, ok, preview, type Result, type StagedRecords } from "./lib/index.ts";
import {
  approveSkillChange,
  type PendingSkillChange,
  pendingSkillsDirectory,
  readPendingSkills,
  rejectSkillChange,
  type SkillStore,
} from "./skills/index.ts";

export type StagedWrite = PendingRecord | PendingSkillChange;
export type Subsystem = StagedWrite["subsystem"];

/** Where the writes wait, and the stores that approved ones go to. */
export type StagedPlace = {
  readonly home: string;
  readonly pendingDirectory: string;
  /** Undefined if curated memory is switched off. */
  readonly curated: () => Promise<MemoryStore | undefined>;
  readonly skills: () => Promise<SkillStore>;
  readonly sessionId?: string;
  readonly onCommitted?: (write: CommittedWrite, origin: string) => void;
};

/** The writes that have all of this. An id is one of a subsystem. */
export type StagedChoice =
  | { readonly subsystem: Subsystem; readonly id: string }
  | { readonly subsystem?: Subsystem; readonly origin?: string; readonly group?: string };

/** Field names as `--json` prints them. */
export type Decided = {
  readonly done: readonly {
    readonly id: string;
    readonly target?: string;
    readonly message?: string;
    /** Texts that left the file, those in `archived` excepted. */
    readonly removed?: readonly string[];
    readonly archived?: readonly string[];
    readonly change_id?: string;
    readonly warning?: string;
  }[];
  readonly failed: readonly {
    readonly id: string;
    readonly kind: string;
    readonly error: string;
    /** What the scanner found in a text that it blocked. */
    readonly findings?: readonly string[];
  }[];
};

type Done = Decided["done"][number];
type Problem = { readonly kind: string; readonly message: string; readonly findings?: readonly string[] };

type Layer = {
  /** The kind of error for an id under which nothing waits. */
  readonly missing: string;
  list(place: Pick<StagedPlace, "home" | "pendingDirectory">): StagedRecords<StagedWrite>;
  approve(place: StagedPlace, id: string, origin: string): Promise<Result<Done, Problem>>;
  reject(place: StagedPlace, id: string): Promise<Result<void, Problem>>;
};

const LAYERS: Readonly<Record<Subsystem, Layer>> = {
  memory: {
    missing: "no_match",
    list: ({ pendingDirectory }) => readPendingWrites(pendingDirectory),
    async approve(place, id, origin) {
      const store = await place.curated();
      if (store === undefined)
        return err({ kind: "unavailable", message: "Curated memory is switched off." });
      const outcome = await approvePending(store, place.pendingDirectory, id, {
        onCommitted: (write) => place.onCommitted?.(write, origin),
      });
      if (!outcome.ok) {
        const { error } = outcome;
        const findings = error.kind === "blocked" ? error.ids : undefined;
        return err({ kind: error.kind, message: error.message, findings });
      }
      const { target, message, removed, archived, changeId, warning } = outcome.value;
      return ok({ id, target, message, removed, archived, change_id: changeId, warning });
    },
    async reject(place, id) {
      const record = readPendingWrites(place.pendingDirectory).records.find((each) => each.id === id);
      const outcome = rejectPending(place.pendingDirectory, id);
      if (outcome.ok && record !== undefined) await noteRejection(place, record);
      return outcome;
    },
  },
  skills: {
    missing: "not_found",
    list: ({ home }) => readPendingSkills(pendingSkillsDirectory(home)),
    async approve(place, id) {
      const outcome = await approveSkillChange(await place.skills(), id, { sessionId: place.sessionId });
      if (outcome.ok)
        return ok({ id, message: String(outcome.value.reply.message), change_id: outcome.value.changeId });
      const { kind, message, details } = outcome.error;
      const findings = Array.isArray(details?.findings) ? details.findings.map(String) : undefined;
      return err({ kind, message, findings });
    },
    reject: async (place, id) => rejectSkillChange(await place.skills(), id),
  },
};

/** Notes the rejection in the journal, for `explain`. Of the text only a hash is kept. */
async function noteRejection({ curated, sessionId }: StagedPlace, record: PendingRecord): Promise<void> {
  const target = MEMORY_TARGETS.find((each) => each === record.payload.target);
  const ops = pendingOperations(record);
  const store = await curated();
  if (target === undefined || ops === undefined || store === undefined) return; // a damaged record has nothing to note
  const meta = { origin: "cli", reason: `rejected ${record.id}`, sessionId } as const;
  for (const op of ops) store.noteRefusal(target, op, { kind: "denied", message: "rejected" }, meta);
}

export function listStaged(
  place: Pick<StagedPlace, "home" | "pendingDirectory">,
  choice: StagedChoice = {},
): StagedRecords<StagedWrite> {
  const names = choice.subsystem === undefined ? (["memory", "skills"] as const) : [choice.subsystem];
  const lists = names.map((name) => LAYERS[name].list(place));
  const fits = (record: StagedWrite): boolean =>
    "id" in choice
      ? record.id === choice.id
      : (choice.origin ?? record.origin) === record.origin && (choice.group ?? record.group) === record.group;
  return {
    records: lists.flatMap(({ records }) => records.filter(fits)),
    skipped: lists.flatMap(({ skipped }) => skipped),
  };
}

/** An error only for an id under which no usable write waits; a damaged one can be rejected. */
export async function decideStaged(
  decision: "approve" | "reject",
  choice: StagedChoice,
  place: StagedPlace,
): Promise<Result<Decided, Problem>> {
  const { records } = listStaged(place, choice);
  const isKnown = !("id" in choice) || records.length > 0;
  const chosen = isKnown ? records : [{ ...choice, origin: "" }];
  const done: Done[] = [];
  const failed: Decided["failed"][number][] = [];
  for (const { subsystem, id, origin } of chosen) {
    const layer = LAYERS[subsystem];
    const outcome =
      decision === "approve" ? await layer.approve(place, id, origin) : await layer.reject(place, id);
    if (outcome.ok) done.push(outcome.value ?? { id });
    else if (!isKnown) return outcome;
    else if (decision === "approve" || "id" in choice || outcome.error.kind !== layer.missing)
      failed.push({
        id,
        kind: outcome.error.kind,
        error: outcome.error.message,
        findings: outcome.error.findings,
      });
    // A write of the list that is missing has just been decided by another process.
  }
  return ok({ done, failed });
}

// As text, for the chat and the command line. Other programs match on the lines about memory.

const NOUNS: Readonly<Record<Subsystem, string>> = { memory: "memory write", skills: "skill change" };
const SUMMARY_CHARS = 200;

export function nothingStaged(subsystem: Subsystem): string {
  return `No pending ${NOUNS[subsystem]}s.`;
}

/** `command`: the words before `approve`. `diffs`: lines below each record. */
export function stagedLines(
  subsystem: Subsystem,
  records: readonly StagedWrite[],
  command: string,
  diffs: readonly (readonly string[])[] = [],
): string[] {
  if (records.length === 0) return [nothingStaged(subsystem)];
  return [
    `Pending ${NOUNS[subsystem]}s (${records.length}):`,
    ...records.flatMap(({ id, origin, summary }, index) => [
      `  ${id}${origin === "background_review" ? " [auto]" : ""}  ${preview(summary.replace(/\s+/g, " ").trim(), SUMMARY_CHARS)}`,
      ...(diffs[index] ?? []),
    ]),
    "",
    `Save one with '${command} approve <id>', drop it with '${command} reject <id>'. 'all' means every one.`,
  ];
}

export function decidedLines(
  decision: "approve" | "reject",
  choice: StagedChoice,
  { done, failed }: Decided,
): string[] {
  const { subsystem } = choice;
  const noun = subsystem === undefined ? "proposal" : NOUNS[subsystem];
  const many =
    decision === "approve"
      ? `Approved ${done.length} ${noun}(s).`
      : `Rejected ${done.length} pending ${noun}(s).`;
  const isOne = decision === "reject" && "id" in choice && done.length === 1;
  return [
    isOne ? `Rejected pending ${noun} '${choice.id}'.` : many,
    ...done.flatMap(({ id, message, removed = [], archived = [] }) => [
      ...(subsystem === "skills" && message !== undefined ? [`  ${id}: ${message}`] : []),
      ...removed.map((text) => `- ${text}`),
      ...archived.map((text) => `- ${text}  (to the archive)`),
    ]),
    ...(failed.length === 0 ? [] : ["Failed:"]),
    ...failed.map(({ id, error }) => `  ${id}: ${error}`),
  ];
}
