// What a request asks for, and whether it was answered before.
import { type Message, withMeta } from "@hermes-memory/core/internal/message";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { earlierAnswer, readAsked } from "../../src/agent-mode/follow.ts";
import { called, resulted, said } from "./mode-turns.ts";

const OWN = new Set(["memory"]);
const IDS = new Set(["request:1"]);
const asked = withMeta(said("user", "Q"), { platformMessageId: "request:1" });
const cut = withMeta(said("assistant", "Half"), { finishReason: "interrupted" });

describe("a request", () => {
  it("loses no message, whatever its list is", () => {
    const message = fc.constantFrom<Message>(
      said("user", "Q"),
      said("assistant", "A"),
      called("weather", {}, "c1"),
      resulted("c1", "rain"),
    );
    fc.assert(
      fc.property(fc.array(message), (list) => {
        const last = list.at(-1)?.role;
        if (last === undefined || last === "assistant") expect(() => readAsked(list)).toThrow();
        else {
          const { earlier, now } = readAsked(list);
          expect(earlier.length + (now.kind === "message" ? 1 : now.results.length)).toBe(list.length);
        }
      }),
    );
  });
});

describe("a repeated request", () => {
  const answer = (...list: readonly Message[]) => earlierAnswer(list, IDS, OWN);

  it.each<[string, readonly Message[], object | undefined]>([
    ["nobody sent", [said("user", "Q"), said("assistant", "A")], undefined],
    ["has no reply", [asked], { kind: "unanswered", isNewest: true }],
    [
      "has its reply",
      [asked, said("assistant", "A")],
      { kind: "answered", text: "A", calls: [], isWhole: true },
    ],
    ["broke off", [asked, cut], { kind: "unanswered", isNewest: true }],
    ["was killed in our tools", [asked, called("memory", {}, "c1")], { kind: "unanswered" }],
    [
      "ran our tools",
      [asked, called("memory", {}, "c1", "One."), resulted("c1", "ok"), said("assistant", "Two.")],
      { kind: "answered", text: "One.\n\nTwo." },
    ],
    [
      "calls the client's tools",
      [asked, called("weather", {}, "c2", "I look.")],
      { kind: "answered", text: "I look.", calls: [{ id: "c2", name: "weather", arguments: "{}" }] },
    ],
    [
      "came before others",
      [asked, said("user", "Q2"), said("assistant", "A2")],
      { kind: "unanswered", isNewest: false },
    ],
  ])("that %s is found as such", (_, list, expected) => {
    const found = answer(...list);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(expected);
  });

  it("with results gets what followed them, also half of it", () => {
    const results = withMeta(resulted("c1", "rain"), { platformMessageId: "request:1" });
    const list = [said("user", "Q"), called("weather", {}, "c1"), results];
    expect(answer(...list)).toMatchObject({ kind: "unanswered" });
    expect(answer(...list, cut)).toMatchObject({ kind: "answered", text: "Half", isWhole: false });
  });
});
