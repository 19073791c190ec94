// An agent with a provider that records its calls, and functions to read them.

import { loadConfig } from "@hermes-memory/core/internal/config";
import type { HookCall, HookName } from "../../../core/test/fakes/providers.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type Agent, type CommandReply, runSlashCommand } from "../../src/agent/index.ts";
import { RECORDER, type Recorder, writeRecorder } from "../fakes/recording-plugin.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";

/** Answers `reply to <last word>`; a summary is just another answer. */
export async function recorded(): Promise<AgentHome & { readonly recorder: Recorder }> {
  const home = tempDirectory();
  const recorder = writeRecorder(home);
  const made = await agentHome(
    ({ messages }) => ({ text: `reply to ${lastWord(messages.at(-1)?.content)}` }),
    {
      home,
      config: { memory: { provider: RECORDER } },
    },
  );
  return { ...made, recorder };
}

function lastWord(content: unknown): string {
  return /(\S+)\s*$/.exec(typeof content === "string" ? content : "")?.[1]?.slice(0, 40) ?? "";
}

const SESSION_HOOKS = ["onPreCompress", "onSessionEnd", "onSessionSwitch", "shutdown"] as const;

/** The provider's calls since the last look, with messages as `role: text`. Turns are synced in the background, at any time. */
export function told(recorder: Recorder, ...more: readonly HookName[]): unknown[][] {
  const calls = recorder.take(...SESSION_HOOKS, ...more);
  return calls.map((call) => [call.hook, ...argsOf(call)]);
}

function argsOf({ hook, args }: HookCall): readonly unknown[] {
  if (hook === "shutdown") return [];
  if (hook === "onSessionEnd" || hook === "onPreCompress") return [spoken(args[0])];
  return hook === "syncTurn" ? args.slice(0, 2) : args;
}

export function spoken(messages: unknown): string[] {
  return (messages as { role: string; content: unknown }[]).map(({ role, content }) => `${role}: ${content}`);
}

export async function slash(agent: Agent, line: string): Promise<CommandReply> {
  const config = await loadConfig(agent.home);
  if (!config.ok) throw new Error(config.error.message);
  const reply = await runSlashCommand(agent, line, { config: config.value, confirm: async () => true });
  if (reply === undefined) throw new Error(`'${line}' is no command`);
  return reply;
}
