// Small promises of the agent that are easy to break: nothing typed is lost, nothing goes to another server, no id becomes a path.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createAgent } from "@hermes-memory/agent/internal/agent";
import { describe, expect, it } from "vitest";
import { agentHome, modelSection, writeConfig } from "../../../agent/test/agent/agent-home.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

describe("another model by name", () => {
  it("is asked of the server in use, not of the one in config", async () => {
    const elsewhere = await startWire("chat", []);
    const { agent, wire } = await agentHome([{ text: "one" }, { text: "two" }]);
    writeConfig(agent.home, { model: modelSection("chat", elsewhere.url) });
    await agent.run("a secret");
    const switched = await agent.switchModel({ model: "m2" });
    expect(switched).toMatchObject({ ok: true, value: { model: "m2", baseUrl: wire.url } });
    await agent.run("again");
    expect(wire.requests[1]?.body.model).toBe("m2");
    expect(elsewhere.requests).toEqual([]);
  });
});

describe("an id of the caller's", () => {
  it("that could be a path is refused", async () => {
    const home = tempDirectory();
    writeConfig(home, { model: modelSection("chat", "http://127.0.0.1:1/v1") });
    const made = createAgent({ home, env: {}, store: null, sessionId: "x/../../evil" });
    await expect(made).rejects.toMatchObject({ code: "bad-session-id" });
    expect(existsSync(join(home, "..", "evil.json"))).toBe(false);
  });
});

describe("what goes out", () => {
  it("never carries a password of the server's address into results and events", async () => {
    const { agent, events } = await agentHome([], {
      config: {
        model: { base_url: "http://bob:hunter2secret@127.0.0.1:9/v1" },
        agent: { api_max_retries: 1 },
      },
    });
    await agent.run("hi");
    expect(JSON.stringify(events)).not.toContain("hunter2secret");
  });
});

describe("a message larger than the model's window", () => {
  it("is neither sent nor stored, and says what to do", async () => {
    const { agent, wire } = await agentHome([{ text: "fine" }], {
      config: { model: { context_length: 8_000 } },
    });
    const result = await agent.run("kiln ".repeat(8_000));
    expect(result).toMatchObject({ exit: "context_overflow", failed: true, api_calls: 0 });
    expect(result.error).toMatch(/about 10,0\d\d tokens.*takes 8,000.*not sent/);
    expect(await agent.run("a short one")).toMatchObject({ final_response: "fine" });
    expect(wire.requests).toHaveLength(1);
    expect(await agent.store?.messageCount(agent.sessionId)).toBe(2);
  });
});
