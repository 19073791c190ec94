// One compaction of the lossless engine: messages without a summary are summarised, the summaries are stored, and the list gets
// an overview of them. The database is read at the beginning and checked at the end. If another process stored summaries
// meanwhile, the compaction starts again from the new state. The notices of an outcome may repeat those of an earlier one.
import { type Clock, randomHex } from "../../lib/index.ts";
import type { Message } from "../../message/index.ts";
import type { SessionStore, SummaryNode } from "../../sessions/index.ts";
import { type Assembled, assemble, handoffText } from "../compressor/handoff.ts";
import { localSummaryNotice, rescuedNotice, tooLargeNotice, withoutSummary } from "../compressor/notices.ts";
import type {
  CompressOutcome,
  ConfirmDigest,
  DigestQuestion,
  LeftOut,
  Notice,
  Redact,
  StoredMessages,
  UnchangedReason,
} from "../engine.ts";
import type { ReadingWindow } from "../summary/summarise.ts";
import { estimateMessages } from "../tokens.ts";
import type { Budgets } from "../trigger.ts";
import { cutIntoLeaves, sourceTexts, toCovered, toMessage } from "./leaves.ts";
import {
  childrenOf,
  type Forest,
  groupsToMerge,
  type Lineage,
  loadLineage,
  messageCount,
  messageKeys,
  toForest,
  topNodes,
} from "./lineage.ts";
import { type LosslessPlan, leavingMessages, planLossless, tooLargeIn } from "./lossless-plan.ts";
import { type Overview, overviewOf, type Part } from "./overview.ts";
import type { LcmSettings } from "./settings.ts";
import type { NodeSource, NodeText, NodeWriter } from "./writer.ts";

/** Input of one compaction. All token counts are estimates. */
export type CompactionJob = {
  readonly store: SessionStore;
  readonly sessionId: string;
  readonly settings: LcmSettings;
  readonly budgets: Budgets;
  readonly contextLength: number;
  /** As the model's server counts. */
  readonly window: ReadingWindow;
  /** Limit for the list so that the request fits; undefined when no limit is known. */
  readonly roomTokens: number | undefined;
  readonly writer: NodeWriter;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly providerText: string | undefined;
  readonly confirmDigest: ConfirmDigest | undefined;
  readonly stored: StoredMessages;
  readonly signal: AbortSignal | undefined;
};

/** Two processes rarely compact one conversation in the same minute, three even more rarely. */
const ATTEMPTS = 4;

/** A shorter text is no overview; a very small list may grow by this much. */
const LEAST_OVERVIEW_TOKENS = 500;

export async function compactLossless(
  messages: readonly Message[],
  job: CompactionJob,
): Promise<CompressOutcome> {
  const keep = (reason: UnchangedReason, notice?: Notice): CompressOutcome =>
    withoutSummary(messages, messages, { reason, notices: notice ? [notice] : [] });
  let isAgreed = false;
  const { settings, contextLength, roomTokens } = job;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const lineage = await loadLineage(job.store, job.sessionId);
    const plan = planLossless(messages, lineage, { ...settings, contextLength, roomTokens }, job.budgets);
    const bare = plan.kind === "unchanged" ? messages : assemble(messages, plan.boundaries, "").messages;
    const tooLarge = tooLargeIn(bare, job.contextLength);
    if (tooLarge) return keep("message_too_large", tooLargeNotice(tooLarge, job.window));
    if (plan.kind === "unchanged")
      return keep(plan.reason, plan.reason === "not_stored" ? notStored(plan.unstored) : undefined);
    // Checked as early as possible, before a model is asked.
    if (!isWorthIt(messages, bare, plan)) return keep("nothing_to_gain");

    const leaves = await writeLeaves(plan.toCover, lineage, job);
    const improved = attempt === 1 ? await improveExcerpts(lineage, job) : [];
    const grown = await addNodesAbove(leaves, improved, lineage, job);
    const list = withOverview(messages, plan, grown, lineage, job);
    if (!isWorthIt(messages, list.assembled.messages, plan)) return keep("nothing_to_gain");
    const question = isAgreed ? undefined : digestQuestion(leaves);
    if (question !== undefined && job.confirmDigest !== undefined) {
      isAgreed = await job.confirmDigest(question);
      const { failure } = question;
      if (!isAgreed)
        return withoutSummary(messages, messages, {
          isAborted: true,
          reason: "summary_failed",
          failure,
          notices: [],
        });
    }
    job.signal?.throwIfAborted();
    // If another program split a chain of sessions in two, both halves have the same root. A unique root resolves the conflict.
    const [first = job.sessionId] = lineage.sessions;
    const root = attempt < ATTEMPTS ? first : `${job.sessionId}:${randomHex(4)}`;
    const nodes = grown.added.map(({ node }) => ({ ...node, lineage_root: root }));
    if (nodes.length > 0 && !(await job.store.summaries.insertSummaryNodes(nodes))) continue;
    return compacted(messages, plan, list, grown, { isAgreed, stored: job.stored });
  }
  return keep("not_stored", CONFLICT);
}

function compacted(
  messages: readonly Message[],
  { boundaries, unstored }: CompactPlan,
  { assembled, overview }: WithOverview,
  { forest, added }: Grown,
  { isAgreed, stored }: { readonly isAgreed: boolean; readonly stored: StoredMessages },
): CompressOutcome {
  const excerpts = added.filter(({ written }) => written.method === "extract");
  const failure = excerpts.find(({ written }) => written.failure)?.written.failure;
  const rescuedFrom = added.find(({ written }) => written.method === "model" && written.failure)?.written
    .failure;
  const leaves = excerpts.filter(({ node }) => node.depth === 0);
  const unread = missing(
    leaves.map(({ node }) => ({ node, messages: messageCount(forest, node) })),
    "summary_failed",
  );
  const notices = [
    // The user who agreed to excerpts knows about them.
    failure && unread[0] && !isAgreed ? localSummaryNotice(failure, unread[0], stored) : undefined,
    rescuedFrom && rescuedNotice(rescuedFrom),
    unstored > 0 ? notStored(unstored) : undefined,
  ];
  return {
    kind: "compacted",
    messages: assembled.messages,
    summarised: { from: boundaries.headEnd, to: boundaries.tailStart },
    summaryIndex: assembled.summaryIndex,
    summary: overview.text,
    method: failure === undefined ? "model" : "local",
    leftOut: [...unread, ...missing(overview.shortened, "summary_shortened")],
    prunedResults: 0,
    tokensBefore: estimateMessages(messages),
    tokensAfter: estimateMessages(assembled.messages),
    failure,
    notices: notices.filter((notice) => notice !== undefined),
  };
}

function missing(parts: readonly Part[], reason: LeftOut["reason"]): readonly LeftOut[] {
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return [];
  const count = parts.reduce((sum, { messages }) => sum + messages, 0);
  const [firstRowId, lastRowId] = [first.node.first_message_id, last.node.last_message_id];
  return [{ count, reason, firstRowId, lastRowId }];
}

const CONFLICT: Notice = {
  cause: "lcm_conflict",
  text: "The conversation was not compacted: other processes kept compacting it at the same time. It is tried again later.",
};

function notStored(count: number): Notice {
  const messages = count === 1 ? "1 message is" : `${count} messages are`;
  return {
    cause: "lcm_not_stored",
    text: `${messages} not in the session database yet and could not be read again once summarised, so they stay in the conversation.`,
  };
}

type Draft = { readonly node: SummaryNode; readonly written: NodeText };

type Grown = { readonly forest: Forest; readonly added: readonly Draft[] };

/** Adds nodes above as long as there are enough neighbours for one. If two nodes have the same id, the later one counts. */
async function addNodesAbove(
  leaves: readonly Draft[],
  improved: readonly SummaryNode[],
  { forest, positionOf }: Lineage,
  job: CompactionJob,
): Promise<Grown> {
  const added = [...leaves];
  const forestNow = (): Forest =>
    toForest([...forest.nodes.values(), ...improved, ...added.map(({ node }) => node)]);
  for (let depth = 0; depth < job.settings.maxDepth; depth += 1) {
    const groups = groupsToMerge(topNodes(forestNow(), positionOf), depth, job.settings.fanout);
    added.push(...(await writeAbove(groups, job)));
  }
  return { forest: forestNow(), added };
}

async function writeLeaves(
  toCover: readonly number[],
  { forest, rowOf }: Lineage,
  job: CompactionJob,
): Promise<readonly Draft[]> {
  const rowIds = toCover.flatMap((key) => rowOf(key) ?? []);
  const isKnown = (id: string): boolean => forest.nodes.has(id);
  const rows = await job.store.getMessagesById(rowIds);
  const leaves = cutIntoLeaves(
    rows.map((row) => toCovered(row, isKnown)),
    job.settings.leafTokens,
  );
  const planned = leaves.map((leaf, at): PlannedNode => {
    const messages = leaf.map(({ message }) => message);
    return {
      fields: {
        depth: 0,
        first_message_id: leaf[0]?.key ?? 0,
        last_message_id: leaf.at(-1)?.key ?? 0,
        source_ids: leaf.map(({ key }) => key),
        source_tokens: leaf.reduce((sum, { tokens }) => sum + tokens, 0),
      },
      kind: "messages",
      texts: sourceTexts(messages, isKnown, job.redact),
      providerText: at === leaves.length - 1 ? job.providerText : undefined,
    };
  });
  return writeNodes(planned, job);
}

function writeAbove(
  groups: readonly (readonly SummaryNode[])[],
  job: CompactionJob,
): Promise<readonly Draft[]> {
  return writeNodes(
    groups.map((group) => ({
      fields: {
        depth: (group[0]?.depth ?? 0) + 1,
        first_message_id: group[0]?.first_message_id ?? 0,
        last_message_id: group.at(-1)?.last_message_id ?? 0,
        source_ids: group.map(({ node_id }) => node_id),
        source_tokens: group.reduce((sum, { source_tokens }) => sum + source_tokens, 0),
      },
      kind: "summaries",
      texts: group.map(({ summary }) => summary),
    })),
    job,
  );
}

type PlannedNode = Omit<NodeSource, "sourceTokens"> & {
  readonly fields: Pick<
    SummaryNode,
    "depth" | "first_message_id" | "last_message_id" | "source_ids" | "source_tokens"
  >;
};

async function writeNodes(planned: readonly PlannedNode[], job: CompactionJob): Promise<readonly Draft[]> {
  const texts = await job.writer.writeAll(
    planned.map(({ fields, ...source }) => ({ ...source, sourceTokens: fields.source_tokens })),
  );
  return planned.map(({ fields }, at): Draft => {
    const written = texts[at] as NodeText;
    const node = {
      node_id: `lcm_${randomHex(6)}`,
      lineage_root: job.sessionId,
      session_id: job.sessionId,
      ...fields,
      summary: written.text,
      tokens: written.tokens,
      method: written.method,
      created_at: job.clock.now().getTime() / 1000,
    };
    return { node, written };
  });
}

/** Undefined when a model has written at least one of them: it will write the others at a later compaction. */
function digestQuestion(leaves: readonly Draft[]): DigestQuestion | undefined {
  const failure = leaves[0]?.written.failure;
  if (failure === undefined || leaves.some(({ written }) => written.method === "model")) return undefined;
  return { failure, messages: leaves.reduce((sum, { node }) => sum + node.source_ids.length, 0) };
}

type CompactPlan = Extract<LosslessPlan, { kind: "compact" }>;

type WithOverview = { readonly assembled: Assembled; readonly overview: Overview };

function withOverview(
  messages: readonly Message[],
  { boundaries }: CompactPlan,
  { forest }: Grown,
  { positionOf }: Lineage,
  { budgets, settings, stored }: CompactionJob,
): WithOverview {
  const parts = topNodes(forest, positionOf).map((node) => ({ node, messages: messageCount(forest, node) }));
  const bare = assemble(messages, boundaries, "");
  const room = estimateMessages(messages) - estimateMessages(bare.messages);
  const most = Math.max(budgets.maxSummaryTokens, 2 * settings.leafSummaryTokens);
  const overview = overviewOf(parts, Math.max(LEAST_OVERVIEW_TOKENS, Math.min(most, room)));
  const write = (body: string): string => handoffText(body, stored);
  return { assembled: assemble(messages, boundaries, overview.text, write), overview };
}

/** Removing two or more messages is always worth it: the caller asked for a shorter list. */
function isWorthIt(
  before: readonly Message[],
  after: readonly Message[],
  { boundaries }: CompactPlan,
): boolean {
  return (
    leavingMessages(before, boundaries).length >= 2 || estimateMessages(after) < estimateMessages(before)
  );
}

// Excerpts that were made while no model answered get a model's summary once one answers again.

/** Per compaction: the user is waiting for the new parts. */
const MOST_AT_ONCE = 8;

/** Returns the improved nodes. Nodes above others come last, because they are made from them. */
async function improveExcerpts(lineage: Lineage, job: CompactionJob): Promise<readonly SummaryNode[]> {
  const improved = new Map<string, SummaryNode>();
  const excerpts = [...lineage.forest.nodes.values()]
    .filter(({ method }) => method !== "model")
    .sort((a, b) => a.depth - b.depth || a.first_message_id - b.first_message_id)
    .slice(0, MOST_AT_ONCE);
  for (const level of Map.groupBy(excerpts, ({ depth }) => depth).values()) {
    if (!job.writer.isReady) break;
    const sources = await Promise.all(level.map((node) => sourceOf(node, lineage, improved, job)));
    const written = await job.writer.writeAll(sources);
    for (const [at, node] of level.entries()) {
      const { text: summary, tokens, method } = written[at] ?? { text: "", tokens: 0, method: "extract" };
      // Without sources the original messages are gone, and the excerpt is all there is.
      if (method !== "model" || sources[at]?.texts.length === 0) continue;
      if (await job.store.summaries.improveSummaryNode(node.node_id, { summary, tokens, method }))
        improved.set(node.node_id, { ...node, summary, tokens, method });
    }
  }
  return [...improved.values()];
}

async function sourceOf(
  node: SummaryNode,
  { forest, rowOf }: Lineage,
  improved: ReadonlyMap<string, SummaryNode>,
  { store, redact }: CompactionJob,
): Promise<NodeSource> {
  const { source_tokens: sourceTokens } = node;
  if (node.depth > 0) {
    const children = childrenOf(forest, node).map((child) => improved.get(child.node_id) ?? child);
    return { kind: "summaries", texts: children.map(({ summary }) => summary), sourceTokens };
  }
  const rows = await store.getMessagesById(messageKeys(node).flatMap((key) => rowOf(key) ?? []));
  const texts = sourceTexts(rows.map(toMessage), (id) => forest.nodes.has(id), redact);
  return { kind: "messages", texts, sourceTokens };
}
