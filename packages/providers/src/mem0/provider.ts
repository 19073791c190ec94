// Mem0 as a memory provider: the Mem0 Platform, or a Mem0 server that people host themselves.
import { pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import {
  type ForgetReport,
  type MemoryProvider,
  readBoolean,
  readNumber,
} from "@hermes-memory/core/internal/providers";
import { pause } from "../kit/deadline.ts";
import { deliveryOf, type HttpFailure, ServiceError } from "../kit/http.ts";
import { eraseListed, inParallel, reportOf } from "../kit/networked/erasing.ts";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type {
  Connection,
  ConnectionContext,
  Entries,
  RecallAsk,
  Recalled,
  ServiceTool,
  Turn,
} from "../kit/networked/service.ts";
import { fitting, requiredText, shortened, tool } from "../kit/networked/tools.ts";
import type { Batch, Delivery, NewItem } from "../kit/outbox/outbox.ts";
import { hasTools, modeSentence } from "../kit/provider-mode.ts";
import {
  authHeaders,
  baseUrlOf,
  MEM0_SETTINGS,
  type Mem0Settings,
  missingSetting,
  type Owner,
  ownerOf,
} from "./settings.ts";
import {
  type Added,
  type Filter,
  type Listing,
  type Mem0Api,
  type Memory,
  type Message,
  type NewMemory,
  PlatformApi,
  type Search,
  SelfHostedApi,
} from "./wire.ts";

export function createMem0Provider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider<Mem0Settings>(
    {
      name: "mem0",
      label: "Mem0",
      settings: MEM0_SETTINGS,
      missing: missingSetting,
      connect: (settings, context) => new Mem0Connection(settings, context),
    },
    options,
  );
}

// ---- The connection ----
// One agent's connection to Mem0: what a turn and a curated entry become there, recall, and erasing.
//
// Mem0 has no idempotency key. Every queued write therefore carries the id of its batch in the metadata of the memories it makes; before
// a repeated attempt, Mem0 is asked whether it has memories with this id.

/** Longest text of one message, in characters. */
const MESSAGE_CHARS = 100_000;
/** Longest query, in characters; embedding models read about 8,000 tokens. */
const QUERY_CHARS = 10_000;
const RECALLED = 5;
const PROFILE = { pageSize: 100, pages: 10 };
/** 200 is the platform's longest page. */
const EVERYTHING = { pageSize: 200, pages: 500, isStrict: true };

/** Metadata key: the id of the batch that made a memory. */
const BATCH_MARK = "hermes_batch";
const MIRRORED = { source: "builtin_memory" };

/** Extraction takes Mem0 a few seconds: when a batch is looked for, in milliseconds after each other. */
const LOOKS_MS = [0, 1_000, 2_000];
/** How long a write of one text waits for Mem0 to finish in the background. */
const EVENT = { waitMs: 3_000, pauseMs: 300 };
export class Mem0Connection implements Connection {
  readonly tools: readonly ServiceTool[];
  readonly entries: Entries;
  readonly #settings: Mem0Settings;
  readonly #owner: Owner;
  readonly #api: Mem0Api;
  /** What may be recalled. */
  readonly #readable: Filter;
  /** What belongs to this user and can be erased. */
  readonly #own: Filter;

  constructor(settings: Mem0Settings, { http, user }: Pick<ConnectionContext, "http" | "user">) {
    const client = http({
      baseUrl: baseUrlOf(settings),
      headers: () => authHeaders(settings),
      timeoutMs: settings.timeoutS * 1_000,
    });
    this.#settings = settings;
    this.#api = settings.edition === "oss" ? new SelfHostedApi(client) : new PlatformApi(client);
    this.#owner = ownerOf(settings, user);
    const { userId, agentId, isAgentOwn } = this.#owner;
    this.#own = isAgentOwn ? { userId, agentId } : { userId };
    this.#readable = settings.readScope === "user_or_agent" ? this.#own : { userId };
    this.tools = mem0Tools(this);
    this.entries = this.#makeEntries();
  }

  promptBlock(): string {
    const { mode } = this.#settings;
    return [
      "# Mem0 Memory",
      `Active for the user ${JSON.stringify(this.#owner.userId)}. ${modeSentence(mode)}`,
      ...(hasTools(mode)
        ? [
            "mem0_search finds memories by meaning, mem0_conclude stores a fact word for word, mem0_profile gives an overview of everything stored.",
          ]
        : []),
    ].join("\n");
  }

  // ---- Reading ----

  async recall(query: string, { signal }: RecallAsk): Promise<Recalled> {
    const search = { topK: RECALLED, isReranked: this.#settings.isReranking };
    const lines = (await this.search(query, search, signal))
      .filter(({ text }) => text !== "")
      .map(({ text }) => `- ${text.replaceAll("\n", "\n  ")}`);
    if (lines.length === 0) return { text: "", count: 0 };
    return { text: ["## Mem0 Memory", ...lines].join("\n"), count: lines.length };
  }

  async search(query: string, search: Search, signal: AbortSignal): Promise<readonly Memory[]> {
    return await this.#api.search(takeCodePoints(query, QUERY_CHARS), this.#readable, search, signal);
  }

  async profile(signal: AbortSignal): Promise<Listing> {
    return await this.#api.list(this.#readable, PROFILE, signal);
  }

  // ---- Writing ----

  turnItems({ sessionId, user, assistant }: Turn): readonly NewItem[] {
    const said: readonly Message[] = [
      { role: "user", content: takeCodePoints(user, MESSAGE_CHARS) },
      { role: "assistant", content: takeCodePoints(assistant, MESSAGE_CHARS) },
    ];
    const messages = said.filter(({ content }) => content !== "");
    return [{ kind: "turn", sessionId, body: { messages } }];
  }

  #makeEntries(): Entries {
    return {
      add: async ({ target, text, id, attempt }, signal) => {
        const memory = { ...verbatim(text), metadata: { ...MIRRORED, target } };
        await this.#settled(await this.#addOnce({ id, attempt }, memory, signal), signal);
        return "";
      },
      remove: async (id, signal) => await this.#api.remove(id, signal),
      find: async ({ target, text }, signal) => {
        const marked = await this.#marked({ ...MIRRORED, target }, signal);
        return marked.filter((entry) => pyStrip(entry.text) === text).map(({ id }) => id);
      },
      recalls: async (text, signal) => {
        const found = await this.search(text, { topK: RECALLED, isReranked: false }, signal);
        return found.some((memory) => memory.text === text);
      },
      ...(this.#settings.edition === "platform" ? { appearsLater: "Mem0 stores in the background." } : {}),
    };
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<undefined> {
    if (batch.kind !== "turn") throw new Error(`Mem0 has no use for a write of the kind '${batch.kind}'.`);
    const { messages } = batch.items[0].body as Pick<NewMemory, "messages">;
    await this.#addOnce(batch, { messages }, signal);
  }

  deliveryOf(failure: HttpFailure): Delivery {
    const delivery: Delivery = isWaitingForUser(failure)
      ? { kind: "blocked", reason: failure.message }
      : deliveryOf(failure);
    const isCounted = delivery.kind !== "later" && delivery.kind !== "blocked";
    return isCounted ? delivery : { ...delivery, isUnsent: !failure.mayHaveHappened };
  }

  /** Undefined: an earlier attempt has arrived. */
  async #addOnce(
    { id, attempt }: Pick<Batch, "id" | "attempt">,
    memory: Pick<NewMemory, "messages" | "isVerbatim" | "metadata">,
    signal: AbortSignal,
  ): Promise<Added | undefined> {
    if (attempt > 1 && (await this.#hasArrived(id, signal))) return undefined;
    const metadata = { ...memory.metadata, [BATCH_MARK]: id };
    return await this.#api.add({ ...this.#ids(), ...memory, metadata }, signal);
  }

  async #hasArrived(batchId: string, signal: AbortSignal): Promise<boolean> {
    for (const ms of LOOKS_MS) {
      await pause(ms, signal);
      if ((await this.#marked({ [BATCH_MARK]: batchId }, signal)).length > 0) return true;
    }
    return false;
  }

  /** Stores a text word for word. */
  async conclude(text: string, signal: AbortSignal): Promise<Added["state"]> {
    return await this.#settled(await this.#api.add({ ...this.#ids(), ...verbatim(text) }, signal), signal);
  }

  /** Waits a moment until Mem0 has stored it. Throws when Mem0 reports that it could not. */
  async #settled(added: Added | undefined, signal: AbortSignal): Promise<Added["state"]> {
    if (added === undefined || added.state === "stored") return "stored";
    const until = performance.now() + EVENT.waitMs;
    while (added.eventId !== "" && performance.now() < until && !signal.aborted) {
      const state = await this.#api.eventState(added.eventId, signal);
      if (state === "stored") return "stored";
      if (state === "unknown") break;
      if (state === "failed") {
        const message = "Mem0 accepted the text and then could not store it.";
        throw new ServiceError({ kind: "refused", message, status: 200, mayHaveHappened: false });
      }
      await pause(EVENT.pauseMs, signal);
    }
    return "queued";
  }

  /** Memories of this user, or of its agent, with these values in their metadata. */
  async #marked(marks: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly Memory[]> {
    const { userId, agentId } = this.#owner;
    const filter = { userId, agentId, marks };
    try {
      return (await this.#api.list(filter, EVERYTHING, signal)).memories;
    } catch (cause) {
      if (!(cause instanceof ServiceError) || cause.failure.kind !== "refused") throw cause;
      // The server may not know filters by metadata.
      const { memories } = await this.#api.list({ userId, agentId }, EVERYTHING, signal);
      return memories.filter(({ metadata }) =>
        Object.entries(marks).every(([key, value]) => metadata[key] === value),
      );
    }
  }

  #ids(): Pick<NewMemory, "userId" | "agentId"> {
    const { userId, agentId } = this.#owner;
    return { userId, agentId };
  }

  // ---- Checks ----

  async check(signal: AbortSignal): Promise<string> {
    return await this.#api.check(signal);
  }

  // ---- Erasing ----

  async forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    return await this.#erase((memory) => memory.text.includes(text), isDryRun, signal);
  }

  async eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const { removeAllOf } = this.#api;
    if (isDryRun || removeAllOf === undefined) return await this.#erase(() => true, isDryRun, signal);
    const { memories, isWhole } = await this.#api.list(this.#own, EVERYTHING, signal);
    if (memories.length > 0) await removeAllOf(this.#owner.userId, signal);
    const ofAgent = memories.filter(({ userId }) => userId === undefined);
    await inParallel(ofAgent, ({ id }) => this.#api.remove(id, signal));
    return this.#report(memories.length, isWhole);
  }

  async #erase(
    isChosen: (memory: { readonly text: string }) => boolean,
    isDryRun: boolean,
    signal: AbortSignal,
  ) {
    const { erased, isWhole } = await eraseListed(isChosen, isDryRun, {
      list: async () => {
        const { memories: found, isWhole } = await this.#api.list(this.#own, EVERYTHING, signal);
        return { found, isWhole };
      },
      remove: (id) => this.#api.remove(id, signal),
    });
    return this.#report(erased, isWhole);
  }

  #report(erased: number, isWhole: boolean): ForgetReport {
    const { agentId, isAgentOwn } = this.#owner;
    return reportOf(erased, [
      !isWhole && "Mem0 holds more memories than could be listed; run it again for the rest.",
      !isAgentOwn &&
        this.#settings.edition !== "oss" &&
        `Facts that Mem0 took from the assistant's replies belong to the agent '${agentId}', which all users share with user_scope: id; they were not looked at.`,
    ]);
  }
}

/** A wrong address, or a used-up plan: what waits is kept until the user has corrected it. */
function isWaitingForUser({ kind, status, detail }: HttpFailure): boolean {
  return kind === "not-found" || (status === 413 && /quota|limit|plan|usage/i.test(detail));
}

function verbatim(text: string): Pick<NewMemory, "messages" | "isVerbatim"> {
  const content = takeCodePoints(text, MESSAGE_CHARS);
  return { messages: [{ role: "user", content }], isVerbatim: true };
}

// ---- Tools ----
// The tools `mem0_profile`, `mem0_search` and `mem0_conclude`: schemas, arguments, answers.

const TOP_K = { standard: 10, min: 1, max: 50 };
/** Longest text of one memory, in characters. */
const MEMORY_CHARS = 4_000;

function mem0Tools(memory: Mem0Connection): readonly ServiceTool[] {
  return [
    tool({
      name: "mem0_profile",
      description:
        "List everything that Mem0 has stored about the user: preferences, facts, project context. Fast, without reranking. Use it at the start of a conversation.",
      failure: "Failed to fetch profile",
      run: async (_, signal) => {
        const { memories, isWhole } = await memory.profile(signal);
        const { shown, isCut } = shownOf(memories, ({ memory }) => memory);
        if (shown.length === 0) return { result: "No memories stored yet." };
        const truncated = isCut || !isWhole ? { truncated: true } : {};
        return { result: shown.join("\n"), count: shown.length, ...truncated };
      },
    }),
    tool({
      name: "mem0_search",
      description:
        "Search the user's memories by meaning. Returns facts, best match first. Set rerank for important queries where the order must be accurate.",
      properties: {
        query: { type: "string", description: "What to look for." },
        rerank: {
          type: "boolean",
          description: "Sort the matches again, more accurately and slower. Default: false.",
        },
        top_k: { type: "integer", description: "At most this many results. Default: 10, at most 50." },
      },
      required: ["query"],
      failure: "Search failed",
      run: async (args, signal) => {
        const query = requiredText(args, "query");
        const topK = Math.trunc(readNumber(args.top_k, TOP_K.standard, TOP_K));
        const search = { topK, isReranked: readBoolean(args.rerank, false) };
        const { shown: results, isCut } = shownOf(await memory.search(query, search, signal), (hit) => hit);
        if (results.length === 0) return { result: "No relevant memories found." };
        return { results, count: results.length, ...(isCut ? { truncated: true } : {}) };
      },
    }),
    tool({
      name: "mem0_conclude",
      description:
        "Store one lasting fact about the user, word for word, without extraction by a model. Use it for preferences, corrections and decisions that the user stated explicitly.",
      properties: { conclusion: { type: "string", description: "The fact, as one full sentence." } },
      required: ["conclusion"],
      isWriting: true,
      failure: "Failed to store",
      run: async (args, signal) => {
        const state = await memory.conclude(requiredText(args, "conclusion"), signal);
        if (state === "stored") return { result: "Fact stored." };
        const result = "Fact queued: Mem0 accepted it and stores it in the background.";
        return { result, status: "PENDING" };
      },
    }),
  ];
}

/** Those with a text, as many as fit, each shortened. */
function shownOf<T>(
  memories: readonly Memory[],
  show: (hit: { readonly memory: string; readonly score: number }) => T,
): { readonly shown: readonly T[]; readonly isCut: boolean } {
  const filled = memories.filter(({ text }) => text !== "");
  const hits = filled.map(({ text, score }) => ({ memory: shortened(text, MEMORY_CHARS), score }));
  const shown = fitting(hits.map(show));
  const isCut = shown.length < hits.length || filled.some(({ text }, at) => hits[at]?.memory !== text);
  return { shown, isCut };
}
