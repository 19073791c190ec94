// A chat with a real agent and its commands. The model answers what `talk` says it answers; compactions and switches of the model are
// only recorded, and a test may replace any member of the agent.
import { type HermesConfig, loadConfig } from "@hermes-memory/core/internal/config";
import type { CompressCommand } from "@hermes-memory/core/internal/context";
import type { CommittedWrite } from "@hermes-memory/core/internal/curated";
import { err, ok } from "@hermes-memory/core/internal/lib";
import { isMessage, type Message, newMessage } from "@hermes-memory/core/internal/message";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import { onTestFinished } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import {
  type AgentStatus,
  type AgentSurface,
  type CommandHost,
  type CommandReply,
  type CompressReport,
  createAgent,
  runSlashCommand,
} from "../../../src/agent/index.ts";
import type { ModelSelection } from "../../../src/models/index.ts";
import { type ChatRow, message } from "../../messages.ts";

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

type FakeAgent = Writable<AgentSurface> & {
  /** Turns: what the user says and what the model answers, in turn. */
  talk(...texts: string[]): Promise<void>;
  /** Adds to the live list only. */
  hear(...rows: (ChatRow | Message)[]): void;
  readonly mirrored: { readonly write: CommittedWrite; readonly origin: string | undefined }[];
  readonly compressions: (CompressCommand | undefined)[];
  readonly selections: ModelSelection[];
  compressReport: Partial<CompressReport>;
  /** Replaces fields of the status. */
  given: Partial<AgentStatus>;
};

async function fakeAgent(home: string, config: HermesConfig): Promise<FakeAgent> {
  const identity = { model: "kiln-1", provider: "custom", apiMode: "chat_completions", baseUrl: "" } as const;
  let answer = "";
  const real = await createAgent({
    home,
    config,
    administrator: true,
    env: {},
    contextLength: 32_000,
    model: {
      identity,
      stream: async () => {
        const said = newMessage({ role: "assistant", content: answer, toolCalls: [] });
        return ok({ message: said, finishReason: "stop", usage: undefined, model: undefined });
      },
    },
  });
  onTestFinished(() => real.close());
  const heard: Message[] = [];
  const own: Partial<FakeAgent> & ThisType<FakeAgent> = {
    mirrored: [],
    compressions: [],
    selections: [],
    compressReport: {},
    given: {},
    hear: (...rows) =>
      void heard.push(
        ...rows.map((row) =>
          isMessage(row) ? row : (message(row, { atSeconds: 1_770_000_000 }) as Message),
        ),
      ),
    async talk(...texts) {
      for (let at = 0; at < texts.length; at += 2) {
        answer = texts[at + 1] ?? "";
        await real.run(texts[at] ?? "");
      }
    },
    async compress(command) {
      this.compressions.push(command);
      const feedback = {
        noop: false,
        headline: "Compacted 6 messages to 3.",
        token_line: "Fewer.",
        note: null,
      };
      return { kind: "compacted", feedback, notices: [], sessionId: this.sessionId, ...this.compressReport };
    },
    async switchModel(selection) {
      this.selections.push(selection);
      if (selection.model === "nobody") return err({ kind: "refused", message: "There is no such model." });
      const {
        model = this.model.model,
        provider = this.model.provider,
        baseUrl = this.model.baseUrl,
      } = selection;
      this.model = { ...this.model, model, provider, baseUrl };
      return ok(this.model);
    },
    noteMemoryWrite(write, origin) {
      this.mirrored.push({ write, origin });
    },
    async status() {
      return { ...(await real.status()), ...this.given };
    },
  };
  return new Proxy(own as FakeAgent, {
    get(target, key) {
      if (key in target) return Reflect.get(target, key);
      if (key === "messages") return [...real.messages, ...heard];
      const member: unknown = Reflect.get(real, key, real);
      return typeof member === "function" ? member.bind(real) : member;
    },
  });
}

export type Chat = {
  readonly agent: FakeAgent;
  readonly home: string;
  readonly store: SessionStore;
  readonly questions: string[];
  readonly config: HermesConfig;
  /** What the user answers to questions; yes by default. */
  answer: boolean | Error;
  type(line: string): Promise<CommandReply | undefined>;
  /** Throws unless the reply has this kind. */
  expect<K extends CommandReply["kind"]>(line: string, kind: K): Promise<CommandReply & { readonly kind: K }>;
};

export async function openChat(
  change: (config: HermesConfig) => HermesConfig = (same) => same,
): Promise<Chat> {
  const home = tempDirectory();
  const loaded = await loadConfig(home);
  if (!loaded.ok) throw new Error(loaded.error.message);
  const config = change(loaded.value);
  const agent = await fakeAgent(home, config);
  const { store } = agent;
  if (store === undefined) throw new Error("there is no store");
  const questions: string[] = [];
  const host: CommandHost = {
    config,
    confirm: async (question) => {
      questions.push(question);
      if (chat.answer instanceof Error) throw chat.answer;
      return chat.answer;
    },
    clock: { now: () => new Date(2026, 2, 1, 8, 5, 9) },
  };
  const type = (line: string) => runSlashCommand(agent, line, host);
  const chat: Chat = {
    agent,
    home,
    store,
    questions,
    config,
    answer: true,
    type,
    async expect(line, kind) {
      const reply = await type(line);
      if (reply?.kind !== kind)
        throw new Error(`expected ${kind}, got ${reply?.kind}: ${reply?.lines.join(" / ")}`);
      return reply as CommandReply & { readonly kind: typeof kind };
    },
  };
  return chat;
}

/** All lines as one text. */
export function textOf(reply: CommandReply): string {
  return reply.lines.join("\n");
}
