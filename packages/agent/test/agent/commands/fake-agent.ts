// An agent without a model: sessions, undo and memory are real, on a real store; calls for turns, compaction and model switches are only recorded.
import { join } from "node:path";
import { type HermesConfig, loadConfig } from "@hermes-memory/core/internal/config";
import type { CompressCommand, EngineCommand } from "@hermes-memory/core/internal/context";
import type { CommittedWrite, MemoryStore } from "@hermes-memory/core/internal/curated";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { type Home, type MemoryUser, openHome, type Person } from "@hermes-memory/core/internal/memory";
import { isMessage, type Message } from "@hermes-memory/core/internal/message";
import { newSessionId, openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { SkillStore } from "@hermes-memory/core/internal/skills";
import { onTestFinished } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import type { AgentSurface } from "../../../src/agent/agent.ts";
import { type CommandHost, type CommandReply, runSlashCommand } from "../../../src/agent/index.ts";
import type {
  AgentStatus,
  CompressReport,
  SessionChange,
  SessionProblem,
  UndoReport,
} from "../../../src/agent/surface.ts";
import {
  type ContextWindow,
  type ModelIdentity,
  type ModelSelection,
  NO_USAGE,
} from "../../../src/models/index.ts";
import { type ChatRow, message } from "../../messages.ts";

function heard(row: ChatRow): Message {
  return message(row, { atSeconds: 1_770_000_000 });
}

class FakeAgent implements AgentSurface {
  opened: Home;
  readonly platform = "cli";
  sessionId = newSessionId(new Date());
  model: ModelIdentity = { model: "kiln-1", provider: "custom", apiMode: "chat_completions", baseUrl: "" };
  window: ContextWindow = { tokens: 32_000, source: "config", isProvisional: false };
  store: SessionStore | undefined;
  user: MemoryUser | undefined;
  memory: MemoryStore | undefined;
  readonly skills: SkillStore;
  systemPrompt: string | undefined;
  engineCommands: EngineCommand[] = [];
  messages: Message[] = [];
  isRunning = false;
  readonly warnings: readonly string[] = [];
  readonly mirrored: { readonly write: CommittedWrite; readonly origin: string | undefined }[] = [];
  readonly compressions: (CompressCommand | undefined)[] = [];
  readonly selections: ModelSelection[] = [];
  compressReport: Partial<CompressReport> = {};
  given: Partial<AgentStatus> = {};
  #title: string | null = null;

  get userId(): string | undefined {
    return this.user?.userId;
  }
  set userId(userId: string | undefined) {
    this.user = userId === undefined ? undefined : { platform: this.platform, userId };
  }

  get home(): string {
    return this.opened.home;
  }

  get person(): Person {
    return this.user === undefined
      ? this.opened.administrator
      : this.opened.user({ platform: this.user.platform, id: this.user.userId });
  }

  constructor(home: string) {
    this.opened = openHome({ home });
    this.skills = new SkillStore({ home });
  }

  /** Adds the texts as alternating user and agent messages, to the store and to the live list. */
  async talk(...texts: string[]): Promise<void> {
    const messages = texts.map((content, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content,
    }));
    await this.store?.createSession(this.sessionId, { source: "cli", userId: this.userId ?? null });
    await this.store?.appendMany(this.sessionId, messages);
    this.hear(...messages);
  }

  /** Adds to the live list only. */
  hear(...rows: (ChatRow | Message)[]): void {
    this.messages.push(...rows.map((row) => (isMessage(row) ? row : heard(row))));
  }

  run(): never {
    throw new Error("a command must not run a turn");
  }
  interrupt(): void {}
  steer(_text?: string): boolean {
    return false;
  }
  close(): Promise<void> {
    throw new Error("a command must not close the agent");
  }

  async title(): Promise<string | null> {
    return (await this.store?.getSessionTitle(this.sessionId)) ?? this.#title;
  }

  async setTitle(title: string | null): Promise<Result<string | null, SessionProblem>> {
    if (title === "taken") return problem("refused", "That title is taken.");
    if (!(await this.store?.setSessionTitle(this.sessionId, title))) this.#title = title;
    return ok(title);
  }

  async newSession({
    title = null,
  }: {
    readonly title?: string | null;
  } = {}): Promise<Result<SessionChange, SessionProblem>> {
    const from = this.sessionId;
    this.sessionId = newSessionId(new Date());
    this.messages = [];
    this.#title = null;
    if (title !== null) await this.setTitle(title);
    return ok({ from, to: this.sessionId, title: await this.title(), messages: 0 });
  }

  async resume(target: string): Promise<Result<SessionChange, SessionProblem>> {
    const { store } = this;
    if (store === undefined) return problem("no_database", "There is no database.");
    const id = (await store.resolveSessionId(target)) ?? (await store.resolveSessionByTitle(target));
    if (id === null) return problem("not_found", `No session is called '${target}'.`);
    if (id === this.sessionId) return problem("same_session", "That is this session.");
    const from = this.sessionId;
    this.sessionId = id;
    const rows = await store.getMessages(id);
    this.messages = rows.map(({ role, content }) => heard({ role, content }));
    return ok({ from, to: id, title: await this.title(), messages: this.messages.length });
  }

  async branch({ title }: { readonly title?: string } = {}): Promise<Result<SessionChange, SessionProblem>> {
    if (this.store === undefined) return problem("no_database", "There is no database.");
    if (this.messages.length === 0) return problem("nothing", "There is nothing to branch from.");
    const from = this.sessionId;
    const copy = await this.store.branchSession(from, title === undefined ? {} : { title });
    this.sessionId = copy.id;
    return ok({ from, to: copy.id, title: copy.title, messages: copy.messageIds.length });
  }

  async storeUnsaved(): Promise<boolean> {
    return true;
  }

  async undo(turns = 1): Promise<Result<UndoReport, SessionProblem>> {
    const undone = await this.store?.undoTurns(this.sessionId, turns);
    if (!undone) return problem("nothing", "There is nothing to take back.");
    this.messages.splice(this.messages.length - undone.rewound_count);
    return ok({ turns: undone.turns_undone, messages: undone.rewound_count, text: undone.target_text });
  }

  async compress(command?: CompressCommand): Promise<CompressReport> {
    this.compressions.push(command);
    const feedback = {
      noop: false,
      headline: "Compacted 6 messages to 3.",
      token_line: "Fewer.",
      note: null,
    };
    return { kind: "compacted", feedback, notices: [], sessionId: this.sessionId, ...this.compressReport };
  }

  async switchModel(selection: ModelSelection): Promise<Result<ModelIdentity, SessionProblem>> {
    this.selections.push(selection);
    if (selection.model === "nobody") return problem("refused", "There is no such model.");
    const {
      model = this.model.model,
      provider = this.model.provider,
      baseUrl = this.model.baseUrl,
    } = selection;
    this.model = { ...this.model, model, provider, baseUrl };
    return ok(this.model);
  }

  noteMemoryWrite(write: CommittedWrite, origin?: string): void {
    this.mirrored.push({ write, origin });
  }

  async status(): Promise<AgentStatus> {
    return {
      session_id: this.sessionId,
      title: await this.title(),
      model: this.model.model,
      provider: this.model.provider,
      turns: 2,
      messages: this.messages.length,
      context: {
        used_tokens: 8_000,
        limit_tokens: 32_000,
        percent: 25,
        threshold_tokens: 27_200,
        engine: "compressor",
        compactions: 0,
      },
      memory: { memory: { used: 1_100, limit: 2_200 }, user: null, provider: null },
      usage: NO_USAGE,
      api_calls: 0,
      cost_usd: null,
      caching: { enabled: false, ttl: "5m" },
      savings: null,
      ...this.given,
    };
  }
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
  const agent = new FakeAgent(home);
  const store = await openSessionStore({ path: join(home, "state.db") });
  onTestFinished(() => store.close());
  agent.store = store;
  agent.memory = await agent.opened.administrator.curated();
  const config = change(unwrapped(await loadConfig(home)));
  agent.opened = openHome({ home, config });
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

function problem(kind: SessionProblem["kind"], message: string): Result<never, SessionProblem> {
  return err({ kind, message });
}

function unwrapped<T>(result: Result<T, { readonly message: string }>): T {
  if (result.ok) return result.value;
  throw new Error(result.error.message);
}
