// Races between a command and another process, which an agent in a test can hardly be brought into.
import type { Message } from "@hermes-memory/core/internal/message";
import { expect, it } from "vitest";
import { type ChangeDeps, startNewSession, undoTurns } from "../../../src/agent/session/change-session.ts";
import type { Hold } from "../../../src/agent/session/session.ts";
import { message } from "../../messages.ts";

const turn = (text: string): Message[] => [
  message({ role: "user", content: text }),
  message({ role: "assistant", content: `answer to ${text}` }),
];

/** A session whose list is another one once it is reserved. `calls`: the calls that changed it. */
function session(hold: Hold, before: readonly Message[], reserved = before) {
  const calls: string[] = [];
  const fake = {
    id: "s1",
    holder: "me",
    messages: before,
    isAllStored: false,
    hasUnsavedMessages: true,
    store: { undoTurns: async () => calls.push("undo") },
    flush: async () => hold.kind === "ours",
    tellEnd: async () => calls.push("end"),
    async whileReserved(work: (hold: Hold) => Promise<unknown>) {
      fake.messages = reserved;
      return work(hold);
    },
    whileLeaving: (work: (hold: Hold) => Promise<unknown>) => fake.whileReserved(work),
  };
  const deps = { session: fake, clock: { now: () => new Date(0) } };
  return { deps: deps as unknown as ChangeDeps, calls };
}

it("an undo takes back nothing when the newest turn is no longer the one that the user sees", async () => {
  const { deps, calls } = session({ kind: "ours" }, turn("one"), [...turn("one"), ...turn("two")]);
  const undone = await undoTurns(deps, 1);
  expect(undone).toMatchObject({ ok: false, error: { kind: "refused" } });
  expect(!undone.ok && undone.error.message).toContain("repeat the command");
  expect(calls).toEqual([]);
});

it.each<[Hold, string]>([
  [{ kind: "away" }, "refused"],
  [{ kind: "busy", message: "Session s1 is in use." }, "busy"],
])("no new session begins while the last messages cannot be stored (%o)", async (hold, kind) => {
  const { deps, calls } = session(hold, turn("one"));
  const begun = await startNewSession(deps, undefined);
  expect(begun).toMatchObject({ ok: false, error: { kind } });
  expect(!begun.ok && begun.error.message).toContain("no new session was begun");
  expect(calls).toEqual([]);
});
