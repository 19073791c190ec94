// When sessions expire, what the next message finds, and what the memory provider hears.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RECORDER, type Recorder, writeRecorder } from "../../../agent/test/fakes/recording-plugin.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { expiryOf, type ResetPolicy } from "../../src/agent-mode/session-life.ts";
import { type ModeHome, type ModeSetting, modeHome } from "./mode-home.ts";

const POLICY: ResetPolicy = {
  mode: "both",
  atHour: 4,
  idleMinutes: 1_440,
  notify: true,
  timeZone: "Europe/Vienna",
};
const seconds = (text: string): number => Date.parse(text) / 1000;

describe("a session", () => {
  it.each([
    ["idle", "2026-03-01T10:00:00Z", "2026-03-01T10:59:00Z", undefined],
    ["idle", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", "idle"],
    ["idle", "2026-03-01T02:00:00Z", "2026-03-01T02:59:00Z", undefined],
    ["daily", "2026-03-01T02:59:00Z", "2026-03-01T03:00:00Z", "daily"], // 04:00 in Vienna
    ["daily", "2026-03-01T03:00:00Z", "2026-03-02T02:59:00Z", undefined],
    ["daily", "2026-07-01T01:59:00Z", "2026-07-01T02:00:00Z", "daily"], // summer time
    ["both", "2026-03-01T02:59:00Z", "2026-03-01T03:00:00Z", "daily"],
    ["none", "2025-03-01T02:59:00Z", "2026-03-01T03:00:00Z", undefined],
  ] as const)("with mode %s, last used at %s, is at %s: %s", (mode, last, now, expected) => {
    const policy = { ...POLICY, mode, idleMinutes: 60 };
    expect(expiryOf(policy, seconds(last), new Date(now))).toBe(expected);
  });

  it("that has expired stays expired, and one that is used now has not", () => {
    const moment = fc.integer({ min: 1_600_000_000, max: 1_900_000_000 });
    const hour = fc.integer({ min: 0, max: 23 });
    fc.assert(
      fc.property(moment, fc.nat(400_000), fc.nat(400_000), hour, (last, wait, more, atHour) => {
        const policy = { ...POLICY, atHour };
        const at = (time: number) => expiryOf(policy, last, new Date(time * 1000));
        expect(at(last)).toBeUndefined();
        if (at(last + wait) !== undefined) expect(at(last + wait + more)).toBeDefined();
      }),
    );
  });
});

type RecordedHome = ModeHome & { readonly recorder: Recorder };

async function recordedHome(
  replies: number,
  { config, ...setting }: ModeSetting = {},
): Promise<RecordedHome> {
  const home = tempDirectory();
  const recorder = writeRecorder(home);
  const script = Array.from({ length: replies }, (_, at) => ({ text: `R${at}` }));
  const memory = { provider: RECORDER };
  // Not a copy: `mode` is another one after a restart.
  return Object.assign(await modeHome(script, { home, ...setting, config: { memory, ...config } }), {
    recorder,
  });
}

const KEYED = { chatId: "key-desk", session: { kind: "session-key", sessionKey: "desk" } } as const;
const DAY_MS = 86_400_000;

function ends({ recorder }: RecordedHome): readonly unknown[] {
  return recorder.calls.filter(({ hook }) => hook === "onSessionEnd").map(({ args }) => args[0]);
}

describe("a conversation that a session key names", () => {
  it("begins a new session with the next message after it expired, and the reply says why", async () => {
    const home = await recordedHome(3);
    const first = await home.ask({ text: "1", ...KEYED });
    expect((await home.ask({ text: "2", ...KEYED })).sessionId).toBe(first.sessionId);
    home.clock.atMs += DAY_MS + 1;
    const next = await home.ask({ text: "3", ...KEYED });
    expect(next.sessionId).not.toBe(first.sessionId);
    expect(next.reply.metadata).toMatchObject({ sessionId: next.sessionId });
    expect(next.reply.metadata.notices).toEqual([expect.stringContaining("1440 minutes")]);
    expect(home.server.wireMessages(2).map(({ content }) => content)).toEqual(["3"]);
    expect(ends(home)).toHaveLength(1);
    const store = await home.memory.owner.layers.sessions({ mode: "read" });
    expect(await store?.getSession(first.sessionId ?? "")).toMatchObject({ end_reason: "session_reset" });
    const row = await store?.getSession(next.sessionId ?? "");
    expect(row).toMatchObject({ parent_session_id: first.sessionId, source: "api" });
    expect(await store?.getCompressionTip(first.sessionId ?? "")).toBe(first.sessionId);
  });

  it.each(["/new", " /Reset "])("begins anew with %j, without a model call", async (text) => {
    const home = await recordedHome(2);
    const first = await home.ask({ text: "1", ...KEYED });
    const asked = await home.ask({ text, ...KEYED });
    expect(asked.reply.text).toMatch(/^A new session has begun/);
    expect(asked.sessionId).not.toBe(first.sessionId);
    expect((await home.ask({ text: "2", ...KEYED })).sessionId).toBe(asked.sessionId);
    expect(home.server.wireMessages(1).map(({ content }) => content)).toEqual(["2"]);
    expect(ends(home)).toHaveLength(1);
  });

  it("tells the provider its key", async () => {
    const home = await recordedHome(1);
    await home.ask({ text: "1", ...KEYED });
    const [started] = home.recorder.take("initialize");
    expect(started?.args[1]).toMatchObject({ gateway_session_key: "desk", platform: "api" });
  });
});

describe("every other conversation", () => {
  it("goes on under its id after it expired, and `/new` is a message", async () => {
    const home = await recordedHome(3);
    const first = await home.ask({ text: "1" });
    home.clock.atMs += 3 * DAY_MS;
    await home.mode.sweep();
    const next = await home.ask({ text: "/new" });
    expect(next.sessionId).toBe(first.sessionId);
    expect(next.reply.metadata.notices).toEqual([]);
    expect(home.server.wireMessages(1)).toHaveLength(3);
  });
});

describe("the watcher", () => {
  it("tells the provider once of the end, with the stored transcript, also after a restart", async () => {
    const home = await recordedHome(2);
    await home.ask({ text: "1" });
    await home.mode.sweep();
    expect(ends(home)).toHaveLength(0);
    home.clock.atMs += 2 * DAY_MS;
    await home.restart();
    await home.mode.sweep();
    await home.mode.sweep();
    await home.restart();
    await home.mode.sweep();
    expect(ends(home)).toEqual([
      [expect.objectContaining({ content: "1" }), expect.objectContaining({ content: "R0" })],
    ]);
    expect(home.mode.size).toBe(0);
    await home.ask({ text: "2" });
    home.clock.atMs += 2 * DAY_MS;
    await home.mode.sweep();
    expect(ends(home)).toHaveLength(2);
  });

  it("does not touch a conversation whose turn runs", async () => {
    const home = await recordedHome(1, { config: { session_reset: { mode: "idle", idle_minutes: 1 } } });
    const turn = home.ask({ text: "1" });
    await home.server.waitForRequest(0);
    home.clock.atMs += 120_000;
    await home.mode.sweep();
    expect(ends(home)).toHaveLength(0);
    await turn;
  });

  it("gives up after three failures", async () => {
    const home = await recordedHome(1);
    await home.ask({ text: "1" });
    home.clock.atMs += 2 * DAY_MS;
    await home.restart();
    const owner = home.memory.owner.layers;
    let tries = 0;
    Object.defineProperty(owner, "provider", {
      value: {
        ...owner.provider,
        activate: async () => {
          tries += 1;
          return { kind: "unavailable", name: RECORDER, reason: "its server is down." };
        },
      },
    });
    for (let round = 0; round < 5; round += 1) await home.mode.sweep();
    expect(tries).toBe(3);
    expect((await home.index.listLiveSessions())[0]?.finalized_at).not.toBeNull();
  });

  it("removes old traces of recall once a day", async () => {
    const home = await recordedHome(0, { config: { gateway: { recall_trace_days: 3 } } });
    const store = await home.memory.owner.layers.sessions({ mode: "write", create: true });
    await store.createSession("s", { source: "api" });
    const recalled = async (ageDays: number) => {
      const at = home.clock.atMs / 1000 - ageDays * 86_400;
      const about = { session_id: "s", query: "q", injected: "", found: "[]", duration_ms: 1 };
      await store.turns.addRecall({ ...about, at, mode: "agent" });
    };
    const kept = async () => (await store.turns.listRecalls()).length;
    await recalled(4);
    await recalled(1);
    await home.mode.sweep();
    expect(await kept()).toBe(1);
    await recalled(4);
    home.clock.atMs += DAY_MS - 1_000;
    await home.mode.sweep();
    expect(await kept()).toBe(2);
    home.clock.atMs += 2_000;
    await home.mode.sweep();
    expect(await kept()).toBe(1);
  });
});
