// Nobody sees or changes what belongs to another person: every route of the table, tried by others against persons whose homes are full.
// A route without a case fails. The long run, with more attackers and every id, is in isolation.slow.test.ts.
import { describe, expect, it } from "vitest";
import { CASES } from "./isolation-cases.ts";
import { attackEverything, attackerOf, routeKeys } from "./isolation-run.ts";
import { isolationWorld, type Sender } from "./isolation-world.ts";

describe("the table of routes", () => {
  it("has a case for each route, and no case without a route", async () => {
    expect(Object.keys(CASES).toSorted()).toEqual((await routeKeys()).toSorted());
  });
});

describe("another person", () => {
  it("gets nothing of others by any route, and an administrator sees all", async () => {
    const world = await isolationWorld("tokens", "some");
    await attackEverything(world, await attackerOf(world, "a user's token"), "some");

    const token = await world.token({ kind: "admin" });
    const admin: Sender = { name: "admin", headers: { "x-hermes-token": token } };
    await expect.poll(async () => (await world.send(admin, "GET", "/api/status")).status).toBe(200);
    const get = async (path: string): Promise<string> => (await world.send(admin, "GET", path)).text;
    const [alice, owner, carol] = world.victims;
    const sessions = await get("/api/sessions?limit=200");
    for (const victim of [alice, owner]) expect(sessions).toContain(victim?.secret);
    expect(sessions).not.toContain(carol?.secret); // another home
    const [id = ""] = alice?.handles.sessionIds ?? [];
    expect(await get(`/api/sessions/${encodeURIComponent(id)}/messages`)).toContain(alice?.secret);
    expect(await get("/api/recalls?limit=200")).toContain(alice?.secret);
    expect(await get("/api/entries?user=web%3Aalice")).toContain(alice?.secret);
    expect(await get("/api/entries?user=web%3Acarol")).toContain(carol?.secret);
    expect(await get("/api/entries")).not.toContain(alice?.secret);
  }, 60_000);
});
