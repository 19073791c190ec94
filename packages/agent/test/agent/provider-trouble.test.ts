// A memory provider that hangs or fails: the user gets one sentence, and the conversation goes on.
import { describe, expect, it } from "vitest";
import { MANIFEST_TEXT, registeringPlugin, writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { AgentEvent } from "../../src/agent/index.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";

async function agentWith(more: string): Promise<AgentHome> {
  const home = tempDirectory();
  writePlugin(home, "sample", { "plugin.yaml": MANIFEST_TEXT, "index.js": registeringPlugin({ more }) });
  const config = { memory: { provider: "sample", prefetch_timeout_s: 0.05 } };
  return agentHome(() => ({ text: "Yes." }), { home, config });
}

function troubles(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) =>
    event.type === "notice" && event.cause === "provider-trouble" ? [`${event.level}: ${event.text}`] : [],
  );
}

describe("a memory provider in trouble", () => {
  it("is named to the user once, by a notice, and the turn has its answer", async () => {
    const { agent, events } = await agentWith(
      "prefetch() { return new Promise(() => {}); } onSessionSwitch() { throw new Error('no'); }",
    );
    expect((await agent.run("Tea?")).final_response).toBe("Yes.");
    expect((await agent.run("And cake?")).final_response).toBe("Yes.");
    await agent.newSession();
    await agent.run("More?");
    expect(troubles(events)).toEqual([
      "warn: The memory provider 'sample' does not answer (prefetch: no answer within 0.05 s). The conversation goes on without it; 'hermes memory status' shows more.",
    ]);
    expect(agent.warnings.join()).not.toContain("sample");
  });

  it("before anybody listens is among the warnings of the start", async () => {
    const { agent, events } = await agentWith("initialize() { throw new Error('no server'); }");
    expect(agent.warnings).toEqual([
      expect.stringMatching(
        /^The memory provider 'sample' failed \(initialize: no server\)\. .*memory status/,
      ),
    ]);
    expect((await agent.run("Tea?")).final_response).toBe("Yes.");
    expect(troubles(events)).toEqual([]);
  });
});
