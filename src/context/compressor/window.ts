// What goes into the summary: the turns between head and tail, and what an earlier handoff said.
import type { ContextMessage } from "../message.ts";
import type { Span } from "../outcome.ts";
import type { Boundaries } from "./boundaries.ts";
import { handoffBody, withoutHandoff } from "./handoff.ts";
import { orphanResults } from "./pairs.ts";

export type SummaryWindow = {
  /** Input indices that the new handoff stands for, the old handoff included. */
  readonly span: Span;
  /** What has to be read: without the old handoff, but with what its message says besides. */
  readonly turns: readonly ContextMessage[];
  /** Read from the list and nowhere else, so it can never be another session's. */
  readonly previousSummary?: string;
};

export function windowToSummarise(
  messages: readonly ContextMessage[],
  { headEnd, tailStart, keptUser }: Boundaries,
): SummaryWindow {
  const window = messages.slice(headEnd, tailStart);
  const first = messages[tailStart];
  // The first message of the tail may carry an old handoff in front of its own text; `assemble` takes it off.
  const bodies = [...window, ...(first ? [first] : [])].flatMap((message) => handoffBody(message) ?? []);
  const staying = messages.filter((_, index) => index < headEnd || index >= tailStart || index === keptUser);
  const turns = [
    ...orphanResults(staying), // no model accepts them, so they leave the list too
    ...window.flatMap((message) => withoutHandoff(message) ?? []),
  ];
  const span = { from: headEnd, to: tailStart };
  return bodies.length === 0 ? { span, turns } : { span, turns, previousSummary: bodies.join("\n\n") };
}
