// A home that version 0.1.0 wrote is opened, written to by every layer, and loses nothing.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createAgent } from "@hermes-memory/agent/internal/agent";
import { ENTRY_DELIMITER } from "@hermes-memory/core/internal/curated";
import { openHome } from "@hermes-memory/core/internal/memory";
import { describe, expect, it } from "vitest";
import { filesOf, fixtureHome } from "../../../test/fixtures/fixture-home.ts";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { keepsGatewayRecords } from "../../core/test/fakes/gateway-records.ts";
import { runHere } from "./cli/run.ts";
import { expectNothingLost, rowsOf } from "./kept-home.ts";

const SESSIONS = 24;
const MESSAGES = 382;

describe("a home of version 0.1.0", () => {
  it("is read whole: entries, history, archive, pins, staged writes, conversations", async () => {
    const home = fixtureHome();
    await using memory = openHome({ home });
    const own = await memory.administrator.curated();
    expect(own?.warnings).toEqual([]);
    expect(own?.entries("memory")).toHaveLength(11);
    expect(own?.entries("user")).toEqual(["Prefers metric units and short answers.", "東京の水車も見たい。"]);
    const bo = await memory.user({ platform: "telegram", id: "bo" }).curated();
    expect(bo?.entries("user")).toEqual(["Bo repairs sluice gates."]);
    const store = await memory.administrator.sessions({ mode: "write", create: true });
    expect(await store.sessionCount()).toBe(SESSIONS);
    expect((await store.searchMessages("m7x3", { limit: 5 })).map(({ session_id }) => session_id)).toEqual([
      "20260507_101500_000007",
    ]);
    expect(await store.resolveSessionId("20260503")).toBe("20260503_101500_000003");
  });

  it("keeps the records of a gateway, and its database stays sound", async () => {
    const home = fixtureHome();
    const before = rowsOf(home);
    await keepsGatewayRecords(join(home, "state.db"));
    expect(rowsOf(home)).toMatchObject({ sessions: before.sessions, messages: before.messages });
  });

  it("takes writes by every layer and loses nothing of what was there", async () => {
    const home = fixtureHome();
    const files = filesOf(home);
    const rows = rowsOf(home);
    const pinned = readFileSync(join(home, "memories/.pins.json"), "utf8");
    const old = readFileSync(join(home, "memories/MEMORY.md"), "utf8").split(ENTRY_DELIMITER);
    const hermes = async (...args: string[]) => {
      const { code, stdout, stderr } = await runHere(args, { home });
      expect(code, `${args.join(" ")}: ${stdout}${stderr}`).toBe(0);
      return stdout;
    };

    await hermes("memory", "add", "--target", "user", "Moved to Utrecht.");
    await hermes("memory", "replace", "Note 11", "Note 11: gauge 11 is digital.");
    await hermes("memory", "undo");
    await hermes("memory", "approve", "all");
    const wire = await startWire("chat", [{ text: "The pond stands at 29 cm." }]);
    const agent = await createAgent({
      home,
      env: {},
      cwd: home,
      resume: "20260503_101500_000003",
      selection: { baseUrl: wire.url },
      titles: false,
      review: false,
    });
    expect(await agent.run("How high is the pond?")).toMatchObject({ completed: true });
    await agent.close();

    expectNothingLost(home, files);
    expect(readFileSync(join(home, "memories/.pins.json"), "utf8")).toBe(pinned);
    const after = rowsOf(home);
    expect(after.sessions).toHaveLength(rows.sessions.length);
    expect(after.messages.slice(0, MESSAGES)).toEqual(rows.messages);
    expect(after.messages.length).toBe(MESSAGES + 2);
    for (const name of rows.schema) expect(after.schema).toContain(name);
    const memory = await openHome({ home }).owner.curated();
    if (memory === undefined) throw new Error("memory is off");
    const archive = readFileSync(join(home, "memories/.archive/memory.jsonl"), "utf8");
    expect(old).toHaveLength(11);
    for (const entry of old)
      expect(memory.entries("memory").includes(entry) || archive.includes(entry), entry).toBe(true);
    expect(memory.entries("user")).toEqual(
      expect.arrayContaining([
        "Prefers metric units and short answers.",
        "Moved to Utrecht.",
        "Speaks Dutch at home.",
      ]),
    );
    expect(JSON.parse(await hermes("memory", "history", "--limit", "100", "--json")).length).toBeGreaterThan(
      19,
    );
    expect(existsSync(join(home, "plugins/notes/plugin.yaml"))).toBe(true);
  }, 60_000);
});
