// The memory part of a run: reads the entries, applies the fixed rules, asks the model if there is one, then proposes or makes the
// changes.
import type { MemoryConfig } from "@hermes-memory/core/internal/config";
import {
  type CommittedWrite,
  committedWrites,
  Journal,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
  measure,
  parseEntries,
  pinsPath,
  readMemoryFile,
  readPendingWrites,
  readPins,
  stageCuration,
  targetPaths,
  withoutDuplicates,
} from "@hermes-memory/core/internal/curated";
import { describeCause, err, ok, preview, type Result, sha256 } from "@hermes-memory/core/internal/lib";
import type { Person } from "@hermes-memory/core/internal/memory";
import {
  type Decided,
  type Finding,
  type MemoryProposal,
  NOTHING,
  type Outcome,
  type RunContext,
  type RunPart,
  type TargetView,
} from "../proposals.ts";
import { reviewTarget } from "./entry-rules.ts";
import type { Dropped, Judgement } from "./judge.ts";

const DAY_MS = 86_400_000;
const SUMMARY_CHARS = 120;

export async function curateMemory(run: RunContext): Promise<RunPart> {
  const writes: CommittedWrite[] = [];
  let trouble: readonly string[] = [];
  let part: RunPart;
  try {
    part = await curateTargets(run, (write) => writes.push(write));
  } finally {
    trouble = await tellProvider(run.memory.administrator, writes); // also after an abort: the writes so far are on disk
  }
  return { ...part, notes: [...part.notes, ...trouble] };
}

async function curateTargets(run: RunContext, onWrite: (write: CommittedWrite) => void): Promise<RunPart> {
  const { administrator, clock } = run.memory;
  const { directory } = administrator;
  const config = await run.memory.memoryConfig();
  const store = await administrator.curatedIn(directory, { isLoaded: false });
  const decided: Decided[] = [];
  const findings: Finding[] = [];
  const dropped: Dropped[] = [];
  const notes: string[] = [];
  const proposed: string[] = [];
  for (const target of MEMORY_TARGETS) {
    if (!store.isEnabled(target)) continue;
    const now = clock.now();
    const spareMs = run.isScheduled ? DAY_MS : 0;
    const view = viewTarget(target, { directory, config, now, spareMs });
    if (!view.ok) {
      notes.push(`The target '${target}' was left alone: ${view.error}`);
      continue;
    }
    const review = reviewTarget(view.value, now);
    findings.push(...review.findings);
    const opinion = await askModel(view.value, review.proposals, store, run, notes);
    findings.push(...opinion.findings);
    dropped.push(...opinion.dropped);
    for (const proposal of [...review.proposals, ...opinion.proposals]) {
      const key = keyOf(proposal);
      const outcome = await decide(proposal, key, store, run, onWrite);
      if (outcome.kind === "staged") proposed.push(key);
      decided.push({ proposal, outcome });
    }
  }
  return { ...NOTHING, decided, findings, dropped, notes: [...notes, ...store.warnings], proposed };
}

/** Passes the writes to the active memory provider. Returns notes for the report when that failed. */
export async function tellProvider(
  { provider }: Person,
  writes: readonly CommittedWrite[],
): Promise<readonly string[]> {
  const outcome = await provider.mirror(writes, "curator");
  if (outcome.kind !== "failed") return [];
  return [`The memory provider '${outcome.provider}' did not get the changes: ${outcome.reason}`];
}

/** The same change has the same key in every run. */
function keyOf({ target, curation }: MemoryProposal): string {
  const { remove, keep, isArchived } = curation;
  return sha256(JSON.stringify([target, remove, keep ?? [], isArchived ?? false]));
}

const NO_OPINION: Judgement = { proposals: [], findings: [], dropped: [] };

/** The model sees the entries that the rules leave, and only what can be checked of its answer counts. */
async function askModel(
  view: TargetView,
  proposals: readonly MemoryProposal[],
  store: MemoryStore,
  { calls, memory: { clock }, onProgress }: RunContext,
  notes: string[],
): Promise<Judgement> {
  if (!calls) return NO_OPINION;
  const { askAboutEntries, batchesOf, judge } = await import("./judge.ts");
  const gone = new Set(proposals.flatMap(({ curation }) => curation.remove));
  // Whatever vouches for an entry that goes must itself stay as it is.
  const keepers = new Set(proposals.flatMap(({ curation }) => curation.keep ?? []));
  const isPinned = (entry: string): boolean => view.isPinned(entry) || keepers.has(entry);
  const isAcceptable = (text: string): boolean => store.check({ action: "add", content: text }) === undefined;
  const found: Judgement[] = [];
  for (const batch of batchesOf(view.entries.filter((entry) => !gone.has(entry)))) {
    onProgress?.(`Asking the model about ${batch.length} entries of '${view.target}'.`);
    const answer = await askAboutEntries(batch, { target: view.target, isPinned }, calls, clock.now());
    if (answer.ok) found.push(judge(batch, answer.value, { ...view, isPinned, isAcceptable }));
    else notes.push(`The model gave no usable answer about '${view.target}': ${answer.error.message}`);
  }
  return {
    proposals: found.flatMap((each) => each.proposals),
    findings: found.flatMap((each) => each.findings),
    dropped: found.flatMap((each) => each.dropped),
  };
}

async function decide(
  proposal: MemoryProposal,
  key: string,
  store: MemoryStore,
  run: RunContext,
  onWrite: (write: CommittedWrite) => void,
): Promise<Outcome> {
  if (run.mode === "dry-run") return { kind: "proposed" };
  // What the model says cannot be checked, so the user decides.
  if (run.mode === "propose" || proposal.by === "model") return stage(proposal, key, run);
  const meta = { origin: "curator", reason: `curator: ${proposal.kind}`, group: run.group } as const;
  const done = await store.curate(proposal.target, proposal.curation, meta);
  if (!done.ok) return { kind: "refused", reason: done.error.message };
  for (const write of committedWrites(done.value)) onWrite(write);
  const { changeId } = done.value;
  return changeId === undefined
    ? { kind: "refused", reason: "Nothing was left to do." }
    : { kind: "applied", ids: [changeId] };
}

function stage(proposal: MemoryProposal, key: string, run: RunContext): Outcome {
  const directory = run.memory.administrator.pendingDirectory;
  const waiting = readPendingWrites(directory).records.find(
    ({ payload }) =>
      payload.curation !== undefined &&
      keyOf({ ...proposal, target: payload.target as MemoryTarget, curation: payload.curation }) === key,
  );
  if (waiting) return { kind: "waiting", reason: `is staged already, as ${waiting.id}` };
  if (run.isScheduled && run.known.includes(key))
    return { kind: "waiting", reason: "was proposed before and not approved" };
  const { target, curation } = proposal;
  const draft = { target, curation, summary: summaryOf(proposal), group: run.group };
  const staged = stageCuration(directory, draft, run.memory.clock.now());
  return staged.ok
    ? { kind: "staged", id: staged.value.id }
    : { kind: "refused", reason: staged.error.message };
}

function summaryOf({ kind, target, curation }: MemoryProposal): string {
  const place = target === "user" ? "user profile" : "memory";
  const { remove, text, keep } = curation;
  const what = preview(text ?? remove[0] ?? keep?.[0] ?? "", SUMMARY_CHARS);
  const words = {
    identical: `drop identical copies in ${place}`,
    duplicate: `drop a duplicate in ${place}`,
    stale: `archive a stale entry of ${place}`,
    outdated: `archive an outdated entry of ${place}`,
    merge: `merge ${remove.length} entries of ${place}`,
  };
  return `curator: ${words[kind]}: ${what}`;
}

// Reading a target. Nothing is written: a dry run leaves no trace, not even in the journal.

type ViewOptions = {
  readonly directory: string;
  readonly config: Pick<
    MemoryConfig,
    "memoryCharLimit" | "userCharLimit" | "historyMaxBytes" | "historyKeep"
  >;
  readonly now: Date;
  /** Entries that the user wrote within this time are left alone; 0: none are. */
  readonly spareMs: number;
};

/** Origins of entries that a user wrote or approved. */
const PEOPLE: ReadonlySet<string> = new Set(["cli", "external", "approval"]);

/** The error says why the target cannot be read. */
function viewTarget(target: MemoryTarget, options: ViewOptions): Result<TargetView, string> {
  const { directory, config, now, spareMs } = options;
  const paths = targetPaths(directory, target);
  const file = readMemoryFile(paths.file);
  if (file.kind === "unreadable") return err(`${paths.file} cannot be read (${file.reason}).`);
  try {
    const listed = parseEntries(file.text);
    const entries = withoutDuplicates(listed);
    const limit = target === "user" ? config.userCharLimit : config.memoryCharLimit;
    const pins = readPins(pinsPath(directory))[target];
    const journal = new Journal(paths.journal, {
      maxBytes: config.historyMaxBytes,
      keepChanges: config.historyKeep,
    });
    const { known } = journal.replay(file.hash);
    return ok({
      target,
      entries,
      copies: entries.filter((entry) => listed.indexOf(entry) !== listed.lastIndexOf(entry)),
      used: measure(entries, limit).used,
      limit,
      isPinned: (entry) => pins.size > 0 && pins.has(sha256(entry)),
      isSpared: (entry) => {
        const { since, origin = "" } = known.get(entry) ?? {};
        if (since === undefined || !PEOPLE.has(origin)) return false;
        return now.getTime() - new Date(since).getTime() < spareMs;
      },
    });
  } catch (cause) {
    return err(`The journal or the pins of ${paths.file} cannot be read: ${describeCause(cause)}.`);
  }
}
