// The types of a curator run: what it sees, proposes and reports.
import type { MemoryCuration, MemoryTarget } from "@hermes-memory/core/internal/curated";
import type { Home } from "@hermes-memory/core/internal/memory";
import type { ModelCalls } from "./model-calls.ts";

/** `propose` stages changes of memory and skills; `apply` makes them. */
export type CuratorMode = "dry-run" | "propose" | "apply";
/** What a run tidies. */
export type CuratorScope = "memory" | "skills" | "all";

/** The input of the memory part and the skills part of a run. */
export type RunContext = {
  readonly memory: Home;
  readonly mode: CuratorMode;
  /** The run's id, which its changes carry. */
  readonly group: string;
  /** Absent without a model. */
  readonly calls: ModelCalls | undefined;
  /** The run was not started by the user: entries that the user wrote today are left alone, and nothing is proposed twice. */
  readonly isScheduled: boolean;
  /** Hashes of earlier proposals. */
  readonly known: readonly string[];
  readonly onProgress: ((line: string) => void) | undefined;
};

/** The current state of one target. */
export type TargetView = {
  readonly target: MemoryTarget;
  readonly entries: readonly string[];
  /** Entries that occur in the file more than once, letter for letter. */
  readonly copies: readonly string[];
  readonly used: number;
  readonly limit: number;
  readonly isPinned: (entry: string) => boolean;
  /** Too new to be changed in this run. */
  readonly isSpared: (entry: string) => boolean;
};

/** A change of memory. Those by the rules lose no information; those by the model are never made without the user's approval. */
export type MemoryProposal = {
  readonly layer: "memory";
  readonly kind: "identical" | "duplicate" | "stale" | "merge" | "outdated";
  /** Who proposed it: the fixed rules, or the model within the checks. */
  readonly by: "rules" | "model";
  readonly target: MemoryTarget;
  readonly curation: MemoryCuration;
  readonly reason: string;
};

export type SkillProposal = {
  readonly layer: "skills";
  readonly kind: "archive" | "umbrella";
  readonly by: "rules" | "model";
  /** Directory names of the skills that are archived. */
  readonly skills: readonly string[];
  /** The skill that absorbs them, and its new text. */
  readonly into?: { readonly name: string; readonly isNew: boolean; readonly content: string };
  readonly reason: string;
};

type Proposal = MemoryProposal | SkillProposal;

/** Something for the user to look at; the curator does not change it. */
export type Finding = {
  readonly kind: "contradiction" | "stale" | "oversize" | "nearly-full";
  readonly target: MemoryTarget;
  readonly entries: readonly string[];
  readonly reason: string;
  readonly by: "rules" | "model";
};

export type Outcome =
  | { readonly kind: "proposed" }
  | { readonly kind: "staged"; readonly id: string }
  | { readonly kind: "waiting"; readonly reason: string }
  | { readonly kind: "applied"; readonly ids: readonly string[] }
  | { readonly kind: "refused"; readonly reason: string };

export type Decided = { readonly proposal: Proposal; readonly outcome: Outcome };

/** What the memory part or the skills part of a run found and did. */
export type RunPart = {
  readonly decided: readonly Decided[];
  readonly findings: readonly Finding[];
  readonly marks: readonly SkillMark[];
  /** Why proposals of the model were dropped. */
  readonly dropped: readonly string[];
  readonly notes: readonly string[];
  /** Hashes of the changes that this run has staged. */
  readonly proposed: readonly string[];
};

export const NOTHING: RunPart = {
  decided: [],
  findings: [],
  marks: [],
  dropped: [],
  notes: [],
  proposed: [],
};

export type SkillMark = { readonly skill: string; readonly mark: "stale" | "active" | "seed" };

/** What a run proposed, decided and changed. */
export type CuratorRun = {
  /** The group id of everything the run changed or staged; rollback takes it. */
  readonly id: string;
  readonly startedAt: string;
  readonly durationSeconds: number;
  readonly mode: CuratorMode;
  readonly scope: CuratorScope;
  readonly decided: readonly Decided[];
  readonly findings: readonly Finding[];
  readonly marks: readonly SkillMark[];
  readonly model: {
    readonly isUsed: boolean;
    readonly calls: number;
    readonly failures: number;
    /** Why proposals of the model were dropped. */
    readonly dropped: readonly string[];
  };
  readonly notes: readonly string[];
  readonly summary: string;
  /** Absent for a dry run, which writes nothing. */
  readonly reportDirectory?: string;
};
