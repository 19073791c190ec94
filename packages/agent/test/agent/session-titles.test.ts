// Titles of sessions.
import { join } from "node:path";
import type { TextModel } from "@hermes-memory/core/internal/lib";
import { type Logger, silentLogger } from "@hermes-memory/core/internal/logger";
import { type Content, parseContent } from "@hermes-memory/core/internal/message";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { AgentEvents } from "../../src/agent/events.ts";
import { cleanTitle, SessionTitles, shouldTitle } from "../../src/agent/session-titles.ts";
import { messages } from "../messages.ts";

describe("an answer becomes a title", () => {
  it.each([
    ["Kiln schedule for porcelain", "Kiln schedule for porcelain"],
    ['"Kiln schedule"', "Kiln schedule"],
    ["Title: Kiln schedule", "Kiln schedule"],
    ['title:  "Kiln schedule" ', "Kiln schedule"],
    ['"Title: Kiln schedule"', "Kiln schedule"],
    ["**Title:** Kiln schedule", "Kiln schedule"],
    ["\n\n  'Kiln schedule'\nI chose this because", "Kiln schedule"],
    ["<think>The user wants</think>\nKiln schedule", "Kiln schedule"],
    ["„Brennplan für Porzellan“", "Brennplan für Porzellan"],
    ["The potter's wheel", "The potter's wheel"],
    ["x".repeat(80), "x".repeat(80)],
    ["x".repeat(81), `${"x".repeat(77)}...`],
    [`${"🌱".repeat(81)}`, `${"🌱".repeat(77)}...`],
  ])("%s", (answer, title) => expect(cleanTitle(answer)).toBe(title));

  it.each(["", " \n ", '""', "Title:", "<think>never ends"])("unless nothing is left: %j", (answer) =>
    expect(cleanTitle(answer)).toBeUndefined(),
  );
});

describe("a title is asked for", () => {
  const list = (count: number): { role: string }[] => Array.from({ length: count }, () => ({ role: "user" }));

  it.each([
    [0, false, false],
    [1, false, true],
    [2, false, true],
    [3, false, false],
    [1, true, false],
  ])("with %i user messages, titled %s: %s", (count, hasTitle, wanted) =>
    expect(shouldTitle(messages(...list(count), { role: "assistant" }), hasTitle)).toBe(wanted),
  );
});

async function storeWith(...ids: readonly string[]): Promise<SessionStore> {
  const store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
  onTestFinished(() => store.close());
  for (const id of ids) await store.createSession(id, { source: "cli" });
  return store;
}

type Asked = {
  readonly sessionId?: string;
  readonly user?: Content;
  readonly assistant?: string;
  readonly log?: Logger;
};

function ask(store: SessionStore, complete: TextModel["complete"], asked: Asked = {}) {
  const {
    sessionId = "s1",
    user = "How hot for porcelain?",
    assistant = "1240 degrees.",
    log = silentLogger,
  } = asked;
  const titles = new SessionTitles({
    model: { complete },
    store,
    log,
    timeoutMs: 30_000,
    events: new AgentEvents(log),
  });
  return { titles, title: titles.ask(sessionId, user, assistant) };
}

function titleSession(...args: Parameters<typeof ask>): Promise<string | undefined> {
  return ask(...args).title;
}

describe("titling a session", () => {
  it("stores the title and shows the model 500 characters of each side", async () => {
    const store = await storeWith("s1");
    const seen: { prompt: string; maxOutputTokens?: number }[] = [];
    const complete: TextModel["complete"] = async (request) => {
      seen.push(request);
      return '"Firing porcelain"';
    };
    const parts = parseContent([
      { type: "text", text: "ä".repeat(600) },
      { type: "image_url", image_url: { url: "data:" } },
    ]);
    const title = await titleSession(store, complete, { user: parts, assistant: "b".repeat(600) });
    expect(title).toBe("Firing porcelain");
    expect(await store.getSessionTitle("s1")).toBe("Firing porcelain");
    expect(seen).toHaveLength(1);
    expect(seen[0]?.prompt).toContain("b".repeat(500));
    expect(seen[0]?.prompt).not.toContain("b".repeat(501));
    expect(seen[0]?.prompt).not.toContain("ä".repeat(501));
    expect(seen[0]?.maxOutputTokens).toBe(500);
  });

  it("shows the model no secrets of either side, also not half of one that the limit cuts", async () => {
    const store = await storeWith("s1");
    const key = `sk-proj-${"a1B2".repeat(12)}`;
    const prompts: string[] = [];
    const complete: TextModel["complete"] = async ({ prompt }) => {
      prompts.push(prompt);
      return "Firing porcelain";
    };
    const user = `${"x".repeat(480)} ${key}`;
    await titleSession(store, complete, { user, assistant: `Your key ${key} works.` });
    expect(prompts).toHaveLength(1);
    expect(prompts[0]).not.toContain("a1B2");
    expect(prompts[0]).toContain("Your key sk-proj-*** works.");
  });

  it("numbers a title that is taken", async () => {
    const store = await storeWith("s0", "s1", "s2");
    await store.setSessionTitle("s0", "Firing porcelain");
    const complete = async (): Promise<string> => "Firing porcelain";
    expect(await titleSession(store, complete)).toBe("Firing porcelain #2");
    expect(await titleSession(store, complete, { sessionId: "s2" })).toBe("Firing porcelain #3");
  });

  it("leaves a title alone that was given meanwhile", async () => {
    const store = await storeWith("s1");
    const complete = async (): Promise<string> => {
      await store.setSessionTitle("s1", "Mine");
      return "Another";
    };
    expect(await titleSession(store, complete)).toBeUndefined();
    expect(await store.getSessionTitle("s1")).toBe("Mine");
  });

  it("does nothing without words, an answer or a row", async () => {
    const store = await storeWith("s1");
    const never: TextModel["complete"] = () => Promise.reject(new Error("asked"));
    expect(await titleSession(store, never, { assistant: "" })).toBeUndefined();
    expect(await titleSession(store, async () => " ")).toBeUndefined();
    expect(await titleSession(store, async () => "A title", { sessionId: "none" })).toBeUndefined();
    expect(await store.getSessionTitle("s1")).toBeNull();
  });

  it("never rejects, and logs what went wrong", async () => {
    const lines: string[] = [];
    const log = { ...silentLogger, warn: (line: string) => void lines.push(line) };
    const store = await storeWith("s1");
    const failing: TextModel["complete"] = () => Promise.reject(new Error("no model"));
    expect(await titleSession(store, failing, { log })).toBeUndefined();
    expect(lines).toEqual([expect.stringContaining("no model")]);
  });

  it("gives up silently when the agent is closed", async () => {
    const lines: string[] = [];
    const log = { ...silentLogger, warn: (line: string) => void lines.push(line) };
    const store = await storeWith("s1");
    const complete: TextModel["complete"] = ({ signal }) =>
      new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const { titles, title } = ask(store, complete, { log });
    titles.stop();
    expect(await title).toBeUndefined();
    expect(lines).toEqual([]);
  });
});
