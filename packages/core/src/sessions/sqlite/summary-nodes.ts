// Summaries of messages that left a model's context, and searching them.
import { sessionError } from "../errors.ts";
import type { SummaryHit, SummaryNode } from "../rows.ts";
import { parseQuery } from "../search/query.ts";
import type { Expression, Phrase } from "../search/reads.ts";
import { makeSnippet, makeSubstringSnippet } from "../search/snippet.ts";
import { indexTerms, isStopWord, isUnspacedTerm, phraseTerms, stem } from "../search/words.ts";
import type { SummaryNodes } from "../store.ts";
import { ALL_USERS, type Connection, count, isVisible } from "./connection.ts";
import { isOthers, type StoreContext, sees } from "./context.ts";
import { continuedBy } from "./lineage-sql.ts";
import { hasOwnTable, readableFields, SUMMARY_NODES } from "./schema.ts";

/** More than any conversation has; a search reads them one by one. */
const MOST_SEARCHED = 5000;

const { name: NODES_TABLE, columns: NODE_COLUMNS } = SUMMARY_NODES;
const NODE_FIELDS = readableFields(NODE_COLUMNS, "n.");
const NODES = `SELECT ${NODE_FIELDS} FROM ${NODES_TABLE} n JOIN sessions s ON s.id = n.session_id WHERE ${isVisible("s")}`;
const OF_SESSIONS = `${NODES} AND n.session_id IN (SELECT value FROM json_each(:sessions))
  ORDER BY n.created_at, n.depth, n.first_message_id, n.node_id`;
const BY_NODE_ID = `${NODES} AND n.node_id = :node`;
const NEWEST = `${NODES} AND (:sessions IS NULL OR n.session_id IN (SELECT value FROM json_each(:sessions)))
  ORDER BY n.created_at DESC, n.depth DESC, n.first_message_id DESC, n.node_id LIMIT ${MOST_SEARCHED}`;
const NAMES = NODE_COLUMNS.map(({ name }) => name);
const INSERT = `INSERT INTO ${NODES_TABLE} (${NAMES.join(", ")}) VALUES (${NAMES.map((name) => `:${name}`).join(", ")})`;
const IS_TAKEN = `
  SELECT 1 FROM ${NODES_TABLE} WHERE node_id = :node_id
    OR (lineage_root = :lineage_root AND depth = :depth AND first_message_id = :first_message_id)
`;
const IMPROVE = `
  UPDATE ${NODES_TABLE} SET summary = :summary, tokens = :tokens, method = :method
  WHERE node_id = :node AND method <> 'model'
`;

export function summaryNodeOperations(context: StoreContext): SummaryNodes {
  const { connection, warn } = context;
  const { visible } = context.person;
  const nodesOf = (sql: string, values: Record<string, string | null>): SummaryNode[] =>
    hasOwnTable(connection, SUMMARY_NODES)
      ? connection.all<StoredNode>(sql, values).flatMap((row) => toNode(row, warn) ?? [])
      : [];
  return {
    async insertSummaryNodes(nodes) {
      connection.refuseIfReadOnly();
      if (nodes.length === 0) return true;
      return connection.write(() => {
        requireOurTable(connection);
        requireSessions(context, nodes);
        const known = knownTo(connection, nodes, (sessions) =>
          nodesOf(OF_SESSIONS, { sessions: JSON.stringify(sessions), ...ALL_USERS }),
        );
        if (!nodes.every((node) => fitsIn(known, node) && !isTaken(connection, node))) return false;
        for (const node of nodes) connection.run(INSERT, toColumns(node));
        return true;
      });
    },
    async improveSummaryNode(node, { summary, tokens, method }) {
      return connection.write(() => {
        requireOurTable(connection);
        if (nodesOf(BY_NODE_ID, { node, ...visible }).length === 0) return false;
        return connection.run(IMPROVE, { node, summary, tokens, method }).changes > 0;
      });
    },
    listSummaryNodes: (sessionIds) =>
      connection.read(() => nodesOf(OF_SESSIONS, { sessions: JSON.stringify(sessionIds), ...visible })),
    getSummaryNode: (node) => connection.read(() => nodesOf(BY_NODE_ID, { node, ...visible })[0] ?? null),
    searchSummaryNodes: (query, options = {}) =>
      connection.read(() => {
        const sessions = options.sessionIds === undefined ? null : JSON.stringify(options.sessionIds);
        const nodes = nodesOf(NEWEST, { sessions, ...visible });
        const match = textMatcher(String(query ?? ""));
        const hits = nodes.flatMap((node): SummaryHit[] => {
          const found = match?.(node.summary);
          return found === undefined ? [] : [{ ...node, ...found }];
        });
        return hits.sort((a, b) => b.score - a.score).slice(0, count(options.limit, 20));
      }),
  };
}

/** Messages and nodes that the affected sessions already cover. */
type Known = {
  readonly covered: Set<number | string>;
  readonly ids: Set<number | string>;
  readonly withParent: Set<number | string>;
};

function knownTo(
  connection: Connection,
  nodes: readonly SummaryNode[],
  nodesOf: (sessions: readonly string[]) => SummaryNode[],
): Known {
  const known: Known = { covered: new Set(), ids: new Set(), withParent: new Set() };
  const sessions = new Set(nodes.map((node) => node.session_id));
  for (const session of sessions)
    for (const node of nodesOf(continuedBy(connection, session))) add(known, node);
  return known;
}

/** A lineage has one node per first message, so a node stored under another user's root would block that user's node. */
function requireSessions(context: StoreContext, nodes: readonly SummaryNode[]): void {
  const roots = nodes.map((node) => node.lineage_root).filter((root) => isOthers(context, root));
  for (const session of [...nodes.map((node) => node.session_id), ...roots])
    if (!sees(context, session))
      throw sessionError("unknown-session", `There is no session '${session}' to store summaries for.`, {
        hint: "Create it first with createSession.",
      });
}

/** Adds the node if it fits, so that the next one is compared with it as well. */
function fitsIn(known: Known, node: SummaryNode): boolean {
  const fits = node.source_ids.every((id) =>
    node.depth === 0 ? !known.covered.has(id) : known.ids.has(id) && !known.withParent.has(id),
  );
  if (fits) add(known, node);
  return fits;
}

function add({ covered, ids, withParent }: Known, { node_id, depth, source_ids }: SummaryNode): void {
  ids.add(node_id);
  for (const id of source_ids) (depth === 0 ? covered : withParent).add(id);
}

/** If another program split a chain, two nodes can claim the same place under one root. */
function isTaken(connection: Connection, node: SummaryNode): boolean {
  const { node_id, lineage_root, depth, first_message_id } = node;
  return connection.get(IS_TAKEN, { node_id, lineage_root, depth, first_message_id }) !== undefined;
}

type StoredNode = Omit<SummaryNode, "source_ids"> & { readonly source_ids: string };

function toColumns(node: SummaryNode): Record<string, string | number> {
  return { ...node, source_ids: JSON.stringify(node.source_ids) };
}

/** Undefined for a row that another program wrote in an unusable form. */
function toNode(row: StoredNode, warn: (message: string) => void): SummaryNode | undefined {
  const sources = parseSources(row.source_ids, row.depth === 0 ? "number" : "string");
  const isWhole = typeof row.node_id === "string" && Number.isSafeInteger(row.depth) && sources !== undefined;
  if (isWhole) return { ...row, summary: String(row.summary), source_ids: sources };
  warn(`The summary ${String(row.node_id)} in ${NODES_TABLE} cannot be read and is left out.`);
  return undefined;
}

function parseSources(text: unknown, kind: "number" | "string"): (number | string)[] | undefined {
  try {
    const parsed: unknown = JSON.parse(String(text));
    const isList = Array.isArray(parsed) && parsed.every((id) => typeof id === kind);
    return isList ? (parsed as (number | string)[]) : undefined;
  } catch {
    return undefined;
  }
}

function requireOurTable(connection: Connection): void {
  if (hasOwnTable(connection, SUMMARY_NODES)) return;
  throw sessionError(
    "no-summary-nodes",
    `The table ${NODES_TABLE} of ${connection.path} belongs to another program.`,
    { hint: "Rename that table to keep summaries here, or use another context engine." },
  );
}

// ---- Matching a text without an index ----
// For small numbers of texts, such as summaries.

type TextMatch = {
  /** 1 when everything matches, less when only some words of a plain query do. */
  readonly score: number;
  readonly snippet: string;
};

/** The share of a plain query's terms that a text must contain. */
const LEAST_SHARE = 0.5;

/** Created once per query; undefined for an empty query. */
function textMatcher(query: string): ((text: string) => TextMatch | undefined) | undefined {
  const parsed = parseQuery(query);
  switch (parsed.kind) {
    case "blank":
      return undefined;
    case "explicit": {
      const { expression } = parsed;
      const asked = phrasesOf(expression);
      return (text) => {
        const has = finderIn(text, (word) => word);
        return holds(expression, has) ? { score: 1, snippet: drawn(text, asked, (word) => word) } : undefined;
      };
    }
    case "plain": {
      const terms = parsed.terms.map(({ words }): Phrase => ({ op: "phrase", words, isPrefix: false }));
      const telling = terms.filter(({ words }) => words.length > 1 || !isStopWord(words[0] ?? ""));
      const asked = telling.length === 0 ? terms : telling;
      return (text) => {
        const has = finderIn(text, stem);
        const score = asked.filter(has).length / asked.length;
        return score >= LEAST_SHARE ? { score, snippet: drawn(text, asked, stem) } : undefined;
      };
    }
    default:
      return parsed satisfies never;
  }
}

type Find = (phrase: Phrase) => boolean;
/** Maps words that count as the same to one word. */
type Root = (word: string) => string;

/** Finds phrases like the index does: word by word, runs without blanks by pairs of characters. */
function finderIn(text: string, root: Root): Find {
  const terms = indexTerms(text).map(root);
  const places = new Map<string, number[]>();
  for (const [at, term] of terms.entries()) {
    const known = places.get(term);
    if (known) known.push(at);
    else places.set(term, [at]);
  }
  return ({ words, isPrefix: isStarred }) => {
    const { terms: given, isPrefix } = phraseTerms(words, isStarred);
    const [first = "", ...others] = given;
    if (others.length === 0 && isPrefix) return terms.some((term) => term.startsWith(first));
    const last = others.length - 1;
    return (places.get(root(first)) ?? []).some((at) =>
      others.every((term, index) => {
        const found = terms[at + 1 + index];
        return isPrefix && index === last ? found?.startsWith(term) : found === root(term);
      }),
    );
  };
}

function holds(expression: Expression, has: Find): boolean {
  switch (expression.op) {
    case "phrase":
      return has(expression);
    case "and":
      return expression.parts.every((part) => holds(part, has));
    case "or":
      return expression.parts.some((part) => holds(part, has));
    case "not":
      return holds(expression.left, has) && !holds(expression.right, has);
    default:
      return expression satisfies never;
  }
}

/** The phrases asked for, without the excluded ones. */
function phrasesOf(expression: Expression): readonly Phrase[] {
  switch (expression.op) {
    case "phrase":
      return [expression];
    case "and":
    case "or":
      return expression.parts.flatMap(phrasesOf);
    case "not":
      return phrasesOf(expression.left);
    default:
      return expression satisfies never;
  }
}

function drawn(text: string, asked: readonly Phrase[], root: Root): string {
  const needles = asked.flatMap(({ words }) => words).filter(isUnspacedTerm);
  if (needles.length > 0) return makeSubstringSnippet(text, needles);
  const single = asked.filter(({ words }) => words.length === 1);
  const exact = new Set(single.map(({ words }) => root(words[0] ?? "")));
  const beginnings = single.filter(({ isPrefix }) => isPrefix).map(({ words }) => words[0] ?? "");
  const isMatch = (word: string): boolean =>
    exact.has(root(word)) || beginnings.some((start) => word.startsWith(start));
  const phrases = asked.filter(({ words }) => words.length > 1).map(({ words }) => words);
  return makeSnippet(text, isMatch, phrases);
}
