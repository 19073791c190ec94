// The agent: one conversation with a model, its tools and its memory. What a turn does is in turn/, what happens between
// sessions in session/; this class holds them together and keeps two turns from running at once.
import type { CompressCommand, EngineCommand } from "@hermes-memory/core/context";
import type { CommittedWrite, MemoryStore } from "@hermes-memory/core/curated";
import { describeCause, err, HermesError, ok, pyStrip, type Result } from "@hermes-memory/core/lib";
import type { MemoryUser, Person } from "@hermes-memory/core/memory";
import type { Message } from "@hermes-memory/core/message";
import { forgetHolder, type SessionStore } from "@hermes-memory/core/sessions";
import type { SkillStore } from "@hermes-memory/core/skills";
import type { ContextWindow, ModelIdentity, ModelSelection } from "../models/index.ts";
import type { AgentCore } from "./core.ts";
import type { EventListener } from "./events.ts";
import { mirrorWrite } from "./memory-mirror.ts";
import type { TurnResult } from "./result.ts";
import { Exclusive } from "./session/exclusive.ts";
import { closeSession } from "./session/leaving.ts";
import { agentStatus } from "./session/status.ts";
import { branchSession, resumeSession, startNewSession } from "./session/switching.ts";
import { undoTurns } from "./session/undo.ts";
import type {
  AgentStatus,
  AgentSurface,
  CompressChoices,
  CompressReport,
  RunOptions,
  SessionChange,
  SessionProblem,
  UndoReport,
  UserInput,
} from "./surface.ts";
import { compressNow } from "./turn/compress-now.ts";
import { runTurn } from "./turn/run-turn.ts";
import { TurnSteering } from "./turn/steering.ts";

/** What the agent opened and has to close, and what it can ask of whoever made it. */
export type AgentOwner = {
  readonly warnings: readonly string[];
  readonly engineCommands: readonly EngineCommand[];
  readonly skills: SkillStore;
  readonly openModel: (selection: ModelSelection) => Promise<Result<ModelIdentity, SessionProblem>>;
  /** In the background, after a turn; resolves when there is nothing more to do. */
  readonly afterTurn: (result: TurnResult) => Promise<void>;
  /** Breaks off what is still done in the background; resolves when that has ended. */
  readonly stopBackground: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** What runs, and a review, may take so long to come to an end when the agent closes. */
const CLOSING_MS = 5_000;
/** A title is worth less of the user's time. */
const TITLE_MS = 1_000;

export class Agent implements AgentSurface, AsyncDisposable {
  readonly #core: AgentCore;
  readonly #owner: AgentOwner;
  readonly #work = new Exclusive();
  readonly #background = new Set<Promise<void>>();
  #steering: TurnSteering | undefined;
  #compacting: AbortController | undefined;
  #review: PromiseWithResolvers<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(core: AgentCore, owner: AgentOwner) {
    this.#core = core;
    this.#owner = owner;
    core.listen(({ type }) => {
      if (type === "review-start") this.#review = Promise.withResolvers();
      if (type === "review-end") this.#review?.resolve();
    });
  }

  get home(): string {
    return this.#core.parts.home;
  }
  get platform(): string {
    return this.#core.parts.platform;
  }
  get sessionId(): string {
    return this.#core.sessionId;
  }
  get model(): ModelIdentity {
    return this.#core.model.identity;
  }
  get window(): ContextWindow {
    return this.#core.window;
  }
  get store(): SessionStore | undefined {
    return this.#core.parts.store;
  }
  get memory(): MemoryStore | undefined {
    return this.#core.parts.memory;
  }
  get skills(): SkillStore {
    return this.#owner.skills;
  }
  get person(): Person {
    return this.#core.parts.person;
  }

  get user(): MemoryUser | undefined {
    return this.#core.parts.user;
  }
  get userId(): string | undefined {
    return this.user?.userId;
  }
  get engineCommands(): readonly EngineCommand[] {
    return this.#owner.engineCommands;
  }
  get messages(): readonly Message[] {
    return this.#core.parts.transcript.messages;
  }
  get isRunning(): boolean {
    return this.#steering !== undefined;
  }
  get warnings(): readonly string[] {
    return this.#owner.warnings;
  }
  /** Names of the tools it has. */
  get toolNames(): readonly string[] {
    return this.#core.table.names;
  }
  /** Undefined before the first turn. */
  get systemPrompt(): string | undefined {
    return this.#core.parts.prompt.text;
  }

  /** Until the returned function is called. */
  onEvent(listener: EventListener): () => void {
    return this.#core.listen(listener);
  }

  run(input: UserInput, options: RunOptions = {}): Promise<TurnResult> {
    return this.#exclusive("run", async () => {
      if (typeof input === "string" ? pyStrip(input) === "" : input.length === 0)
        throw new HermesError("empty-message", "There is nothing to answer: the message is empty.");
      const steering = new TurnSteering(options.signal);
      this.#steering = steering;
      const stopListening = options.onEvent === undefined ? undefined : this.#core.listen(options.onEvent);
      try {
        const result = await runTurn(this.#core, { input, options, control: steering });
        this.#inBackground(this.#owner.afterTurn(result));
        return result;
      } finally {
        stopListening?.();
        steering.end();
        this.#steering = undefined;
      }
    });
  }

  interrupt(message?: string): void {
    this.#steering?.interrupt(message);
    this.#compacting?.abort(new DOMException("The compaction was stopped by the user.", "AbortError"));
  }

  steer(text: string): boolean {
    return this.#steering?.add(text) ?? false;
  }

  status(): Promise<AgentStatus> {
    return agentStatus(this.#core);
  }

  async title(): Promise<string | null> {
    const { store } = this.#core.parts;
    return this.#core.queuedTitle ?? (await store?.getSessionTitle(this.sessionId)) ?? null;
  }

  async setTitle(title: string | null): Promise<Result<string | null, SessionProblem>> {
    const { store } = this.#core.parts;
    const wanted = pyStrip(title ?? "") || null;
    if (store === undefined)
      return err({ kind: "no_database", message: "There is no session database to keep a title in." });
    try {
      // No event: whoever sets a title knows it.
      if (await store.setSessionTitle(this.sessionId, wanted))
        return ok(await store.getSessionTitle(this.sessionId));
      this.#core.queuedTitle = wanted ?? undefined; // the session has no row before its first turn
      return ok(wanted);
    } catch (cause) {
      return err({ kind: "refused", message: describeCause(cause) });
    }
  }

  newSession(options: { readonly title?: string } = {}): Promise<Result<SessionChange, SessionProblem>> {
    return this.#changeSession("newSession", () => startNewSession(this.#core, options.title));
  }

  resume(target: string): Promise<Result<SessionChange, SessionProblem>> {
    return this.#changeSession("resume", () => resumeSession(this.#core, target));
  }

  branch(options: { readonly title?: string } = {}): Promise<Result<SessionChange, SessionProblem>> {
    return this.#changeSession("branch", () => branchSession(this.#core, options.title));
  }

  undo(turns = 1): Promise<Result<UndoReport, SessionProblem>> {
    return this.#changeSession("undo", () => undoTurns(this.#core, turns));
  }

  compress(
    command: CompressCommand = { kind: "full" },
    choices: CompressChoices = {},
  ): Promise<CompressReport> {
    return this.#exclusive("compress", async () => {
      const compacting = new AbortController();
      this.#compacting = compacting;
      try {
        return await compressNow(this.#core, command, choices, compacting.signal);
      } finally {
        this.#compacting = undefined;
      }
    });
  }

  switchModel(selection: ModelSelection): Promise<Result<ModelIdentity, SessionProblem>> {
    return this.#exclusive("switchModel", () => this.#owner.openModel(selection));
  }

  noteMemoryWrite(write: CommittedWrite, origin?: string): void {
    mirrorWrite(this.#core, write, { origin });
  }

  close(options: { readonly deleteSession?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#close(options.deleteSession ?? false);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(isDeleted: boolean): Promise<void> {
    this.interrupt();
    const { log, holder } = this.#core.parts;
    try {
      await within(CLOSING_MS, this.#work.end); // it still stores what it was interrupted in
      await within(TITLE_MS, Promise.allSettled([...this.#background]));
      await within(CLOSING_MS - TITLE_MS, this.#review?.promise);
      await within(CLOSING_MS, this.#owner.stopBackground());
      await closeSession(this.#core, isDeleted);
    } catch (cause) {
      log.warn("Closing the agent met a problem", { cause });
    } finally {
      forgetHolder(holder);
      await this.#owner.close();
    }
  }

  async #exclusive<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined)
      throw new HermesError("agent-closed", `The agent is closed, so '${what}' cannot be done any more.`);
    return this.#work.run(what, work);
  }

  /** What the database refuses, such as a title that is taken, is for the user. */
  #changeSession<T>(
    what: string,
    work: () => Promise<Result<T, SessionProblem>>,
  ): Promise<Result<T, SessionProblem>> {
    return this.#exclusive(what, async () => {
      try {
        return await work();
      } catch (cause) {
        this.#core.parts.log.warn(`The session was not changed: ${describeCause(cause)}`, { cause });
        return err({ kind: "refused", message: describeCause(cause) });
      }
    });
  }

  #inBackground(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch((cause: unknown) => this.#core.parts.log.warn("Work after a turn failed", { cause }))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }
}

async function within(limitMs: number, work: Promise<unknown> | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
