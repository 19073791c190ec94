// Handing a session over to another platform.
import type { Suite } from "../runner.ts";
import { type Harness, idsOf, NOW, row } from "./support.ts";

export function handoffContract({ it, expect }: Suite, { open }: Harness): void {
  it("goes from nothing over pending and running to completed", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    expect(await store.getHandoffState("s1")).toEqual({ state: null, platform: null, error: null });
    expect(await store.requestHandoff("s1", "telegram")).toBe(true);
    expect(await store.getHandoffState("s1")).toEqual({
      state: "pending",
      platform: "telegram",
      error: null,
    });
    expect(await store.claimHandoff("s1")).toBe(true);
    expect(await store.getHandoffState("s1")).toMatchObject({ state: "running" });
    await store.completeHandoff("s1");
    expect(await store.getHandoffState("s1")).toEqual({
      state: "completed",
      platform: "telegram",
      error: null,
    });
    expect(await row(store, "s1")).toMatchObject({
      handoff_state: "completed",
      handoff_platform: "telegram",
    });
  });

  it("cannot be asked for twice, until it is done or has failed", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.requestHandoff("s1", "telegram");
    expect(await store.requestHandoff("s1", "discord")).toBe(false);
    await store.claimHandoff("s1");
    expect(await store.requestHandoff("s1", "discord")).toBe(false);
    await store.failHandoff("s1", "no route");
    expect(await store.getHandoffState("s1")).toEqual({
      state: "failed",
      platform: "telegram",
      error: "no route",
    });
    expect(await store.requestHandoff("s1", "discord")).toBe(true);
    expect(await store.getHandoffState("s1")).toEqual({ state: "pending", platform: "discord", error: null });
    await store.completeHandoff("s1");
    expect(await store.requestHandoff("s1", "telegram")).toBe(true);
  });

  it("is claimed by one of many, and only when pending", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    expect(await store.claimHandoff("s1")).toBe(false);
    await store.requestHandoff("s1", "telegram");
    const claims = await Promise.all(Array.from({ length: 6 }, () => store.claimHandoff("s1")));
    expect(claims.filter(Boolean)).toHaveLength(1);
  });

  it("completing clears the error, failing keeps 500 characters of it", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.requestHandoff("s1", "telegram");
    await store.failHandoff("s1", "🚚".repeat(600));
    expect((await store.getHandoffState("s1"))?.error).toBe("🚚".repeat(500));
    await store.completeHandoff("s1");
    expect(await store.getHandoffState("s1")).toMatchObject({ state: "completed", error: null });
  });

  it("pending ones are listed, the oldest start first", async () => {
    await using store = await open();
    for (const [id, startedAt] of Object.entries({
      late: NOW,
      early: NOW - 10,
      running: NOW - 20,
      none: NOW - 30,
    })) {
      await store.createSession(id, { source: "cli", startedAt });
      if (id !== "none") await store.requestHandoff(id, "telegram");
    }
    await store.claimHandoff("running");
    const pending = await store.listPendingHandoffs();
    expect(idsOf(pending)).toEqual(["early", "late"]);
    expect(pending[0]).toEqual(await row(store, "early"));
  });

  it("an unknown session has no handoff and takes none", async () => {
    await using store = await open();
    expect(await store.requestHandoff("nope", "telegram")).toBe(false);
    expect(await store.claimHandoff("nope")).toBe(false);
    await store.completeHandoff("nope");
    await store.failHandoff("nope", "x");
    expect(await store.getHandoffState("nope")).toBeNull();
    expect(await store.listPendingHandoffs()).toEqual([]);
  });
}
