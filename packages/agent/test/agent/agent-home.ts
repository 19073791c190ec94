// An agent in a temporary home that talks to a fake model server over a real socket.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createAgent } from "../../src/agent/create/create-agent.ts";
import type { Agent, AgentEvent, AgentOptions } from "../../src/agent/index.ts";
import type { Script, WireKind } from "../fakes/wires/script.ts";
import { startWire, type TestWireOptions, type Wire } from "../fakes/wires/wire-in-test.ts";

export type AgentSetting = {
  readonly kind?: WireKind;
  /** config.yaml beside the model's section. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly home?: string;
  readonly wire?: TestWireOptions;
  /** As `hermes chat`: for the administrator, unless a person is named. Titles and reviews are off: they take steps of the script. */
  readonly options?: Partial<AgentOptions>;
};

export type AgentHome = {
  readonly home: string;
  readonly wire: Wire;
  readonly events: AgentEvent[];
  readonly agent: Agent;
  /** Another agent on the same home and server. Closed when the test is over. */
  another(options?: Partial<AgentOptions>): Promise<Agent>;
};

const API_MODES = {
  chat: { provider: "custom", api_mode: "chat_completions" },
  responses: { provider: "openai", api_mode: "responses" },
  anthropic: { provider: "anthropic", api_mode: "anthropic_messages" },
  google: { provider: "google", api_mode: "google" },
} as const;

const MODELS = {
  chat: "test-model",
  responses: "gpt-5",
  anthropic: "claude-sonnet-4-5",
  google: "gemini-2.5-pro",
};

/** As `config.yaml` names a fake server. */
export function modelSection(kind: WireKind, url: string): Record<string, unknown> {
  return { default: MODELS[kind], base_url: url, api_key: "test-key", ...API_MODES[kind] };
}

export function writeConfig(home: string, config: Readonly<Record<string, unknown>>): void {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.yaml"), stringify(config));
}

export async function agentHome(script: Script, setting: AgentSetting = {}): Promise<AgentHome> {
  const { kind = "chat", home = tempDirectory() } = setting;
  const wire = await startWire(kind, script, setting.wire);
  const { model = {}, ...config } = setting.config ?? {};
  writeConfig(home, { ...config, model: { ...modelSection(kind, wire.url), ...(model as object) } });
  const events: AgentEvent[] = [];
  const another = async (options: Partial<AgentOptions> = {}): Promise<Agent> => {
    const chosen = { ...setting.options, ...options };
    const isForOne = "user" in chosen || "memory" in chosen;
    const made = await createAgent({
      home,
      administrator: !isForOne,
      env: {},
      cwd: home,
      contextFiles: true,
      toolsets: null,
      onEvent: (event) => events.push(event),
      ...chosen,
    });
    onTestFinished(() => made.close());
    return made;
  };
  return { home, wire, events, agent: await another(), another };
}

export function streamedText(events: readonly AgentEvent[]): string {
  return events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("");
}

export async function collected<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}
