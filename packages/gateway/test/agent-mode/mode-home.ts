// Agent mode in a temporary home, with a fake model server behind it.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Memory, openMemory } from "@hermes-memory/core/internal/memory";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import { modelSection } from "../../../agent/test/agent/agent-home.ts";
import type { Script } from "../../../agent/test/fakes/wires/script.ts";
import { type Wire as ModelServer, startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { AgentMode, type AgentModeDeps } from "../../src/agent-mode/agent-mode.ts";
import { type LiveIndex, liveIndexOf } from "../../src/agent-mode/session-life.ts";
import type { Gateway, GatewayEvent, ModelTurn, UserRef } from "../../src/types.ts";
import type { Reply, ReplyEvent } from "../../src/wires/wire.ts";
import { CHAT, gatewayFor, type Question, turnOf } from "./mode-turns.ts";

type Answered = {
  readonly response: Response;
  readonly reply: Reply;
  readonly sessionId: string | null;
};

export type ModeHome = {
  readonly home: string;
  readonly server: ModelServer;
  readonly memory: Memory;
  readonly gateway: Gateway;
  readonly mode: AgentMode;
  readonly index: LiveIndex;
  readonly events: GatewayEvent[];
  readonly clock: { atMs: number };
  turn(question: Question): ModelTurn;
  ask(question: Question): Promise<Answered>;
  /** The events of a streamed answer. */
  stream(question: Question): Promise<readonly ReplyEvent[]>;
  /** Another mode on the same home, as after a restart. */
  restart(deps?: AgentModeDeps): Promise<AgentMode>;
  lines(chatId?: string, user?: UserRef): Promise<readonly string[]>;
};

export type ModeSetting = {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly home?: string;
  readonly deps?: AgentModeDeps;
  readonly isWithoutModel?: boolean;
};

export async function modeHome(script: Script, setting: ModeSetting = {}): Promise<ModeHome> {
  const { home = tempDirectory() } = setting;
  const server = await startWire("chat", script);
  const model = setting.isWithoutModel ? {} : { model: modelSection("chat", server.url) };
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.yaml"), stringify({ ...model, ...setting.config }));
  const clock = { atMs: Date.now() };
  const now = { now: () => new Date(clock.atMs) };
  const memory = await openMemory({ home, clock: now });
  onTestFinished(() => memory.close());
  const events: GatewayEvent[] = [];
  const gateway = gatewayFor(memory, { clock: now, events });
  const index = await liveIndexOf(memory.administration);
  const start = (deps: AgentModeDeps = {}): AgentMode => {
    const made = new AgentMode(gateway, {
      ...setting.deps,
      ...deps,
      agent: { titles: false, review: false, waitForRetry: async () => undefined, ...setting.deps?.agent },
    });
    onTestFinished(() => made.close());
    return made;
  };
  let mode = start();
  const turn = (question: Question): ModelTurn => turnOf(gateway, memory, question);
  const parts = { home, server, memory, gateway, index, events, clock, turn };
  return {
    ...parts,
    get mode() {
      return mode;
    },
    async ask(question) {
      const sent: (() => void)[] = [];
      const response = await mode.answer({ ...turn(question), onSent: (each) => void sent.push(each) });
      const reply = (await response.json()) as Reply;
      for (const each of sent) each();
      return { response, reply, sessionId: response.headers.get("x-hermes-session-id") };
    },
    async stream(question) {
      const response = await mode.answer(turn({ ...question, stream: true }));
      const text = await response.text();
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ReplyEvent);
    },
    async restart(deps) {
      await mode.close();
      mode = start(deps);
      return mode;
    },
    async lines(chatId = CHAT, user) {
      const person = user === undefined ? memory.owner : memory.user(user);
      const found = await person.transcript(chatId, { format: "hermes", limit: Number.POSITIVE_INFINITY });
      return (found?.messages ?? []).map(({ role, content }) => `${role}: ${String(content)}`);
    },
  };
}

export async function* eventsOf(response: Response): AsyncIterable<ReplyEvent | { readonly type: "open" }> {
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? [])
    for (const line of decoder.decode(bytes).split("\n")) if (line !== "") yield JSON.parse(line);
}
