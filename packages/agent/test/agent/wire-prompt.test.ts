// The contents of a system prompt: files of the home and of the working directory, the caller's instructions, the tools, memory,
// the provider's text.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memoriesDirectory } from "@hermes-memory/core/internal/home";
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
});
