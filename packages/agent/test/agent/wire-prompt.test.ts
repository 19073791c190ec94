// The contents of a system prompt: files of the home and of the working directory, the caller's instructions, the tools, memory,
// the provider's text.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memoriesDirectory } from "@hermes-memory/core/home";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { AgentOptions } from "../../src/agent/index.ts";
import { RECORDER, writeRecorder } from "../fakes/recording-plugin.ts";
import { type AgentSetting, agentHome } from "./agent-home.ts";

/** The first request of a session on this home. */
async function firstRequest(options: Partial<AgentOptions> = {}, setting: AgentSetting = {}) {
  const made = await agentHome([{ text: "Hi." }], {
    ...setting,
    options: { ...setting.options, ...options },
  });
  await made.agent.run("hello");
  const { system = "", tools = [] } = made.wire.requests[0] ?? {};
  return { ...made, system, tools };
}

/** Where each text begins; rises when they stand in this order. */
function positions(text: string, parts: readonly string[]): number[] {
  return parts.map((part) => text.indexOf(part));
}

describe("the system prompt of a request", () => {
  it("goes from who the agent is over what the caller and the project say to what it remembers", async () => {
    const home = tempDirectory();
    const cwd = tempDirectory();
    writeRecorder(home, { systemPromptBlock: "Ask the notes." });
    writeFileSync(join(home, "SOUL.md"), "I am Ada, a gardener.\n");
    writeFileSync(join(cwd, "AGENTS.md"), "Water the roses.\n");
    mkdirSync(memoriesDirectory(home), { recursive: true });
    writeFileSync(join(memoriesDirectory(home), "MEMORY.md"), "The pump is loud.");
    writeFileSync(join(memoriesDirectory(home), "USER.md"), "Likes tulips.");
    const { system, agent } = await firstRequest(
      { cwd, instructions: "Speak softly.", passSessionId: true },
      { home, config: { memory: { provider: RECORDER } } },
    );
    const found = positions(system, [
      "I am Ada, a gardener.",
      "Speak softly.",
      "# Project Context",
      "## AGENTS.md\n\nWater the roses.",
      "The pump is loud.",
      "Likes tulips.",
      "Ask the notes.",
      "\n\nConversation started: ",
      `\nSession ID: ${agent.sessionId}\nModel: test-model\nProvider: custom`,
    ]);
    expect(found[0]).toBe(0);
    expect(found).not.toContain(-1);
    expect(found).toEqual(found.toSorted((a, b) => a - b));
  });

  it("leaves the files out where context files are skipped, and memory where that is skipped", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "SOUL.md"), "I am Ada, a gardener.\n");
    writeFileSync(join(home, "AGENTS.md"), "Water the roses.\n");
    mkdirSync(memoriesDirectory(home), { recursive: true });
    writeFileSync(join(memoriesDirectory(home), "MEMORY.md"), "The pump is loud.");
    const bare = await firstRequest({ cwd: home, contextFiles: false, skipMemory: true }, { home });
    for (const text of ["roses", "pump", "Session ID:", "`memory` tool"])
      expect(bare.system.includes(text), text).toBe(false);
    expect(bare.system.startsWith("I am Ada, a gardener.")).toBe(true); // SOUL.md belongs to the home, and not to the directory
    expect(bare.tools).not.toContain("memory");
  });

  it("is as it was when files change in the middle of a session", async () => {
    const { agent, wire, home } = await agentHome([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    await agent.run("a");
    writeFileSync(join(home, "SOUL.md"), "I am Ada, a gardener.\n");
    writeFileSync(join(home, "AGENTS.md"), "Water the roses.\n");
    await agent.run("b");
    expect(wire.systemOf(1)).toBe(wire.systemOf(0));
    await agent.newSession();
    await agent.run("c");
    expect(wire.systemOf(2)).toContain("Ada");
    expect(wire.systemOf(2)).toContain("roses");
  });

  it("speaks of the tools that are there, and the request has the same ones", async () => {
    const all = await firstRequest();
    expect(all.tools).toEqual(expect.arrayContaining(["memory", "session_search", "todo"]));
    expect(all.system).toContain("`memory` tool");
    expect(all.system).toContain("look for it with `session_search`");

    const search = await firstRequest({ toolsets: ["session_search"] });
    expect(search.tools).toEqual(["read_result", "session_search"]);
    expect(search.system).not.toContain("`memory` tool");
    expect(search.system).toContain("look for it with `session_search`");

    const less = await firstRequest({}, { config: { agent: { disabled_toolsets: ["memory"] } } });
    expect(less.tools).not.toContain("memory");
    expect(less.system).not.toContain("`memory` tool");

    const none = await firstRequest({ toolsets: [] });
    expect(none.tools).toEqual([]);
    expect(none.wire.requests[0]?.body).not.toHaveProperty("tools");
    expect(none.system).not.toContain("session_search");
  });

  it("shows frozen memory also where the tool that writes it is switched off", async () => {
    const home = tempDirectory();
    mkdirSync(memoriesDirectory(home), { recursive: true });
    writeFileSync(join(memoriesDirectory(home), "MEMORY.md"), "The pump is loud.");
    const { system } = await firstRequest({ toolsets: ["todo"] }, { home });
    expect(system).toContain("The pump is loud.");
  });

  it("has a hint for the platform, the caller's own where it is not a known one", async () => {
    const terminal = await firstRequest();
    expect(terminal.system).toContain("shown in a terminal");
    const radio = await firstRequest({ platform: "radio", platformHint: "You are read out on the radio." });
    expect(radio.system).toContain("You are read out on the radio.");
    expect(radio.system).not.toContain("shown in a terminal");
  });
});
