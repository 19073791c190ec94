// Every case of the decision to restore a stored prompt: the request, the stored prompt, the log and the hooks.
import { DatabaseSync } from "node:sqlite";
import { sessionDatabasePath } from "@hermes-memory/core/internal/home";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../../../core/test/fakes/providers.ts";
import type { Agent, AgentOptions } from "../../src/agent/index.ts";
import type { Wire } from "../fakes/wires/wire-in-test.ts";
import { agentHome } from "./agent-home.ts";

const REBUILT = "The system prompt is built anew: ";

type Watched = { readonly store: SessionStore; readonly reads: string[]; readonly saves: string[] };

/** The store with some members replaced; records reads and writes of prompts. */
function watched(store: SessionStore, changes: Partial<SessionStore> = {}): Watched {
  const [reads, saves]: [string[], string[]] = [[], []];
  const proxy = new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(changes, name) ?? Reflect.get(target, name);
      if (typeof own !== "function") return own;
      return (...args: readonly unknown[]): unknown => {
        if (name === "getOwnPrompt") reads.push(String(args[0]));
        if (name === "saveOwnPrompt") saves.push(String(args[1]));
        return Reflect.apply(own, target, args);
      };
    },
  });
  return { store: proxy, reads, saves };
}

type Case = {
  /** Changes the database before the session is resumed. */
  readonly onDisk?: (db: DatabaseSync, id: string) => void;
  readonly changes?: Partial<SessionStore>;
  readonly options?: Partial<AgentOptions>;
};

/** One turn by one agent, the next by another that resumes the session. */
async function resumedTurn({ onDisk, changes, options }: Case = {}) {
  const { agent, home, wire, another } = await agentHome([{ text: "One." }, { text: "Two." }]);
  await agent.run("hello");
  await agent.close();
  const db = new DatabaseSync(sessionDatabasePath(home));
  onDisk?.(db, agent.sessionId);
  db.close();
  await using store = await openSessionStore({ path: sessionDatabasePath(home) });
  const log = recordingLogger();
  const started: string[] = [];
  const seen = watched(store, changes);
  const resumed: Agent = await another({
    resume: agent.sessionId,
    store: seen.store,
    log,
    instructions: "This was not there before.",
    hooks: { sessionStart: (id) => void started.push(id) },
    ...options,
  });
  const result = await resumed.run("again");
  await resumed.close();
  const rebuilt = log.lines.filter(({ message }) => message.startsWith(REBUILT));
  return {
    ...seen,
    log,
    started,
    id: agent.sessionId,
    isAnswered: result.final_response === "Two." && result.error === null,
    isReused: isReused(wire),
    /** `info stale_runtime` */
    said: rebuilt.map(({ level, message }) => `${level} ${message.slice(REBUILT.length)}`),
    sent: wire.systemOf(1),
    own: (await store.getOwnPrompt(agent.sessionId))?.text,
  };
}

function isReused(wire: Wire): boolean {
  const same = wire.systemOf(1) === wire.systemOf(0);
  expect(wire.systemOf(1).includes("This was not there before.")).toBe(!same);
  return same;
}

describe("a session that goes on", () => {
  it("uses its stored prompt again, without a hook, a write or a word", async () => {
    const turn = await resumedTurn();
    expect(turn).toMatchObject({ isAnswered: true, isReused: true, said: [], saves: [], started: [] });
    expect(turn.reads).toEqual([turn.id]);
  });

  it("gets a new prompt, and a warning is logged, when the stored one cannot be read", async () => {
    const getOwnPrompt = async (): Promise<never> => {
      throw new Error("the disk is on fire");
    };
    const turn = await resumedTurn({ changes: { getOwnPrompt } });
    expect(turn).toMatchObject({ isAnswered: true, isReused: false, said: ["warn unreadable"] });
    expect(turn.saves).toEqual([turn.sent]);
  });
});
