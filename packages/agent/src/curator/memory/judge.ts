// Which proposals of the model count. Each is checked against the entries; those that fail are dropped and counted. What a text means
// is not checked: the user decides about every proposal. Pure.
import { codePointLength, preview, pyStrip } from "@hermes-memory/core/internal/lib";
import type { Finding, MemoryProposal, TargetView } from "../proposals.ts";
import type { Opinion } from "./ask-model.ts";

export type Dropped =
  | "unknown-entry"
  | "pinned"
  | "used-twice"
  | "not-shorter"
  | "refused-text"
  | "lost-fact"
  | "invented"
  | "too-many";

export type Judgement = {
  readonly proposals: readonly MemoryProposal[];
  readonly findings: readonly Finding[];
  readonly dropped: readonly Dropped[];
};

export type JudgeContext = Pick<TargetView, "target" | "isPinned" | "isSpared"> & {
  /** Whether the scanner accepts a new text. */
  readonly isAcceptable: (text: string) => boolean;
};

const REASON_CHARS = 160;
/** A model that calls a larger part of the entries out of date has misunderstood the question. */
const MOST_OUTDATED_SHARE = 0.25;

export function judge(shown: readonly string[], opinion: Opinion, context: JudgeContext): Judgement {
  const { target } = context;
  const dropped: Dropped[] = [];
  const used = new Set<string>();
  const merges = opinion.merge.flatMap(({ entries, text }): MemoryProposal[] => {
    const sources = pick(shown, entries);
    const problem = sources === undefined ? "unknown-entry" : mergeProblem(sources, text, context, used);
    if (sources === undefined || problem !== undefined) {
      dropped.push(problem ?? "unknown-entry");
      return [];
    }
    for (const source of sources) used.add(source);
    const curation = { remove: sources, text: pyStrip(text) };
    const reason = "are about the same thing and fit into one entry";
    return [{ layer: "memory", kind: "merge", by: "model", target, curation, reason }];
  });
  const most = Math.max(1, Math.floor(shown.length * MOST_OUTDATED_SHARE));
  const isPlausible = opinion.outdated.length <= most;
  if (!isPlausible) dropped.push("too-many");
  const outdated = (isPlausible ? opinion.outdated : []).flatMap(({ entry, reason }): MemoryProposal[] => {
    const text = shown[entry - 1];
    const problem = text === undefined ? "unknown-entry" : takeProblem(text, context, used);
    if (text === undefined || problem !== undefined) {
      dropped.push(problem ?? "unknown-entry");
      return [];
    }
    used.add(text);
    const curation = { remove: [text], isArchived: true };
    return [{ layer: "memory", kind: "outdated", by: "model", target, curation, reason: told(reason) }];
  });
  const findings = opinion.contradictions.flatMap(({ entries, reason }): Finding[] => {
    const texts = pick(shown, entries);
    if (texts) return [{ kind: "contradiction", target, entries: texts, reason: told(reason), by: "model" }];
    dropped.push("unknown-entry");
    return [];
  });
  return { proposals: [...merges, ...outdated], findings, dropped };
}

/** Undefined unless all numbers are those of different entries. */
function pick(shown: readonly string[], numbers: readonly number[]): string[] | undefined {
  const texts = [...new Set(numbers)].flatMap((number) => shown[number - 1] ?? []);
  return texts.length === numbers.length && texts.length > 1 ? texts : undefined;
}

function takeProblem(text: string, context: JudgeContext, used: ReadonlySet<string>): Dropped | undefined {
  if (context.isPinned(text) || context.isSpared(text)) return "pinned";
  return used.has(text) ? "used-twice" : undefined;
}

function mergeProblem(
  sources: readonly string[],
  merged: string,
  context: JudgeContext,
  used: ReadonlySet<string>,
): Dropped | undefined {
  for (const source of sources) {
    const problem = takeProblem(source, context, used);
    if (problem !== undefined) return problem;
  }
  const text = pyStrip(merged);
  const before = sources.reduce((sum, source) => sum + codePointLength(source), 0);
  if (text === "" || codePointLength(text) >= before) return "not-shorter";
  if (!context.isAcceptable(text)) return "refused-text";
  const known = hardFacts(sources.join("\n"));
  const kept = hardFacts(text);
  if (known.some((word) => !kept.includes(word))) return "lost-fact";
  return kept.every((word) => known.includes(word)) ? undefined : "invented";
}

/** Numbers, paths, addresses and identifiers: what a glance at a merge overlooks, in any language. */
function hardFacts(text: string): string[] {
  return text
    .normalize("NFC")
    .split(/\s+/u)
    .map((word) => word.replace(/^[("'`*[“‘«]+|[.,;:!?)"'`*\]”’»]+$/gu, ""))
    .filter((word) => /[\p{N}/\\@_=]|\p{Ll}\p{Lu}|\p{L}\.\p{L}/u.test(word));
}

/** The model's reason, shortened to one line. */
function told(reason: string): string {
  const line = pyStrip(reason.replace(/\s+/gu, " "));
  return line === "" ? "the model gave no reason" : `the model says: ${preview(line, REASON_CHARS)}`;
}
