// Supermemory as a memory provider: https://supermemory.ai or a server of one's own.
import { randomUUID } from "node:crypto";
import { randomHex, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { flattenContent, type OpenAiMessage } from "@hermes-memory/core/internal/message";
import type {
  ForgetReport,
  MemoryProvider,
  SessionSwitchOptions,
} from "@hermes-memory/core/internal/providers";
import { type HttpFailure, ServiceError } from "../kit/http.ts";
import { safeId } from "../kit/networked/identity.ts";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type {
  Connection,
  ConnectionContext,
  Entries,
  RecallAsk,
  Recalled,
  ServiceTool,
  Turn as SyncedTurn,
} from "../kit/networked/service.ts";
import type { Batch, Delivery, NewItem } from "../kit/outbox/outbox.ts";
import { hasTools, modeSentence } from "../kit/provider-mode.ts";
import {
  documentKey,
  eraseContainers,
  forgetText,
  type Metadata,
  metadataOf,
  SupermemoryApi,
} from "./api.ts";
import {
  addTurns,
  conversationId,
  createPartStore,
  isWorthSending,
  MAX_MESSAGE_CHARS,
  type Message,
  type Part,
  type PartStore,
  partsPath,
  type Turn,
  transcriptOf,
} from "./conversations.ts";
import { formatRecall, withoutInjected } from "./recall.ts";
import { type Containers, containersOf, SUPERMEMORY_SETTINGS, type SupermemorySettings } from "./settings.ts";
import { namesOf, toolsOf } from "./tools.ts";

export function createSupermemoryProvider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider<SupermemorySettings>(
    {
      name: "supermemory",
      label: "Supermemory",
      settings: SUPERMEMORY_SETTINGS,
      missing: ({ apiKey }) =>
        apiKey === ""
          ? "SUPERMEMORY_API_KEY is not set. Get a key at https://supermemory.ai and run 'hermes memory setup supermemory'."
          : undefined,
      connect: (settings, context) => new SupermemoryConnection(settings, context),
      backupPaths: (home) => [partsPath(home)],
    },
    options,
  );
}

// ---- The connection ----
// One agent's connection to Supermemory: recall from its profile call, turns as conversations, curated entries as documents.

const RECALL_MS = 3_000;
const RECALL_QUERY_CHARS = 200;
const NOTHING: Recalled = { text: "", count: 0 };
/** A document has an id of at most 100 letters, digits and some signs. */
const DOCUMENT_ID = { foreign: /[^A-Za-z0-9_.-]/, replacement: "_", maxChars: 100 } as const;

/** Kinds of outbox items. `session` is a conversation of which no turn was synced. */
type Kind = "turn" | "session";

export class SupermemoryConnection implements Connection {
  readonly tools: readonly ServiceTool[];
  readonly recallsEachTurn = true;
  readonly #settings: SupermemorySettings;
  readonly #context: ConnectionContext;
  readonly #containers: Containers;
  readonly #api: SupermemoryApi;
  readonly #parts: PartStore;
  /** Added to conversation ids where nothing is kept on disk: a later process must not overwrite what this one has sent. */
  readonly #suffix: string;
  /** Sessions with a synced turn, and how many of their turns are held. */
  readonly #held = new Map<string, number>();
  /** How the last part of a session that is over is marked. */
  readonly #endings = new Map<string, Metadata>();
  #hasTurnStarted = false;
  /** A turn was started and not synced: if it is undone, there is nothing to take back. */
  #isTurnOpen = false;
  #hasConversations = true;
  #isDescribed = false;

  constructor(settings: SupermemorySettings, context: ConnectionContext) {
    this.#settings = settings;
    this.#context = context;
    this.#containers = containersOf(settings, {
      identity: context.options.agent_identity || "default",
      user: context.user,
    });
    const http = context.http({
      baseUrl: settings.baseUrl,
      headers: () => ({ authorization: `Bearer ${settings.apiKey}`, "x-sm-source": "hermes" }),
      timeoutMs: settings.timeoutS * 1_000,
    });
    this.#api = new SupermemoryApi(http, settings.timeoutS * 1_000);
    const isDurable = context.options.outbox ?? true;
    this.#parts = createPartStore(isDurable ? context.home : undefined, () => context.clock.now().getTime());
    this.#suffix = isDurable ? "" : `-${randomHex(4)}`;
    this.tools = toolsOf({
      api: this.#api,
      settings,
      containers: this.#containers,
      now: () => context.clock.now(),
    });
  }

  get #tag(): string {
    return this.#containers.primary.tag;
  }

  promptBlock(): string {
    const { mode, toolNames, hasCustomContainers, containerInstructions } = this.#settings;
    const names = namesOf(this.#containers);
    const lines = ["# Supermemory", `Active. Container: ${names[0]}.`, modeSentence(mode)];
    if (hasTools(mode)) {
      const tools = this.tools.map(({ definition }) => definition.name);
      const aliases = toolNames === "both" ? " Names with '-' and '_' do the same." : "";
      lines.push(`Tools: ${tools.join(", ")}.${aliases}`);
      if (hasCustomContainers)
        lines.push(
          `Containers: ${names.join(", ")}. Pass one of them as container_tag to a tool; without it, ${names[0]} is used.`,
        );
      if (hasCustomContainers && containerInstructions !== "") lines.push(containerInstructions);
    }
    return lines.join("\n");
  }

  // ---- Recall ----

  onTurnStart(): void {
    this.#hasTurnStarted = true;
    this.#isTurnOpen = true;
  }

  async recall(query: string, { shownInTurn, signal }: RecallAsk): Promise<Recalled> {
    const { isRecalling, timeoutS, profileFrequency, maxResults, maxChars } = this.#settings;
    const asked = takeCodePoints(withoutInjected(query), RECALL_QUERY_CHARS);
    if (!isRecalling || asked === "") return NOTHING;
    // A user waits: a server that is down is asked once.
    const limits = { timeoutMs: Math.min(timeoutS * 1_000, RECALL_MS), isRepeatable: false };
    const profile = await this.#api.profile({ tag: this.#tag, query: asked, ...limits }, signal);
    const hasProfile = shownInTurn <= 1 || shownInTurn % profileFrequency === 0;
    return formatRecall(profile, { hasProfile, maxResults, maxChars, now: this.#context.clock.now() });
  }

  // ---- What goes into the outbox ----

  /** Turns are held until enough have come together; then the session's held turns go out before this one. */
  turnItems({ sessionId, user, assistant }: SyncedTurn): readonly NewItem[] {
    this.#isTurnOpen = false;
    if (!this.#settings.isCapturing) return [];
    const messages = toMessages([
      ["user", user],
      ["assistant", assistant],
    ]);
    if (messages.length === 0) return [];
    const held = this.#held.get(sessionId) ?? 0;
    const isHeld = held + 1 < this.#settings.captureTurns;
    this.#held.set(sessionId, isHeld ? held + 1 : 0);
    this.#endings.delete(sessionId);
    if (!isHeld) this.#context.outbox.release(sessionId);
    return [{ kind: "turn" satisfies Kind, sessionId, isHeld, body: { key: randomUUID(), messages } }];
  }

  /**
   * The synced turns are the conversation. Only where the caller never started a turn here, the messages are: after a started turn that was
   * not synced they may hold what was interrupted.
   */
  endItems(sessionId: string, messages: readonly OpenAiMessage[]): readonly NewItem[] {
    if (!this.#settings.isCapturing) return [];
    const wasSynced = this.#held.has(sessionId);
    this.#held.delete(sessionId);
    this.#endings.set(sessionId, {});
    if (wasSynced || this.#hasTurnStarted) return [];
    const said = toMessages(messages.map(({ role, content }) => [role, flattenContent(content)] as const));
    if (!isWorthSending(said)) return [];
    const dedupeKey = documentKey("session", this.#tag, JSON.stringify([sessionId, said]));
    return [
      { kind: "session" satisfies Kind, sessionId, dedupeKey, body: { key: dedupeKey, messages: said } },
    ];
  }

  onSessionSwitch(
    newSessionId: string,
    { reset, rewound }: SessionSwitchOptions,
    oldSessionId: string,
  ): void {
    if (rewound === true) this.#takeBackTurn(newSessionId);
    if (newSessionId === oldSessionId) return;
    this.#endings.set(oldSessionId, { partial: !reset });
    this.#endings.delete(newSessionId);
    this.#hasTurnStarted = false;
  }

  /** The last turn, if it still waits. */
  #takeBackTurn(sessionId: string): void {
    const { outbox, isWriting } = this.#context;
    const isOpen = this.#isTurnOpen;
    this.#isTurnOpen = false;
    if (isOpen || !isWriting) return;
    const last = outbox.items().findLast((item) => item.kind === "turn" && item.sessionId === sessionId);
    if (outbox.withdraw(({ id }) => id === last?.id) === 0) return;
    this.#held.set(sessionId, Math.max(0, (this.#held.get(sessionId) ?? 0) - 1));
  }

  get turnsAtOnce(): number {
    return this.#settings.captureTurns;
  }

  // ---- Delivery ----

  deliveryOf({ kind, message }: HttpFailure): Delivery | undefined {
    if (kind === "conflict") return { kind: "later", reason: message }; // the server is still working on the document
    return kind === "not-found" ? { kind: "blocked", reason: message } : undefined; // no such call: base_url has to be corrected
  }

  async deliver({ items, kind, sessionId }: Batch, signal: AbortSignal): Promise<Delivery | undefined> {
    if (!this.#settings.isCapturing) {
      this.#context.log.info("Turns that waited for Supermemory were discarded: auto_capture is off.", {
        turns: items.length,
      });
      return undefined;
    }
    const turns = items.map(({ body }) => body as Turn);
    let part: Part;
    try {
      part = this.#parts.read(this.#tag, sessionId);
    } catch (cause) {
      return laterBecause(cause);
    }
    if (kind === "session" && part.messages.length > 0) return undefined; // its turns were synced by another process
    const { posts, next } = addTurns(part, turns);
    for (const post of posts) if (isWorthSending(post.messages)) await this.#post(sessionId, post, signal);
    try {
      // After the post: a kill in between repeats it, which changes nothing at the server.
      if (posts.length > 0) this.#parts.write(this.#tag, sessionId, next);
    } catch (cause) {
      return laterBecause(cause);
    }
    return undefined;
  }

  async #post(sessionId: string, { number, messages }: Part, signal: AbortSignal): Promise<void> {
    const id = conversationId(sessionId + this.#suffix, number);
    const metadata = metadataOf({
      type: "full_session",
      session_id: sessionId,
      message_count: messages.length,
      ...(this.#endings.get(sessionId) ?? { partial: true }),
    });
    if (this.#hasConversations) {
      try {
        await this.#api.postConversation({ id, tag: this.#tag, messages, metadata }, signal);
        this.#describeContainer();
        return;
      } catch (cause) {
        if (!(cause instanceof ServiceError && cause.failure.kind === "not-found")) throw cause;
      }
    }
    await this.#addDocument(transcriptOf(messages), metadata, safeId(id, DOCUMENT_ID), signal);
    this.#hasConversations = false; // documents work: the server is there and has no conversations
  }

  /** A conversation cannot carry the entity context, so its container does. Once per process, after the container exists. */
  #describeContainer(): void {
    if (this.#isDescribed) return;
    this.#isDescribed = true;
    const { text, isOwn } = this.#settings.context;
    this.#context.inBackground("Setting the entity context of the container", async (signal) => {
      const container = await this.#api.container(this.#tag, signal);
      if (container === undefined) return; // a server without containers
      const isFree = container.entityContext === "";
      if (isFree || (isOwn && container.entityContext !== text))
        await this.#api.describeContainer(this.#tag, text, signal);
    });
  }

  async #addDocument(
    content: string,
    metadata: Metadata,
    customId: string,
    signal: AbortSignal,
  ): Promise<void> {
    const entityContext = this.#settings.context.text;
    await this.#api.addDocument({ content, tag: this.#tag, metadata, entityContext, customId }, signal);
  }

  readonly entries: Entries = {
    cleaned: withoutInjected,
    add: async ({ target, text }, signal) => {
      const metadata = metadataOf({ target, type: "explicit_memory" });
      await this.#addDocument(text, metadata, documentKey(target, this.#tag, text), signal);
      return "";
    },
    find: async ({ target, text }) => [documentKey(target, this.#tag, text)],
    remove: async (id, signal) => void (await this.#api.deleteDocument(id, signal)),
    recalls: async (text, signal) => {
      const hits = await this.#api.search(text, { tag: this.#tag, limit: 10, mode: "hybrid" }, signal);
      return hits.some((hit) => hit.text.includes(text));
    },
    appearsLater: "Supermemory works on new documents in the background, which can take a minute.",
  };

  // ---- Checks and erasing ----

  readonly check = async (signal: AbortSignal): Promise<string> => {
    await this.#api.profile({ tag: this.#tag }, signal);
    return `${this.#api.baseUrl} accepts the key; container ${this.#tag}`;
  };

  async forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    // First here: a running conversation must not bring the text back.
    if (!isDryRun) for (const tag of this.#tags()) this.#parts.forget(tag, text);
    return await forgetText(this.#api, this.#tags(), text, { isDryRun, signal });
  }

  async eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    if (!isDryRun) for (const tag of this.#tags()) this.#parts.erase(tag);
    return await eraseContainers(this.#api, this.#tags(), { isDryRun, signal });
  }

  #tags(): readonly string[] {
    const { primary, custom } = this.#containers;
    return [primary, ...custom].map(({ tag }) => tag);
  }
}

/** User and assistant only, cleaned and shortened, without empty ones. */
function toMessages(said: readonly (readonly [role: string, text: string])[]): readonly Message[] {
  return said.flatMap(([role, text]): Message[] => {
    if (role !== "user" && role !== "assistant") return [];
    const content = takeCodePoints(withoutInjected(text), MAX_MESSAGE_CHARS);
    return content === "" ? [] : [{ role, content }];
  });
}

/** The file can be repaired, so the turns wait for it. */
function laterBecause(cause: unknown): Delivery {
  return { kind: "later", reason: cause instanceof Error ? cause.message : String(cause) };
}
