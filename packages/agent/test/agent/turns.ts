// For the tests of turns: an agent that does not wait between attempts, the text that listeners got, the stored messages.
import { tool } from "ai";
import { expect } from "vitest";
import { z } from "zod";
import type { MemoryProvider } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Agent, AgentEvent, AgentOptions, TurnResult } from "../../src/agent/index.ts";
import { plugIn } from "../fakes/plugged-provider.ts";
import type { Reply, Script } from "../fakes/wires/script.ts";
import { type AgentHome, type AgentSetting, agentHome } from "./agent-home.ts";

export type TurnHome = AgentHome & {
  /** How long it would have waited before each further attempt. */
  readonly waits: readonly number[];
};

/** `agentHome` without waits between attempts. */
export async function turnHome(script: Script, setting: AgentSetting = {}): Promise<TurnHome> {
  const waits: number[] = [];
  const waitForRetry: AgentOptions["waitForRetry"] = async (ms) => void waits.push(ms);
  const made = await agentHome(script, { ...setting, options: { waitForRetry, ...setting.options } });
  return { ...made, waits };
}

/** With a memory provider, found as a plugin. */
export async function providerHome(
  provider: MemoryProvider,
  script: Script,
  { config = {}, ...setting }: AgentSetting = {},
): Promise<TurnHome> {
  const home = setting.home ?? tempDirectory();
  plugIn(home, provider);
  const memory = { provider: provider.name, ...(config.memory as object) };
  return turnHome(script, { ...setting, home, config: { ...config, memory } });
}

/** For `options`: the tool `look`, which is no housekeeping tool, answers at once and records its arguments. */
export function lookTool(answer: (args: Record<string, unknown>) => unknown = () => "seen") {
  const given: unknown[] = [];
  const look = tool({
    description: "Looks at something.",
    inputSchema: z.looseObject({}),
    execute: async (args: Record<string, unknown>) => {
      given.push(args);
      return answer(args);
    },
  });
  return { given, tools: { look } };
}

export function call(name: string, args: Readonly<Record<string, unknown>> | string = {}, text = ""): Reply {
  return { toolCalls: [{ name, arguments: args }], text: text || undefined };
}

/** The text that a listener shows, one for each reply. */
export function seenTexts(events: readonly AgentEvent[]): readonly string[] {
  const texts: string[] = [""];
  for (const event of events) {
    if (event.type === "tool-start" || event.type === "turn-start") texts.push("");
    if (event.type === "text-discard") texts[texts.length - 1] = "";
    if (event.type === "text-delta") texts[texts.length - 1] += event.text;
  }
  return texts.filter((text) => text !== "");
}

/** `role: content` of every stored message of the agent's session. */
export async function storedLines(agent: Agent): Promise<readonly string[]> {
  const rows = await agent.store?.getMessages(agent.sessionId);
  return (rows ?? []).map(({ role, content }) => `${role}: ${String(content)}`);
}

/** Streamed, returned and stored are one text, and nothing else is told. */
export async function expectOneText({ agent, events }: TurnHome, result: TurnResult, text: string) {
  expect(result.final_response).toBe(text);
  expect(seenTexts(events).at(-1)).toBe(text);
  expect((await storedLines(agent)).at(-1)).toBe(`assistant: ${text}`);
}

export function messagesOf(home: AgentHome, request: number): readonly string[] {
  return home.wire.wireMessages(request).map(({ role, content }) => `${String(role)}: ${String(content)}`);
}

/** The JSON results of the tools of a turn. */
export function toolAnswers({ messages }: TurnResult): readonly Record<string, unknown>[] {
  return messages.flatMap(({ role, content }) =>
    role === "tool" ? [JSON.parse(unfenced(String(content)))] : [],
  );
}

/** A tool result without the fence around untrusted text. */
function unfenced(text: string): string {
  return (
    /^<untrusted_tool_result[^>]*>\n\[[^\]]*\]\n(.*)\n<\/untrusted_tool_result>$/s.exec(text)?.[1] ?? text
  );
}
