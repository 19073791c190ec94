// The guard around a plugin's context engine, without an agent.
import type { ContextEngine } from "@hermes-memory/core/internal/context";
import { expect, it } from "vitest";
import { recordingLogger } from "../../../../core/test/fakes/providers.ts";
import { guardedEngine } from "../../../src/agent/create/open-engine.ts";
import { messages } from "../../messages.ts";

const list = messages({ role: "user", content: "hello" }, { role: "assistant", content: "hi" });

function guarded(members: object) {
  const log = recordingLogger();
  return { engine: guardedEngine({ name: "keeper", ...members } as ContextEngine, log), log };
}

it("numbers that a plugin does not have, or has as something else, count as 0", () => {
  const { engine } = guarded({ lastPromptTokens: "many", thresholdTokens: Number.NaN, contextLength: 100 });
  expect([engine.lastPromptTokens, engine.thresholdTokens, engine.compressionCount]).toEqual([0, 0, 0]);
  expect(engine.getStatus()).toMatchObject({ context_length: 100, usage_percent: 0 });
});

it("a member that throws at every step is logged once", () => {
  const shouldCompress = (): never => {
    throw new Error("no such moon");
  };
  const { engine, log } = guarded({ shouldCompress });
  expect([engine.shouldCompress(1), engine.shouldCompress(2)]).toEqual([false, false]);
  expect(log.lines.filter(({ message }) => message.includes("no such moon"))).toHaveLength(1);
});

it.each([
  ["nothing", undefined],
  ["an unknown kind", { kind: "gone", messages: list }],
  ["an empty list", { kind: "compacted", messages: [] }],
  ["a list of something else", { kind: "compacted", messages: ["hello"] }],
])("an answer with %s leaves the list unchanged, and the notice names a way out", async (_what, answer) => {
  const { engine } = guarded({ compress: async () => answer });
  const outcome = await engine.compress(list);
  expect(outcome).toMatchObject({ kind: "aborted", messages: list });
  expect(outcome.notices[0]?.text).toContain("Set context.engine to compressor");
});

it("notices that are no notices are dropped from an answer", async () => {
  const told = { cause: "c", text: "t" };
  const { engine } = guarded({
    compress: async () => ({ kind: "compacted", messages: list, notices: [told, "text", { cause: 1 }] }),
  });
  expect(await engine.compress(list)).toMatchObject({ kind: "compacted", notices: [told], leftOut: [] });
});
