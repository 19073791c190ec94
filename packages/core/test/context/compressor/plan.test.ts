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
  it("a tool group at the beginning of the window leaves whole when the cut falls into it or right behind it", () => {
    // The tail takes 20,000 tokens; the messages behind the head have more, but less than the soft limit of 30,000.
    const rest = alternating(19, 4_000, "assistant");
    for (const results of [[8_000, 8_000, 8_000], [4_000]]) {
      const messages = [...alternating(3, 400), ...toolGroup(...results), ...rest];
      const { headEnd, tailStart } = unprunedBoundariesOf(messages);
      expect([headEnd, tailStart]).toEqual([3, 4 + results.length]);
    }
    // Fresh results are not given up for it.
    expect(unprunedBoundariesOf([...alternating(3, 400), ...toolGroup(9_000, 9_000, 9_000, 9_000)])).toEqual({
      headEnd: 3,
      tailStart: 3,
    });
  });

  it.each<[string, Message[], number, number, number]>([
    ["system and 60 turns of 4,000", [system(), ...alternating(60, 4000)], 3, 4, 32],
    ["the same without system", alternating(60, 4000), 3, 3, 31],
    ["no protected messages", [system(), ...alternating(60, 4000)], 0, 1, 32],
    ["no head at all", alternating(60, 4000), 0, 0, 31],
    ["30 tiny turns", [system(), ...alternating(30, 40)], 3, 4, 23],
    ["11 tiny turns", [system(), ...alternating(11, 40)], 3, 4, 7],
    ["8 tiny turns", [system(), ...alternating(8, 40)], 3, 4, 6],
    ["20 tool rounds", [system(), ...alternating(3, 60), ...toolRounds(20, 8000)], 3, 4, 24],
    ["40 tool rounds", [system(), ...alternating(3, 60), ...toolRounds(40, 8000)], 3, 4, 64],
    ["40 tool rounds and a reply", [...alternating(3, 60), ...toolRounds(40, 8000), assistant()], 3, 3, 63],
    [
      "a giant result at the end",
      [system(), ...alternating(20, 400), user(100), ...toolGroup(200_000, 4000)],
      3,
      4,
      17,
    ],
    [
      "parallel results before the last exchange",
      [
        system(),
        ...alternating(20, 4000),
        user(),
        ...toolGroup(60_000, 30_000, 30_000),
        assistant(),
        user(),
        assistant(),
      ],
      3,
      4,
      21,
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

  it("takes results that stand behind a protected call into the head", () => {
    const messages = [user(), assistant(), ...toolGroup(300, 300), ...alternating(60, 4000)];
    expect(boundariesOf(messages).headEnd).toBe(5);
  });

  it("counts images and bare strings of a content list", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const withImages = asMessage({ role: "user", content: ["look", image, image, image, image] });
    const messages = [
      ...alternating(20, 400),
      ...Array.from({ length: 10 }, () => [withImages, assistant()]).flat(),
    ];
    // Each of these turns costs 6,400 tokens and more, so four of them fill the soft limit of 30,000.
    expect(boundariesOf(messages).tailStart).toBeGreaterThan(30);
  });
});

describe("the newest user message", () => {
  it("keeps its turn in the tail where that is affordable", () => {
    // All of it fits the soft limit, so the budget alone would cut inside the turn.
    const messages = [...alternating(10, 1600), user(), ...toolRounds(11, 8000)];
    expect(unprunedBoundariesOf(messages)).toEqual({ headEnd: 3, tailStart: 10 });
  });

  it("is kept word for word, and its turn still shrinks, when the turn is too long", () => {
    const messages = [system(), ...alternating(4, 60), user(), ...toolRounds(60, 8000)];
    const { headEnd, tailStart, keptUser } = boundariesOf(messages);
    expect(headEnd).toBe(4);
    expect(keptUser).toBe(5);
    expect(tailStart).toBeGreaterThan(100);
    expect(messages[tailStart]).toMatchObject({ role: "assistant", toolCalls: [{ name: "read_file" }] });
  });

  it("right behind the head does not block either", () => {
    const messages = [user(), ...toolGroup(500), user(), ...toolRounds(40, 8000)];
    const { headEnd, tailStart, keptUser } = boundariesOf(messages);
    expect([headEnd, keptUser]).toEqual([3, 3]);
    expect(tailStart).toBeGreaterThan(50);
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

  it("counts where it stands behind a handoff in the same message", () => {
    const merged = asMessage({
      role: "user",
      content: `${handoffText("## Goal\nearlier")}\n\nplease go on`,
    });
    const messages = [
      ...alternating(10, 4000),
      user(500),
      ...toolRounds(5, 8000),
      merged,
      ...toolRounds(40, 8000),
    ];
    expect(unprunedBoundariesOf(messages).keptUser).toBe(21);
  });
});

describe("the newest visible reply", () => {
  it("stays in the tail with the tool rounds behind it", () => {
    const messages = [...alternating(40, 4000), user(), assistant(300), ...toolRounds(6, 9000)];
    expect(boundariesOf(messages).tailStart).toBeLessThanOrEqual(41);
    const silent = [...alternating(40, 4000), assistant(300), ...toolRounds(6, 16_000)];
    expect(boundariesOf(silent).tailStart).toBeLessThanOrEqual(40);
  });

  it("does not take the window with it", () => {
    const messages = [user(), assistant(), user(), assistant(300), ...toolRounds(60, 8000)];
    expect(boundariesOf(messages).tailStart).toBeGreaterThan(80);
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

  it("does not begin the tail with a result whose call is elsewhere, nor with an old handoff", () => {
    const stray = asMessage({ role: "tool", tool_call_id: "nobody", content: "x" });
    const handoff = asMessage({ role: "assistant", content: handoffText("old") });
    const messages = [...alternating(12, 40), stray, stray, handoff, ...alternating(6, 40)];
    expect(boundariesOf(messages).tailStart).toBe(15);
  });

  it("takes unknown roles, missing content and missing roles for what they are", () => {
    const odd = [{ role: "narrator" }, { role: "", content: null }, { role: "user" }, { role: "tool" }];
    const messages = Array.from({ length: 40 }, () => odd.map((row) => asMessage(row))).flat();
    const { headEnd, tailStart } = boundariesOf(messages);
    expect(headEnd).toBeLessThan(tailStart);
    expect(tailStart).toBeLessThan(messages.length);
    expect(boundariesOf([])).toEqual({ headEnd: 0, tailStart: 0 });
  });

  it("are read in proportion to their length: no message is looked at again for another one", () => {
    const readsOf = (rounds: number): number => {
      let reads = 0;
      const counted = [user(), ...toolRounds(rounds, 300), assistant()].map((message) =>
        Object.defineProperty({ ...message }, "role", {
          get: () => {
            reads += 1;
            return message.role;
          },
          enumerable: true,
        }),
      );
      boundariesOf(counted);
      return reads;
    };
    expect(readsOf(10_000) / readsOf(1_000)).toBeLessThan(10.5);
  });
});
