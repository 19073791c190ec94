import { describe, expect, it } from "vitest";
import { handoffText } from "../../../src/context/compressor/handoff.ts";
import { findBoundaries } from "../../../src/context/compressor/plan.ts";
import { pruneToolResults } from "../../../src/context/compressor/prune.ts";
import { DEFAULT_SETTINGS, deriveBudgets } from "../../../src/context/trigger.ts";
import type { Message } from "../../../src/message/index.ts";
import {
  alternating,
  assistant,
  system,
  toolGroup,
  toolRounds,
  user,
} from "../../../testing/context-engine/lists.ts";
import { asMessage } from "../messages.ts";

const SETTINGS = { contextLength: 200_000, ...DEFAULT_SETTINGS };
const BUDGETS = deriveBudgets(SETTINGS);

function boundariesOf(messages: readonly Message[], protectFirstN = 3) {
  const settings = { ...SETTINGS, protectFirstN };
  const pruned = pruneToolResults(messages, { ...BUDGETS, ...settings, headEnd: 0 });
  return findBoundaries(pruned.messages, settings, BUDGETS);
}

function unprunedBoundariesOf(messages: readonly Message[]) {
  return findBoundaries(messages, SETTINGS, BUDGETS);
}

describe("head and tail", () => {
  it.each<[string, Message[], number, number, number]>([
    ["11 tiny turns", [system(), ...alternating(11, 40)], 3, 4, 7],
    ["40 tool rounds", [system(), ...alternating(3, 60), ...toolRounds(40, 8000)], 3, 4, 64],
    [
      "a giant result at the end",
      [system(), ...alternating(20, 400), user(100), ...toolGroup(200_000, 4000)],
      3,
      4,
      17,
    ],
    [
      "tool rounds with short turns between",
      [system(8000), user(), ...toolRounds(19, 5000), user(), ...toolGroup(3000), assistant(), user()],
      3,
      4,
      10,
    ],
    ["20 turns of 40,000", [system(), ...alternating(20, 40_000)], 3, 4, 13],
  ])("%s", (_, messages, protectFirstN, headEnd, tailStart) => {
    expect(boundariesOf(messages, protectFirstN)).toEqual({ headEnd, tailStart });
  });

  it("never cuts a tool group, wherever the budget would end", () => {
    for (let after = 1; after <= 30; after += 1) {
      const messages = [
        ...alternating(20, 4000),
        ...toolGroup(3000, 3000, 3000, 3000),
        ...alternating(after, 4000),
      ];
      const { tailStart } = boundariesOf(messages);
      expect(messages[tailStart]?.role).not.toBe("tool");
      expect(tailStart > 20 && tailStart <= 24, `${after} turns behind it: ${tailStart}`).toBe(false);
    }
  });
});

describe("the newest user message", () => {
  it("is kept word for word, and its turn still shrinks, when the turn is too long", () => {
    const messages = [system(), ...alternating(4, 60), user(), ...toolRounds(60, 8000)];
    const { headEnd, tailStart, keptUser } = boundariesOf(messages);
    expect(headEnd).toBe(4);
    expect(keptUser).toBe(5);
    expect(tailStart).toBeGreaterThan(100);
    expect(messages[tailStart]).toMatchObject({ role: "assistant", toolCalls: [{ name: "read_file" }] });
  });

  it("alone between head and tail leaves nothing to summarise", () => {
    const messages = [...alternating(3, 60), user(), ...toolGroup(300_000)];
    const { headEnd, tailStart, keptUser } = boundariesOf(messages);
    expect(tailStart).toBe(headEnd);
    expect(keptUser).toBeUndefined();
  });

  it("is not taken for a handoff in the role of the user, nor for an empty message", () => {
    const handoff = asMessage({ role: "user", content: handoffText("## Goal\nearlier") });
    const messages = [
      ...alternating(10, 4000),
      user(500),
      ...toolRounds(30, 8000),
      handoff,
      user(0),
      ...toolRounds(10, 8000),
    ];
    expect(unprunedBoundariesOf(messages).keptUser).toBe(10);
  });
});

describe("malformed lists", () => {
  it("ends the head before an old handoff in it", () => {
    const messages = [
      user(),
      asMessage({ role: "assistant", content: handoffText("old") }),
      ...alternating(60, 4000),
    ];
    expect(boundariesOf(messages).headEnd).toBe(1);
  });
});
