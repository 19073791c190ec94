// One turn at a time for each conversation, and a bounded number of live agents.
import type { Agent } from "@hermes-memory/agent/internal/agent";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it } from "vitest";
import { LiveAgents } from "../../src/agent-mode/live-agents.ts";

function liveAgents(waitMs = 1_000) {
  const clock = { ms: 0 };
  const closed: string[] = [];
  const agents = new LiveAgents({ log: silentLogger, now: () => clock.ms, waitMs });
  const make = (name: string) => async () =>
    ({
      name,
      close: async (options: unknown) => {
        expect(options).toEqual({ keepSession: true });
        closed.push(name);
      },
    }) as unknown as Agent;
  return { agents, clock, closed, make };
}

describe("turns", () => {
  it("of one conversation run in the order of their requests", async () => {
    const { agents } = liveAgents();
    const order: number[] = [];
    const first = await agents.begin("a");
    const others = [1, 2, 3].map(async (number) => {
      const end = await agents.begin("a");
      order.push(number);
      end();
    });
    expect(agents.isBusy("a")).toBe(true);
    order.push(0);
    first();
    await Promise.all(others);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(agents.isBusy("a")).toBe(false);
  });

  it("that wait too long are refused, and those behind them still wait for the one that runs", async () => {
    const { agents } = liveAgents(20);
    const end = await agents.begin("a");
    await expect(agents.begin("a")).rejects.toMatchObject({ problem: { status: 409 } });
    const next = agents.begin("a");
    end();
    (await next)();
    expect(agents.isBusy("a")).toBe(false);
  });

  it("whose client has gone stop waiting", async () => {
    const { agents } = liveAgents();
    const end = await agents.begin("a");
    const gone = new AbortController();
    const waiting = agents.begin("a", gone.signal);
    gone.abort();
    await expect(waiting).rejects.toThrow();
    end();
    await expect.poll(() => agents.isBusy("a")).toBe(false);
  });
});

describe("agents", () => {
  it("above the limit or idle are closed, but none that is busy", async () => {
    const { agents, make, closed, clock } = liveAgents();
    for (const key of ["a", "b", "c"]) await agents.get(key, "", make(key));
    const end = await agents.begin("a");
    agents.tidy({ most: 2, idleSeconds: 60 });
    expect(closed).toEqual(["b"]);
    end();
    clock.ms = 61_000;
    await agents.get("c", "", make("c2"));
    agents.tidy({ most: 2, idleSeconds: 60 });
    expect(closed).toEqual(["b", "a"]);
    await agents.close();
    expect(closed).toEqual(["b", "a", "c"]);
  });
});
