// The body of the lossless engine's handoff: one entry for each part of the conversation that is no longer in the list.
import type { Message } from "../../message/index.ts";
import type { SummaryNode } from "../../sessions/index.ts";
import { handoffBody, withoutHandoff } from "../compressor/handoff.ts";
import { cutMiddle, estimateText, fairLimit, fitTokens } from "../tokens.ts";

export type Part = { readonly node: SummaryNode; readonly messages: number };

export type Overview = {
  readonly text: string;
  /** Parts whose summary was shortened. */
  readonly shortened: readonly Part[];
};

const INTRODUCTION =
  "Earlier parts of this conversation, oldest first. Nothing of them is lost: lcm_expand with a node_id gives what a part is made of, down to the messages word for word, and lcm_grep finds words in them.";
/** A shorter summary says nothing. */
const LEAST_ENTRY_TOKENS = 30;

/** Long summaries are shortened first, so that every part keeps something. */
export function overviewOf(parts: readonly Part[], limitTokens: number): Overview {
  const headings = parts.map(heading);
  const summaries = parts.map(({ node }) => withoutHeadings(node.summary));
  const frame = estimateText([INTRODUCTION, ...headings].join("\n\n"));
  const limit = fairLimit(summaries.map(estimateText), limitTokens - frame);
  const shown = summaries.map((text) => fitTokens(text, Math.max(LEAST_ENTRY_TOKENS, limit), cutMiddle));
  const entries = shown.map((summary, at) => `${headings[at]}\n${summary}`);
  return {
    text: [INTRODUCTION, ...entries].join("\n\n"),
    shortened: parts.filter((_, at) => shown[at] !== summaries[at]),
  };
}

/** Ids of the nodes an overview lists. */
export function listedNodes(body: string): readonly string[] {
  return Array.from(body.matchAll(HEADING), ([, id = ""]) => id);
}

/** True for a handoff that lists only known parts: a new overview will say the same. */
export function isOverviewOf(message: Message, isKnown: (nodeId: string) => boolean): boolean {
  const body = handoffBody(message);
  if (body === undefined || !body.startsWith(INTRODUCTION)) return false;
  const ids = listedNodes(body);
  return ids.length > 0 && ids.every(isKnown);
}

/** True when the message contains nothing else. */
export function isPureOverview(message: Message, isKnown: (nodeId: string) => boolean): boolean {
  return isOverviewOf(message, isKnown) && withoutHandoff(message) === undefined;
}

const HEADING = /^## \[([\w-]+)\] messages \d/gm;

function heading({ node, messages }: Part): string {
  const { node_id, first_message_id: first, last_message_id: last } = node;
  const count = messages === 0 ? "deleted since" : messages === 1 ? "1 message" : `${messages} messages`;
  return `## [${node_id}] messages ${first}-${last} (${count})`;
}

/** A summary that quotes an overview must not look like more parts of this one. */
function withoutHeadings(summary: string): string {
  return summary.replace(/^#+ (?=\[)/gm, "");
}
