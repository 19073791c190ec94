// lcm_expand: the messages or summaries a summary was made from, or one message, word for word and page by page.
import { codePointLength, err, isAbsent, ok, type Result, takeCodePoints } from "../../../lib/index.ts";
import type { MessageRow, SummaryNode } from "../../../sessions/index.ts";
import { estimateText, fitTokens } from "../../tokens.ts";
import { childIds, childrenOf, type Lineage, messageCount, messageKeys } from "../lineage.ts";
import {
  type Args,
  type ConversationView,
  countOf,
  expandNodeHint,
  findNode,
  numberOf,
  relatedForest,
  shown,
  textOf,
  unknownMessage,
  unknownNode,
} from "./conversation-view.ts";

const DEFAULT_TOKENS = 4_000;
const MOST_TOKENS = 32_000;
const MOST_OF_WINDOW = 0.25;

export async function expand(view: ConversationView, args: Args): Promise<Result<object, string>> {
  const hasNode = !isAbsent(args.node_id);
  if (hasNode === !isAbsent(args.store_id)) return err("Pass exactly one of node_id and store_id.");
  const page = pageRequest(args, view);
  if (!page.ok) return page;
  if (!hasNode) return expandMessage(view, args.store_id, page.value);
  const nodeId = textOf(args.node_id);
  if (nodeId === undefined) return err(`node_id must be a text, but is ${shown(args.node_id)}.`);
  return expandNode(view, nodeId, page.value);
}

const STANDARD = {
  max_tokens: DEFAULT_TOKENS,
  source_offset: 0,
  content_offset: 0,
  source_limit: Number.MAX_SAFE_INTEGER,
};

function pageRequest(args: Args, { status, tokenFactor }: ConversationView): Result<PageRequest, string> {
  const counts = { ...STANDARD };
  for (const name of Object.keys(STANDARD) as (keyof typeof STANDARD)[]) {
    const count = countOf(args, name, STANDARD[name]);
    if (!count.ok) return count;
    counts[name] = count.value;
  }
  // The model asks in its own tokens. More than a share of its window would be cut again.
  const window = status.context_length > 0 ? status.context_length : Number.POSITIVE_INFINITY;
  const most = Math.min(MOST_TOKENS, window * MOST_OF_WINDOW);
  return ok({
    maxTokens: Math.max(1, Math.trunc(Math.min(counts.max_tokens, most) / tokenFactor)),
    sourceOffset: counts.source_offset,
    sourceLimit: Math.max(1, counts.source_limit),
    contentOffset: counts.content_offset,
  });
}

async function expandNode(
  view: ConversationView,
  nodeId: string,
  request: PageRequest,
): Promise<Result<object, string>> {
  const found = await findNode(view, nodeId);
  if (found === undefined) return err(unknownNode(nodeId));
  const { node, lineage } = found;
  const { sources, missing } =
    node.depth === 0 ? await messagesOf(view, node, lineage) : nodesBelow(node, lineage);
  return ok({
    node_id: node.node_id,
    depth: node.depth,
    first_message_id: node.first_message_id,
    last_message_id: node.last_message_id,
    source_type: node.depth === 0 ? "message" : "summary",
    total_sources: sources.length,
    source_offset: request.sourceOffset,
    ...pageOf(sources, request),
    // Deleted, or undone by the user.
    missing_sources: missing > 0 ? missing : undefined,
  });
}

async function expandMessage(
  view: ConversationView,
  given: unknown,
  { contentOffset, maxTokens }: PageRequest,
): Promise<Result<object, string>> {
  const storeId = numberOf(given);
  if (storeId === undefined) return err(`store_id must be a whole number, but is ${shown(given)}.`);
  const { store, related, lineage } = view;
  const key = lineage.keyOf(storeId) ?? storeId;
  const rows = await store.getMessagesById([storeId, lineage.rowOf(key) ?? storeId]);
  const row = rows.find(({ session_id }) => related.has(session_id));
  if (row === undefined) return err(unknownMessage(storeId));
  const source = toSource(row);
  const covering = (await relatedForest(view)).leafOf.get(row.origin_id ?? row.id);
  const about = { covered_by: covering?.node_id ?? null };
  if (contentOffset === 0 && costOf(source) <= maxTokens) return ok({ ...source.record, ...about });
  const { record, next } = slice(source, contentOffset, maxTokens);
  return ok({ ...record, ...about, next_content_offset: next });
}

type Sources = { readonly sources: readonly Source[]; readonly missing: number };

async function messagesOf(
  { store }: ConversationView,
  node: SummaryNode,
  { rowOf }: Lineage,
): Promise<Sources> {
  const keys = messageKeys(node);
  const rows = await store.getMessagesById(keys.flatMap((key) => rowOf(key) ?? []));
  return { sources: rows.map(toSource), missing: keys.length - rows.length };
}

function nodesBelow(node: SummaryNode, { forest }: Lineage): Sources {
  const children = childrenOf(forest, node);
  const sources = children.map((child): Source => {
    const { node_id, depth, first_message_id, last_message_id, tokens, source_tokens, summary } = child;
    const record = {
      node_id,
      depth,
      first_message_id,
      last_message_id,
      messages: messageCount(forest, child),
      tokens,
      source_tokens,
      summary,
      expand_hint: expandNodeHint(node_id),
    };
    return { record, long: ["summary"], text: summary, format: "text" };
  });
  return { sources, missing: childIds(node).length - children.length };
}

/** Only the fields with content, as they are stored. */
function toSource(row: MessageRow): Source {
  const { content, tool_calls } = row;
  const record = {
    store_id: row.id,
    session_id: row.session_id,
    role: row.role,
    timestamp: row.timestamp,
    content,
    ...(tool_calls === null ? {} : { tool_calls }),
    ...(row.tool_call_id === null ? {} : { tool_call_id: row.tool_call_id }),
    ...(row.tool_name === null ? {} : { tool_name: row.tool_name }),
  };
  const long = ["content", "tool_calls"];
  if (typeof content === "string" && tool_calls === null)
    return { record, long, text: content, format: "text" };
  const text = JSON.stringify(tool_calls === null ? { content } : { content, tool_calls });
  return { record, long, text, format: "json" };
}

// Pages: a list of records is returned piece by piece. A record too long for one answer is returned as slices of its text;
// joined, the slices are the whole text.

export type Source = {
  readonly record: Readonly<Record<string, unknown>>;
  /** The fields that `text` replaces when the record is cut. */
  readonly long: readonly string[];
  readonly text: string;
  /** `json`: joined, the slices are a JSON object with the long fields. */
  readonly format: "text" | "json";
};

export type PageRequest = {
  /** Estimated. */
  readonly maxTokens: number;
  readonly sourceOffset: number;
  readonly sourceLimit: number;
  readonly contentOffset: number;
};

type Page = {
  readonly sources: readonly Readonly<Record<string, unknown>>[];
  readonly next_source_offset?: number;
  readonly next_content_offset?: number;
};

export function pageOf(all: readonly Source[], request: PageRequest): Page {
  const { maxTokens, sourceOffset: start, sourceLimit, contentOffset } = request;
  const end = Math.min(all.length, start + sourceLimit);
  const [first] = all.slice(start, start + 1);
  if (first === undefined || start >= end) return { sources: [] };
  if (contentOffset > 0 || costOf(first) > maxTokens) {
    const { record, next } = slice(first, contentOffset, maxTokens);
    if (next !== undefined)
      return { sources: [record], next_source_offset: start, next_content_offset: next };
    return { sources: [record], ...following(start + 1, all.length) };
  }
  let tokens = 0;
  let at = start;
  const sources: Readonly<Record<string, unknown>>[] = [];
  for (const source of all.slice(start, end)) {
    tokens += costOf(source);
    if (tokens > maxTokens) break;
    sources.push(source.record);
    at += 1;
  }
  return { sources, ...following(at, all.length) };
}

/** One slice of a record. `next` is the offset of the following slice, if there is one. */
function slice(
  { record, long, text, format }: Source,
  offset: number,
  maxTokens: number,
): { readonly record: Readonly<Record<string, unknown>>; readonly next?: number } {
  const rest = text.slice(takeCodePoints(text, offset).length);
  // At least one character, so that a caller who follows the offsets reaches the end.
  const piece = fitTokens(rest, maxTokens) || takeCodePoints(rest, 1);
  const short = Object.fromEntries(Object.entries(record).filter(([name]) => !long.includes(name)));
  const shownRecord = {
    ...short,
    [long[0] ?? "content"]: piece,
    content_format: format,
    content_offset: offset,
    content_chars: codePointLength(text),
  };
  if (piece.length >= rest.length) return { record: shownRecord };
  return { record: shownRecord, next: offset + codePointLength(piece) };
}

function costOf({ record }: Source): number {
  return estimateText(JSON.stringify(record));
}

function following(at: number, count: number): { readonly next_source_offset?: number } {
  return at < count ? { next_source_offset: at } : {};
}
