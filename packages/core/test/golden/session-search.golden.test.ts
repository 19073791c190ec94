// The session_search tool on databases of the Python original: the answers the original gives.
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openSessionStore } from "../../src/sessions/index.ts";
import { sessionSearchTool } from "../../src/sessions/search-tool/tool.ts";
import { copyOf, readAnswers } from "./session-databases.ts";

type Json = Record<string, unknown>;
type Hit = Json & { session_id: string; match_message_id: number };
type Call = { args: Json & { current_session_id?: string }; result: Json; differs?: string | null };
type Answers = { session_search: Call[]; profiles: { session_search: Call[] } };

const answers = readAnswers<Answers>("expected.json");

beforeEach(() => {
  vi.stubEnv("TZ", "UTC");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe.skipIf(!answers)("session_search on a database of the original", () => {
  it.each(named(answers?.session_search ?? []))("answers %s", async (_name, call) => {
    await compare(call, copyOf("state.db"));
  });
});

describe.skipIf(!answers)("session_search across profiles of the original", () => {
  it.each(named(answers?.profiles.session_search ?? []))("answers %s", async (_name, call) => {
    const path = copyOf("state.db");
    const profiles = join(dirname(path), "profiles");
    mkdirSync(join(profiles, "blank"), { recursive: true });
    mkdirSync(join(profiles, "other"));
    copyFileSync(copyOf("other-profile.db"), join(profiles, "other", "state.db"));
    await compare(call, path);
  });
});

async function compare({ args, result: expected, differs }: Call, path: string): Promise<void> {
  const store = await openSessionStore({ path });
  onTestFinished(() => store.close());
  const { current_session_id: currentSessionId, ...given } = args;
  const context = { home: dirname(path), currentSessionId };
  // June's program shows every result in full, and so does ours when it is asked to.
  const result = asInJune((await sessionSearchTool(store, { ...given, detail: "full" }, context)) as Json);
  if (differs === "read_only_search") {
    // The original cannot search in another profile; we can.
    expect(result).toMatchObject({ success: true, mode: "discover", count: expect.any(Number) });
    expect(result.count).toBeGreaterThan(0);
    return;
  }
  if (expected.mode === "discover") compareDiscover(result, expected, given);
  else expect(withoutFreeText(result)).toEqual(withoutFreeText(expected));
}

function compareDiscover(result: Json, expected: Json, args: Json): void {
  const wanted = expected.results as Hit[];
  const found = result.results as Hit[];
  const { success, mode, query } = expected;
  expect(result).toMatchObject({ success, mode, query, count: found.length });
  if (wanted.length === 0) {
    // Where the original finds nothing ours may widen the search; what it leaves out on purpose stays out.
    if ("sessions_searched" in expected) expect(result).toMatchObject({ count: 0, sessions_searched: 0 });
    else if (found.length === 0) expect(result.message).toBe(expected.message);
    return;
  }
  expect(result.sessions_searched).toBe(found.length);
  const limit = Math.min(Math.max(typeof args.limit === "number" ? args.limit : 3, 1), 10);
  if (wanted.length >= limit && args.sort !== "newest" && args.sort !== "oldest") {
    // There are more lineages than shown, and which of them rank first is ours to decide.
    expect(found).toHaveLength(limit);
  } else {
    expect(found.map(lineageOf)).toEqual(expect.arrayContaining(wanted.map(lineageOf)));
  }
  for (const hit of found) {
    const same = wanted.find((other) => other.match_message_id === hit.match_message_id);
    // The same message found: everything around it is the same too, except for the words of the snippet.
    if (same) expect({ ...hit, snippet: "" }).toEqual({ ...same, snippet: "" });
    else
      expect(Object.keys(hit)).toEqual(
        expect.arrayContaining(Object.keys(wanted[0] ?? {}).filter((key) => key !== "parent_session_id")),
      );
  }
}

/** Without the fields that came later. Those of June are all there. */
function asInJune(answer: Json): Json {
  const { link: _link, detail: _detail, ...rest } = answer;
  if (!Array.isArray(rest.results)) return rest;
  const results = (rest.results as Json[]).map(({ link, detail, ...result }) => {
    expect(link).toMatch(/^@session:(default|other)\/./);
    expect(detail).toBe(rest.mode === "discover" ? "full" : undefined);
    return result;
  });
  return { ...rest, results };
}

function lineageOf(hit: Hit): unknown {
  return hit.parent_session_id ?? hit.session_id;
}

/** Messages to the reader may be worded differently, and so may the reason why a profile cannot be used. */
function withoutFreeText(result: Json): Json {
  const { message, ...rest } = result;
  const error =
    typeof rest.error === "string" ? { error: rest.error.replace(/^(profile '[^']*': ).*$/s, "$1") } : {};
  return { ...rest, ...error, ...(message === undefined ? {} : { message: typeof message }) };
}

function named(calls: readonly Call[]): [string, Call][] {
  return calls.map((call) => [JSON.stringify(call.args), call]);
}
