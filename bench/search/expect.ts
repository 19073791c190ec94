// Child process: reads every message once and prints the complete result of each query on stdin. It is a separate process because it
// leaves a large heap behind. Argument: path of the database.
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { textsOf } from "../../packages/core/src/sessions/search/document.ts";
import { parseQuery } from "../../packages/core/src/sessions/search/query.ts";
import type { Expression } from "../../packages/core/src/sessions/search/reads.ts";
import { containsUnspaced, tokenize } from "../../packages/core/src/sessions/search/words.ts";

/** Ids in order of time, and the number of matching sessions, up to `MOST_SESSIONS`. */
export type Expected = {
  readonly query: string;
  readonly newest: readonly number[];
  readonly oldest: readonly number[];
  readonly sessions: number;
};

const PAGE = 20;
const MOST_SESSIONS = 10;

type Found = { readonly id: number; readonly timestamp: number };
type State = { readonly newest: Found[]; readonly oldest: Found[]; readonly sessions: Set<string> };

function main(path: string, queries: readonly string[]): Expected[] {
  using db = new DatabaseSync(path, { readOnly: true });
  const wanted = queries.map((query) => {
    const parsed = parseQuery(query);
    if (parsed.kind !== "explicit") throw new Error(`'${query}' is no explicit query.`);
    return { query, expression: parsed.expression };
  });
  const states = wanted.map((): State => ({ newest: [], oldest: [], sessions: new Set() }));
  const rows = db.prepare(
    "SELECT id, session_id, role, content, tool_name, tool_calls, timestamp FROM messages WHERE active = 1",
  );
  for (const row of rows.iterate()) {
    const { said, did } = textsOf(row as never);
    const text = `${said} ${did}`;
    const joined = ` ${tokenize(text)
      .map(({ term }) => term)
      .join(" ")} `;
    wanted.forEach(({ expression }, at) => {
      if (!holds(expression, joined)) return;
      const state = states[at];
      if (state === undefined) return;
      const found = { id: Number(row.id), timestamp: Number(row.timestamp) };
      keep(state.newest, found, (a, b) => b.timestamp - a.timestamp || b.id - a.id);
      keep(state.oldest, found, (a, b) => a.timestamp - b.timestamp || a.id - b.id);
      if (state.sessions.size < MOST_SESSIONS) state.sessions.add(String(row.session_id));
    });
  }
  return wanted.map(({ query }, at) => ({
    query,
    newest: states[at]?.newest.map(({ id }) => id) ?? [],
    oldest: states[at]?.oldest.map(({ id }) => id) ?? [],
    sessions: states[at]?.sessions.size ?? 0,
  }));
}

/** `joined`: the words of a text, separated by blanks; a run of a script without blanks is one word. */
function holds(expression: Expression, joined: string): boolean {
  switch (expression.op) {
    case "phrase": {
      const text = expression.words.join(" ");
      if (containsUnspaced(text)) return joined.includes(text);
      return joined.includes(` ${text}${expression.isPrefix ? "" : " "}`);
    }
    case "and":
      return expression.parts.every((part) => holds(part, joined));
    case "or":
      return expression.parts.some((part) => holds(part, joined));
    case "not":
      return holds(expression.left, joined) && !holds(expression.right, joined);
    default:
      return expression satisfies never;
  }
}

function keep(list: Found[], found: Found, order: (a: Found, b: Found) => number): void {
  const last = list.at(-1);
  if (list.length === PAGE && last !== undefined && order(last, found) <= 0) return;
  list.push(found);
  list.sort(order);
  if (list.length > PAGE) list.pop();
}

console.log(JSON.stringify(main(process.argv[2] ?? "", JSON.parse(readFileSync(0, "utf8")))));
