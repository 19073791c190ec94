// The failure modes every release is tested against: agent, sessions, stream and context. Memory and its providers are in
// failure-modes.test.ts. Left out: rows 30 to 33 (migration), which come with what they are about.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it } from "vitest";
import { reviewHome } from "../../agent/test/agent/review-home.ts";
import {
  call,
  providerHome,
  seenTexts,
  storedLines,
  toolAnswers,
  turnHome,
} from "../../agent/test/agent/turns.ts";
import { badKey, type RecordedRequest, type Script, type Step } from "../../agent/test/fakes/wires/script.ts";
import { enterWal, SqliteFile } from "../../core/src/lib/sqlite.ts";
import { recordingProvider } from "../../core/test/fakes/providers.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { openSessionStore, sessionSearchTool } from "../src/index.ts";

const YES: Step = { text: "Yes." };

describe("agent, sessions, stream, context", () => {
  it("row 23: interrupted turn: no sync, no queued prefetch", async () => {
    const notes = recordingProvider();
    const { agent } = await providerHome(notes.provider, [{ text: "The crane", stallAfterChars: 4 }]);
    const onEvent = ({ type }: { readonly type: string }) =>
      void (type === "text-delta" && agent.interrupt());
    expect(await agent.run("colour?", { onEvent })).toMatchObject({
      interrupted: true,
      final_response: "The",
    });
    await agent.close();
    expect([notes.argsOf("syncTurn"), notes.argsOf("queuePrefetch")]).toEqual([[], []]);
  });

  it("row 24: database unavailable: `session_search` gives a formatted error with the cause", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "state.db")); // a directory where the file should be
    const { agent } = await turnHome([call("session_search", { query: "tea" }), YES], { home });
    const result = await agent.run("what did we say?");
    expect(result).toMatchObject({ final_response: "Yes.", completed: true });
    const error = expect.stringMatching(/^Session database not available: .+\.$/);
    expect(toolAnswers(result)).toMatchObject([{ success: false, error }]);
    expect(agent.warnings).toEqual([expect.stringContaining("cannot be used")]);
  });

  it("row 25: file system without WAL: DELETE journal mode", () => {
    using file = new SqliteFile(join(tempDirectory(), "state.db"), {});
    const exec = (sql: string) => {
      if (/journal_mode\s*=\s*wal/i.test(sql)) throw new Error("locking protocol");
      file.exec(sql);
    };
    expect(enterWal({ get: file.get.bind(file), exec })).toBe("locking protocol");
    expect(file.get("PRAGMA journal_mode")).toEqual({ journal_mode: "delete" });
  });

  it("row 26: query cannot be parsed: retried as quoted words; failure JSON only for real faults", async () => {
    const home = await turnHome([YES, call("session_search", { query: 'crane AND (( "blue' }), YES]);
    await home.agent.run("The crane is blue.");
    await home.agent.newSession();
    const [answer] = toolAnswers(await home.agent.run("which colour?"));
    expect(answer).toMatchObject({ success: true, count: 1 });
    const store = await openSessionStore({ path: join(home.home, "state.db") });
    await store.close();
    expect(await sessionSearchTool(store, { query: "crane" })).toMatchObject({ success: false });
  });

  it("row 27: short CJK query: substring fallback", async () => {
    const home = await turnHome([YES, call("session_search", { query: "港口" }), YES]);
    await home.agent.run("大港口很蓝");
    await home.agent.newSession();
    const [answer] = toolAnswers(await home.agent.run("在哪里?"));
    expect(answer).toMatchObject({ success: true, count: 1 });
  });

  it("row 28: review, setup problem: swallowed and logged; the user's turn is unaffected", async () => {
    const logged: string[] = [];
    const log = { ...silentLogger, warn: (text: string) => void logged.push(text) };
    const home = await reviewHome({ review: [badKey()], options: { log } });
    expect(await home.agent.run("colour?")).toMatchObject({ completed: true, final_response: "Answer 0." });
    expect(await home.reviewed()).toMatchObject({ failed: true, summary: null });
    expect(logged.filter((line) => line.startsWith("The background review failed"))).toHaveLength(1);
    expect(await home.agent.run("again?")).toMatchObject({ completed: true });
  });

  it("row 29: memory fence never closed: the hidden span is discarded", async () => {
    const { agent, events } = await turnHome([
      { text: "Tea.\n<memory-context>\nlikes tea, and more", chunkChars: 3 },
    ]);
    expect(await agent.run("drink?")).toMatchObject({ final_response: "Tea.", completed: true });
    expect([seenTexts(events), (await storedLines(agent)).at(-1)]).toEqual([["Tea."], "assistant: Tea."]);
  });

  const HISTORY = Array.from({ length: 40 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${n}: ${"words and words ".repeat(60)}`,
  }));
  /** Requests for summaries have no tools. */
  const summaries =
    (summary: (n: number) => Step): Script =>
    ({ body, index }: RecordedRequest) =>
      "tools" in body ? YES : summary(index);

  it("row 34: summary model unavailable or its window too small: local fallback that keeps the previous summary and names what was left out", async () => {
    const script = summaries((n) => (n < 2 ? { text: "## Goal\nPaint the crane blue." } : { status: 401 }));
    const { agent } = await turnHome(script, { options: { history: HISTORY } });
    await agent.run("one");
    expect(await agent.compress()).toMatchObject({ kind: "compacted" });
    for (let n = 0; n < 12; n += 1) await agent.run(`more ${n} ${"words and words ".repeat(60)}`);
    expect(await agent.compress()).toMatchObject({
      kind: "compacted",
      notices: [expect.stringContaining("No model could summarise")],
    });
    const handoff = agent.messages
      .map(({ content }) => String(content))
      .find((text) => /left the context/.test(text));
    expect(handoff).toContain("Paint the crane blue.");
    expect(handoff).toMatch(/\d+ messages \(rows \d+ to \d+\) left the context/);
    // One that takes too little is not asked at all: the conversation's own model stands in before the fallback has to.
    const small = { model: "small-model", context_length: 4_000 };
    const home = await turnHome(
      summaries(() => ({ text: "## Goal\nBlue." })),
      {
        config: { auxiliary: { compression: small } },
        options: { history: HISTORY },
      },
    );
    expect(home.agent.warnings).toEqual([expect.stringContaining("'small-model' takes less")]);
    await home.agent.run("one");
    expect(await home.agent.compress()).toMatchObject({ kind: "compacted", notices: [] });
    expect(home.wire.requests.map(({ body }) => body.model)).not.toContain("small-model");
  });

  it("row 35: compaction already running elsewhere: the second caller backs off and loses nothing", async () => {
    const { agent } = await turnHome(
      summaries(() => ({ text: "## Goal\nBlue." })),
      { options: { history: HISTORY } },
    );
    await agent.run("one");
    const before = [agent.sessionId, agent.messages.length];
    await agent.store?.tryAcquireCompressionLock(agent.sessionId, "somebody else", { ttl: 60 });
    expect(await agent.compress()).toMatchObject({
      kind: "busy",
      notices: [expect.stringContaining("another process")],
    });
    expect([agent.sessionId, agent.messages.length]).toEqual(before);
    expect(await storedLines(agent)).toHaveLength(agent.messages.length);
    expect(await agent.run("two")).toMatchObject({ completed: true });
    await agent.store?.releaseCompressionLock(agent.sessionId, "somebody else");
    expect(await agent.compress()).toMatchObject({ kind: "compacted" });
  });
});
