// How the outbox of a home is shown.
import type { OutboxEntry } from "@hermes-memory/providers/internal";
import { describe, expect, it } from "vitest";
import { activeLaneLines, laneJson, otherLaneLines } from "../../src/cli/memory/provider/outbox-state.ts";

const row = (name: string, value: string): string => `${name.padEnd(15)} ${value}`;
const paint = (_style: string, text: string): string => text;

function lane(provider: string, user: string, state: Partial<OutboxEntry["state"]> = {}) {
  return laneJson({ provider, user, state: { waiting: 0, held: 0, dead: 0, refused: 0, ...state } }, "mem0");
}

describe("the lane of the active provider", () => {
  it("is one line when nothing is wrong", () => {
    expect(activeLaneLines([lane("mem0", "")], row, paint)).toEqual(["  outbox        0 waiting"]);
  });

  it("says what is wrong and what to do", () => {
    const lines = activeLaneLines(
      [
        lane("mem0", "", {
          waiting: 4,
          held: 1,
          dead: 2,
          refused: 3,
          blocked: "The key was refused (401).",
          lastError: { message: "401 \u001b[2J no such key", at: "2026-11-15T04:02:00Z" },
          lastDeliveryAt: "2026-11-15T03:00:00Z",
        }),
      ],
      row,
      paint,
    ).join("\n");
    expect(lines).toContain("  outbox        4 waiting, 1 held, 2 dead letters, 3 refused\n");
    expect(lines).toContain("The key was refused (401). Correct it with 'hermes memory setup mem0'");
    expect(lines).toContain("'hermes memory outbox retry'");
    expect(lines).toContain("memory.outbox_max_items");
    expect(lines).toMatch(/ {2}delivered {5}last 2026-11-1\d /);
    expect(lines).toMatch(/ {2}not sent {6}2026-11-1\d .*401 \\x1b\[2J no such key/);
  });

  it("of users is shown where it holds something, up to five", () => {
    const users = Array.from({ length: 7 }, (_, at) => lane("mem0", `telegram:${at}`, { waiting: 1 }));
    const lines = activeLaneLines([...users, lane("mem0", "idle")], row, paint);
    expect(lines).toHaveLength(6);
    expect(lines[0]).toBe("  outbox        user telegram:0: 1 waiting");
    expect(lines[5]).toContain("and 2 more users; --json lists all");
  });
});

describe("lanes of other providers", () => {
  it("are named with what they hold and what to do", () => {
    const lines = otherLaneLines(
      [
        lane("mem0", "", { waiting: 9 }),
        lane("honcho", "", { waiting: 2 }),
        lane("honcho", "telegram:1", { waiting: 1, dead: 1 }),
        lane("retaindb", ""),
      ],
      row,
      paint,
    );
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      "'honcho', which is not active: 3 waiting, 1 dead letter; 'hermes memory outbox send --provider honcho'",
    );
    expect(lines[0]).toContain("'hermes memory outbox drop --provider honcho'");
  });
});
