// The session_search tool on a database of today's Hermes (schema 30): the answers that program gives. Which messages a search
// finds is compared in search.golden.slow.test.ts; here it is the tool's own rules and the shape of its answers.
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openSessionStore } from "../../src/sessions/index.ts";
import { sessionSearchTool } from "../../src/sessions/search-tool/tool.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { goldenDirectory } from "./vectors.ts";

type Json = Record<string, unknown>;
type Hit = Json & {
  session_id: string;
  match_message_id: number;
  detail: string;
  parent_session_id?: string;
};
type Call = { args: Json & { current_session_id?: string }; result: Json };
type Answers = { session_search: Call[]; tool_v30: Call[] };

const directory = join(goldenDirectory, "sessions-db-v30");
const answers = readAnswers();

beforeEach(() => {
  vi.stubEnv("TZ", "UTC");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const calls = [...(answers?.tool_v30 ?? []), ...(answers?.session_search ?? [])];

describe.skipIf(!answers)("session_search on a database of today's Hermes", () => {
  it.each(named(calls))("answers %s", answersAs);

  it("browses every session that the store lists, with a link to each", async () => {
    const path = join(tempDirectory(), "state.db");
    copyFileSync(join(directory, "state.db"), path);
    const store = await openSessionStore({ path });
    onTestFinished(() => store.close());
    const listed = await store.listSessionsRich({
      orderByLastActive: true,
      excludeSources: ["kanban", "subagent", "tool"],
      limit: 10,
    });
    const { results } = (await sessionSearchTool(store, { limit: 10 }, { home: dirname(path) })) as {
      results: Json[];
    };
    expect(results.map(({ session_id, link }) => [session_id, link])).toEqual(
      listed.map(({ id }) => [id, `@session:default/${id}`]),
    );
  });
});

async function answersAs(_name: string, { args, result: expected }: Call): Promise<void> {
  const path = join(tempDirectory(), "state.db");
  copyFileSync(join(directory, "state.db"), path);
  const store = await openSessionStore({ path });
  onTestFinished(() => store.close());
  const { current_session_id: currentSessionId, ...given } = args;
  const result = (await sessionSearchTool(store, given, { home: dirname(path), currentSessionId })) as Json;
  if (expected.mode === "discover") compareDiscover(result, expected, given);
  else expect(withoutFreeText(result)).toEqual(withoutFreeText(expected));
}

function compareDiscover(result: Json, expected: Json, args: Json): void {
  const wanted = expected.results as Hit[];
  const found = result.results as Hit[];
  const { success, mode, query, detail } = expected;
  expect(result).toMatchObject({ success, mode, query, detail, count: found.length });
  expect(found.map((hit) => hit.detail)).toEqual(
    found.map((_, place) => (detail === "full" || place === 0 ? "full" : "compact")),
  );
  for (const hit of found)
    if (hit.detail === "compact")
      expect(hit).toMatchObject({
        bookend_start: [],
        messages: [{ id: hit.match_message_id, anchor: true }],
        bookend_end: [],
      });
  if (wanted.length === 0) {
    if ("sessions_searched" in expected) expect(found).toEqual([]);
    return;
  }
  const [first] = wanted;
  if (first?.matched_role === "session_title")
    expect(found[0]).toMatchObject({
      session_id: first.session_id,
      matched_role: "session_title",
      match_message_id: first.match_message_id,
      snippet: first.snippet,
    });
  const limit = Math.min(Math.max(typeof args.limit === "number" ? args.limit : 3, 1), 10);
  if (wanted.length < limit)
    expect(found.map(lineageOf)).toEqual(expect.arrayContaining(wanted.map(lineageOf)));
  for (const hit of found) {
    const same = wanted.find(
      (other) => other.match_message_id === hit.match_message_id && other.detail === hit.detail,
    );
    // Bookends and windows of compacted sessions show other rows in ours: none that was taken back, none that is a handoff.
    if (same === undefined) expect(Object.keys(hit)).toEqual(expect.arrayContaining(KEYS));
    else for (const key of KEYS.filter((each) => !ROWS.has(each))) expect(hit[key], key).toEqual(same[key]);
  }
}

const ROWS: ReadonlySet<string> = new Set([
  "snippet",
  "bookend_start",
  "messages",
  "bookend_end",
  "messages_before",
  "messages_after",
]);
const KEYS = [
  "session_id",
  "when",
  "source",
  "model",
  "title",
  "matched_role",
  "match_message_id",
  "snippet",
  "bookend_start",
  "messages",
  "bookend_end",
  "messages_before",
  "messages_after",
  "detail",
  "link",
];

function lineageOf(hit: Hit): unknown {
  return hit.parent_session_id ?? hit.session_id;
}

/** Messages to the reader may be worded differently. */
function withoutFreeText({ message, ...rest }: Json): Json {
  return { ...rest, ...(message === undefined ? {} : { message: typeof message }) };
}

function named(calls: readonly Call[]): [string, Call][] {
  return calls.map((call) => [JSON.stringify(call.args), call]);
}

function readAnswers(): Answers | undefined {
  const path = join(directory, "expected.json");
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8")) as Answers;
  console.warn(`No golden answers at ${path}: skipped.`);
  return undefined;
}
