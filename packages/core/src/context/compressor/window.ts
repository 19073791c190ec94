// What goes into the summary: the turns between head and tail, and what an earlier handoff said.
import type { Message } from "../../message/index.ts";
import type { Span } from "../outcome.ts";
import type { Boundaries } from "./boundaries.ts";
import { handoffBody, withoutHandoff } from "./handoff.ts";
import { orphanResults } from "./pairs.ts";

export type SummaryWindow = {
  /** Input indices that the new handoff stands for, the old handoff included. */
  readonly span: Span;
  /** What has to be read: without the old handoff, but with what its message says besides. */
  readonly turns: readonly Message[];
  /** Messages of the span that are more than an old handoff, which only makes room for the new one. */
  readonly leaving: number;
  /** Read from the list and nowhere else, so it can never be another session's. */
  readonly previousSummary?: string;
};

export function windowToSummarise(
  messages: readonly Message[],
  { headEnd, tailStart, keptUser }: Boundaries,
): SummaryWindow {
  const staying = messages.filter((_, index) => index < headEnd || index >= tailStart || index === keptUser);
  const orphans = orphanResults(staying); // no model accepts them, so they leave the list too
  const turns = [...orphans];
  const bodies: string[] = [];
  const readHandoff = (message: Message): void => {
    const body = handoffBody(message);
    if (body !== undefined) bodies.push(body);
  };
  for (const message of messages.slice(headEnd, tailStart)) {
    const own = withoutHandoff(message);
    if (own !== message) readHandoff(message);
    if (own !== undefined) turns.push(own);
  }
  // The first message of the tail may carry an old handoff in front of its own text; `assemble` takes it off.
  for (const message of messages.slice(tailStart, tailStart + 1)) readHandoff(message);
  const window = { span: { from: headEnd, to: tailStart }, turns, leaving: turns.length - orphans.length };
  return bodies.length === 0 ? window : { ...window, previousSummary: bodies.join("\n\n") };
}
