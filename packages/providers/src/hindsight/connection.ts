// One agent's connection to Hindsight. A finished turn is appended to the document of its session. The outbox knows what was sent, so a
// turn is sent once; on a server that cannot append, each delivery is a document of its own.
import { randomUUID } from "node:crypto";
import { pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { ForgetReport, SessionSwitchOptions } from "@hermes-memory/core/internal/providers";
import { textIn } from "../kit/networked/answers.ts";
import type {
  Connection,
  ConnectionContext,
  Entries,
  RecallAsk,
  Recalled,
  ServiceTool,
  Turn,
} from "../kit/networked/service.ts";
import type { Batch, Delivery, NewItem } from "../kit/outbox/outbox.ts";
import { modeSentence } from "../kit/provider-mode.ts";
import { HindsightApi } from "./api.ts";
import { bankIdOf, isPerSession } from "./bank-id.ts";
import { type DaemonTimes, EmbeddedDaemon, throughDaemon } from "./daemon.ts";
import { baseUrlOf, FACT_TYPES, type HindsightSettings } from "./settings.ts";
import { hindsightTools } from "./tools.ts";
import { metadataOf, parseTurnBody, spokenText, turnBody } from "./turns.ts";
import { type EraseTimes, eraseBank, forgetText, storedEntry, Writes } from "./writes.ts";

/** For tests. */
export type HindsightTimes = { readonly daemon?: Partial<DaemonTimes>; readonly erase?: EraseTimes };

const NOTHING: Recalled = { text: "", count: 0 };
/** Turns in one request: what gathers during an outage needs few requests, and none of them is very long. */
const TURNS_AT_ONCE = 20;
/** Turns of a session that an undo can reach. */
const UNDO_DEPTH = 50;

export class HindsightConnection implements Connection {
  readonly tools: readonly ServiceTool[];
  readonly turnsAtOnce = TURNS_AT_ONCE;
  readonly #settings: HindsightSettings;
  readonly #context: ConnectionContext;
  readonly #api: HindsightApi;
  readonly #writes: Writes;
  readonly #eraseTimes: EraseTimes | undefined;
  #sessionId: string;
  /** By session. */
  readonly #parents = new Map<string, string>();
  /** Turns that wait until `retain_every_n_turns` are there, by session. */
  readonly #held = new Map<string, number>();
  /** Keys of the turns of this process, newest last, by session. */
  readonly #turns = new Map<string, string[]>();
  #turnIndex = 0;
  /** A turn began and was not stored yet: an undo takes back that one. */
  #isTurnOpen = false;

  constructor(settings: HindsightSettings, context: ConnectionContext, times: HindsightTimes = {}) {
    this.#settings = settings;
    this.#context = context;
    this.#eraseTimes = times.erase;
    this.#sessionId = context.sessionId;
    this.#parents.set(context.sessionId, context.options.parent_session_id ?? "");
    this.#api = connect(settings, context, times.daemon);
    this.#writes = new Writes(this.#api, settings, context.log);
    this.tools = hindsightTools({
      retain: (memory, signal) => this.#retainByTool(memory, signal),
      recall: (query, signal) => this.#recallTexts(this.#bank, query, signal),
      reflect: (query, signal) => this.#reflect(this.#bank, query, signal),
    });
  }

  promptBlock(): string {
    const { mode, budget } = this.#settings;
    const tools =
      "hindsight_recall searches it, hindsight_reflect answers a question from many memories, hindsight_retain stores something.";
    return [
      "# Hindsight Memory",
      `Long-term memory across sessions (mode ${mode}, bank ${this.#bank}, budget ${budget}).`,
      modeSentence(mode),
      ...(mode === "context" ? [] : [tools]),
    ].join("\n");
  }

  // ---- Recall ----

  async recall(query: string, { sessionId, signal }: RecallAsk): Promise<Recalled> {
    const { isRecalling, recallMaxInputChars, recallMethod, preamble } = this.#settings;
    const asked = recallMaxInputChars > 0 ? takeCodePoints(query, recallMaxInputChars) : query;
    if (!isRecalling) return NOTHING;
    const bank = this.#bankOf(sessionId);
    const texts =
      recallMethod === "reflect"
        ? [await this.#reflect(bank, asked, signal)].filter((text) => text !== "")
        : await this.#recallTexts(bank, asked, signal);
    if (texts.length === 0) return NOTHING;
    const lines = recallMethod === "reflect" ? texts : texts.map((text) => `- ${text}`);
    return { text: `${preamble}\n\n${lines.join("\n")}`, count: texts.length };
  }

  async #recallTexts(bank: string, query: string, signal: AbortSignal): Promise<readonly string[]> {
    const { budget, recallMaxTokens, recallTypes, recallTags, recallTagsMatch } = this.#settings;
    const hasTags = recallTags.length > 0;
    const facts = await this.#api.recall(
      bank,
      {
        query,
        types: recallTypes,
        budget,
        max_tokens: recallMaxTokens,
        tags: hasTags ? recallTags : undefined,
        tags_match: hasTags ? recallTagsMatch : undefined,
      },
      signal,
    );
    return facts.map(({ text }) => pyStrip(spokenText(textIn(text)))).filter((text) => text !== "");
  }

  async #reflect(bank: string, query: string, signal: AbortSignal): Promise<string> {
    return pyStrip(await this.#api.reflect(bank, { query, budget: this.#settings.budget }, signal));
  }

  // ---- Turns ----

  onTurnStart(): void {
    this.#isTurnOpen = true;
  }

  turnItems(turn: Turn): readonly NewItem[] {
    this.#isTurnOpen = false;
    const { isRetaining, retainEvery } = this.#settings;
    if (!isRetaining) return [];
    const { sessionId } = turn;
    this.#turnIndex = turn.number;
    const key = randomUUID();
    this.#turns.set(sessionId, [...(this.#turns.get(sessionId) ?? []), key].slice(-UNDO_DEPTH));
    const body = turnBody(turn, {
      settings: this.#settings,
      options: this.#context.options,
      bank: this.#bankOf(sessionId),
      key,
      parent: this.#parents.get(sessionId) ?? "",
    });
    const count = (this.#held.get(sessionId) ?? 0) + 1;
    const isDue = count >= retainEvery;
    this.#held.set(sessionId, isDue ? 0 : count);
    if (isDue && retainEvery > 1) this.#context.outbox.release(sessionId);
    return [{ kind: "turn", sessionId, body, isHeld: !isDue }];
  }

  /** Nothing closes a conversation at the server; the base has released its turns. */
  endItems(sessionId: string): readonly NewItem[] {
    this.#held.delete(sessionId);
    return [];
  }

  onSessionSwitch(newSessionId: string, options: SessionSwitchOptions, oldSessionId: string): void {
    if (options.rewound === true) {
      this.#withdrawLast(newSessionId, options.undone_turns ?? 1);
      return;
    }
    const parent = options.parent_session_id || (this.#parents.get(oldSessionId) ?? "");
    this.#parents.set(newSessionId, parent === newSessionId ? "" : parent);
    this.#sessionId = newSessionId;
    this.#turnIndex = 0;
    this.#isTurnOpen = false;
  }

  /** A turn that was sent stays: the server cannot cut a document. */
  #withdrawLast(sessionId: string, undone: number): void {
    const stored = undone - (this.#isTurnOpen ? 1 : 0);
    this.#isTurnOpen = false;
    const keys = this.#turns.get(sessionId) ?? [];
    const last = keys.splice(Math.max(0, keys.length - stored));
    if (last.length === 0 || !this.#context.isWriting) return;
    const withdrawn = this.#context.outbox.withdraw(
      ({ kind, body }) => kind === "turn" && last.includes(parseTurnBody(body).key),
    );
    const held = this.#held.get(sessionId) ?? 0;
    this.#held.set(sessionId, Math.max(0, held - withdrawn));
  }

  // ---- Curated entries ----

  readonly entries: Entries = {
    about: () => ({ sessionId: "", body: { bank: this.#bank } }),
    add: (entry, signal) => this.#writes.addEntry(entry, signal),
    remove: (stored, signal) => this.#writes.removeEntry(stored, signal),
    find: async (entry) => [storedEntry(textIn(entry.body.bank), entry)],
    // The server's model may have reworded the text; the number in it stays.
    recalls: async (text, signal) => {
      const { budget, recallMaxTokens } = this.#settings;
      const ask = { query: text, types: FACT_TYPES, budget, max_tokens: recallMaxTokens };
      const id = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(text)?.[0] ?? text;
      return (await this.#api.recall(this.#bank, ask, signal)).some((fact) => textIn(fact.text).includes(id));
    },
    appearsLater: "Hindsight extracts facts in the background.",
  };

  async deliver(batch: Batch, signal: AbortSignal): Promise<Delivery> {
    if (batch.kind === "turn") return await this.#writes.sendTurns(batch, signal);
    throw new Error(`Hindsight does not know the kind '${batch.kind}'.`);
  }

  async #retainByTool(
    memory: { readonly content: string; readonly context: string; readonly tags: readonly string[] },
    signal: AbortSignal,
  ): Promise<void> {
    const { retainTags, retainSource, retainContext } = this.#settings;
    const at = this.#context.clock.now().toISOString();
    const about = { at, sessionId: this.#sessionId, messageCount: 1, turnIndex: this.#turnIndex };
    const item = {
      content: memory.content,
      context: memory.context || retainContext,
      metadata: metadataOf(retainSource, this.#context.options, about),
      tags: [...new Set([...retainTags, ...memory.tags])],
    };
    await this.#writes.retain(this.#bank, item, randomUUID(), signal);
  }

  // ---- Checks ----

  async check(signal: AbortSignal): Promise<string> {
    await this.#api.checkKey(signal);
    const { version } = await this.#api.server(signal);
    return `Hindsight ${version ?? "(version unknown)"} answers at ${this.#api.url}; the bank is ${this.#bank}.`;
  }

  // ---- Erasing ----

  async forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const report = await forgetText(this.#place(), text, { isDryRun, signal });
    return this.#withOtherSessions(report);
  }

  async eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const report = await eraseBank(this.#place(), { isDryRun, signal });
    if (!isDryRun) this.#writes.forgetMission(this.#bank);
    return this.#withOtherSessions(report);
  }

  #place() {
    return { api: this.#api, bank: this.#bank, times: this.#eraseTimes };
  }

  #withOtherSessions(report: ForgetReport): ForgetReport {
    if (!isPerSession(this.#settings)) return report;
    const others = `Each session has a bank of its own (bank_id_template), and only ${this.#bank} was searched: delete the others in Hindsight.`;
    const remaining = report.remaining === undefined ? others : `${report.remaining} ${others}`;
    return { ...report, remaining };
  }

  // ---- Small parts ----

  get #bank(): string {
    return this.#bankOf(this.#sessionId);
  }

  #bankOf(session: string): string {
    const { options, user } = this.#context;
    return bankIdOf(this.#settings, {
      profile: options.agent_identity ?? "",
      workspace: options.agent_workspace ?? "hermes",
      platform: options.platform ?? "cli",
      session,
      user,
    });
  }
}

function connect(
  settings: HindsightSettings,
  context: ConnectionContext,
  times: Partial<DaemonTimes> | undefined,
): HindsightApi {
  const { deployment, apiKey, timeoutS, embedded } = settings;
  const timeoutMs = timeoutS * 1_000;
  const { log, options, isWriting, inBackground } = context;
  const onOld = () =>
    log.warn("This Hindsight server cannot append to a document, so every delivery becomes a document.");
  if (deployment !== "local_embedded") {
    const headers = (): Record<string, string> =>
      apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` };
    const http = context.http({ baseUrl: baseUrlOf(settings), headers, timeoutMs });
    return new HindsightApi(http, timeoutMs, onOld);
  }
  const { agent_context = "primary", platform = "cli" } = options;
  const isLooking = !isWriting && agent_context === "primary" && platform !== "cron";
  const daemon = new EmbeddedDaemon({ settings: embedded, context, mayStart: !isLooking, times });
  if (!isLooking)
    inBackground("Starting the Hindsight daemon", async (signal) => {
      const started = await daemon.ready(signal);
      if (!started.ok) throw new Error(started.error);
    });
  const http = context.http({ baseUrl: daemon.url, headers: () => ({}), timeoutMs });
  return new HindsightApi(throughDaemon(http, daemon, timeoutMs), timeoutMs, onOld);
}
