// OpenViking: a context database with a file tree of memories, resources and skills (`viking://`). Servers 0.3 and 0.4 speak different
// wires; `server.ts` finds out which.
import { join } from "node:path";
import { pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type {
  ForgetReport,
  MemoryProvider,
  SessionSwitchOptions,
} from "@hermes-memory/core/internal/providers";
import { fieldsOf, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import { uploadPolicy } from "../kit/networked/local-files.ts";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type {
  Connection,
  ConnectionContext,
  Entries,
  Entry,
  RecallAsk,
  Recalled,
  ServiceTool,
  Turn,
} from "../kit/networked/service.ts";
import type { Batch, NewItem, OutboxLane } from "../kit/outbox/outbox.ts";
import { modeSentence } from "../kit/provider-mode.ts";
import { eraseEverything, forgetText } from "./erase.ts";
import { DEFAULT_FOLDER, type MemoryPlace, VikingMemories } from "./memories.ts";
import { VikingServer } from "./server.ts";
import { MAX_MESSAGES, type Message, VikingSessions } from "./sessions.ts";
import { missingFor, SETTINGS_FILE, VIKING_SETTINGS, type VikingSettings } from "./settings.ts";
import { findBody, vikingTools } from "./tools.ts";

export function createOpenVikingProvider({
  times,
  ...options
}: NetworkedOptions & { readonly times?: VikingTimes }): MemoryProvider {
  return new NetworkedProvider<VikingSettings>(
    {
      name: "openviking",
      label: "OpenViking",
      settings: VIKING_SETTINGS,
      missing: missingFor,
      connect: (settings, context) => new VikingConnection(settings, context, times),
      backupPaths: (home) => [join(home, SETTINGS_FILE)],
    },
    options,
  );
}

// ---- The connection ----
// One agent's connection to OpenViking: what a turn and a curated write put into the outbox, how they are sent, recall, and checks.

export type VikingTimes = {
  /** Between two checks while the server cannot be reached. */
  readonly recheckMs?: number;
  /** Before messages that may have arrived are looked for. */
  readonly settleMs?: number;
};

const RECHECK_MS = 30_000;
const RECALL_LIMIT = 10;
/** Where memories of other users are among them and left out. */
const RECALL_LIMIT_OF_ALL = 50;
const MOST_OF_A_KIND = 3;
/** Embedding models take no longer texts. */
const MAX_QUERY_CHARS = 4_000;

export class VikingConnection implements Connection {
  readonly tools: readonly ServiceTool[];
  readonly entries: Entries;
  readonly turnsAtOnce = MAX_MESSAGES / 2;
  readonly #settings: VikingSettings;
  readonly #outbox: OutboxLane;
  readonly #server: VikingServer;
  readonly #memories: VikingMemories;
  readonly #sessions: VikingSessions;
  #sessionId: string;
  /** Sessions with turns since their last commit was queued: how many, and when the last was. */
  readonly #uncommitted = new Map<string, { readonly turns: number; readonly at: string }>();

  constructor(
    settings: VikingSettings,
    context: ConnectionContext,
    { recheckMs = RECHECK_MS, settleMs }: VikingTimes = {},
  ) {
    this.#settings = settings;
    this.#outbox = context.outbox;
    this.#sessionId = context.sessionId;
    this.#server = new VikingServer(settings, context);
    this.#memories = new VikingMemories(this.#server, settings);
    this.#sessions = new VikingSessions(this.#server, settleMs);
    this.tools = vikingTools({
      server: this.#server,
      memories: this.#memories,
      sessionId: () => (this.#sessions.isKnown(this.#sessionId) ? this.#sessionId : undefined),
      uploads: uploadPolicy(context, settings.uploadRoots),
      isApart: context.user !== undefined,
    });
    this.entries = this.#makeEntries();
    context.inBackground("Looking for the OpenViking server", (signal) =>
      this.#server.watch(signal, recheckMs),
    );
  }

  promptBlock(): string {
    const { mode } = this.#settings;
    const lines = [
      "# OpenViking Knowledge Base",
      `Active. Endpoint: ${this.#server.endpoint}`,
      modeSentence(mode),
    ];
    if (mode !== "context")
      lines.push(
        "viking_search finds memories and resources, viking_read opens a viking:// URI (abstract, overview or full), viking_browse lists folders,",
        "viking_remember stores a fact, viking_add_resource adds a web page, repository, file or folder.",
      );
    return lines.join("\n");
  }

  // ---- Recall ----

  async recall(query: string, { signal }: RecallAsk): Promise<Recalled> {
    const { wire, showsAll } = await this.#server.info();
    const isVisible = await this.#server.visibility();
    const found = fieldsOf(
      await this.#server.call({
        method: "POST",
        path: "/api/v1/search/find",
        json: findBody(wire, {
          query: takeCodePoints(query, MAX_QUERY_CHARS),
          limit: showsAll ? RECALL_LIMIT_OF_ALL : RECALL_LIMIT,
        }),
        isRepeatable: true,
        signal,
      }),
    );
    const lines = [found.memories, found.resources].flatMap((group) =>
      recordsOf(group)
        .filter(({ abstract, uri }) => pyStrip(textIn(abstract)) !== "" && isVisible(textIn(uri)))
        .slice(0, MOST_OF_A_KIND)
        .map(
          ({ score, abstract, uri }) =>
            `- [${(numberIn(score) ?? 0).toFixed(2)}] ${pyStrip(textIn(abstract))} (${textIn(uri)})`,
        ),
    );
    const text = lines.length === 0 ? "" : ["## OpenViking Context", ...lines].join("\n");
    return { text, count: lines.length };
  }

  // ---- Writes ----

  /**
   * Beside the first turn after a commit waits the next commit, held back until the conversation ends: when this process is killed, the
   * next one sends it.
   */
  turnItems({ sessionId, user, assistant, at }: Turn): readonly NewItem[] {
    if (user === "") return [];
    const { turns = 0 } = this.#uncommitted.get(sessionId) ?? {};
    this.#uncommitted.set(sessionId, { turns: turns + 1, at });
    const turn: NewItem = { kind: "turn", sessionId, body: { user, assistant } };
    return turns > 0 ? [turn] : [turn, { kind: "commit", sessionId, body: {}, isHeld: true }];
  }

  endItems(sessionId: string): readonly NewItem[] {
    const uncommitted = this.#uncommitted.get(sessionId);
    if (uncommitted === undefined) return [];
    this.#uncommitted.delete(sessionId);
    const { turns, at } = uncommitted;
    return [{ kind: "commit", sessionId, body: {}, dedupeKey: `commit:${sessionId}:${turns}:${at}` }];
  }

  onSessionSwitch(newSessionId: string, _options: SessionSwitchOptions): void {
    this.#sessionId = newSessionId;
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<undefined> {
    if (batch.kind === "turn") await this.#sendTurns(batch, signal);
    else if (batch.kind === "commit") await this.#sendCommit(batch, signal);
    else throw new Error(`A write of the unknown kind ${batch.kind} is in the outbox`);
  }

  async #sendTurns({ id, sessionId, items, attempt }: Batch, signal: AbortSignal): Promise<void> {
    const { wire } = await this.#server.info();
    const { agent, isPeerMemory } = this.#settings;
    const peer = isPeerMemory && wire === "0.4" ? { peer_id: agent } : {};
    const messages = items.flatMap(({ body }): readonly Message[] => {
      const { user, assistant } = fieldsOf(body);
      const both: readonly Message[] = [
        { role: "user", content: textIn(user), ...peer },
        { role: "assistant", content: textIn(assistant), ...peer },
      ];
      return both.filter(({ content }) => content !== "");
    });
    await this.#sessions.post(sessionId, messages, { id, isRepeated: attempt > 1, signal });
  }

  /** One commit for all turns: it waits for turns that are behind it in the outbox, and leaves the work to a later commit. */
  async #sendCommit({ sessionId, items: [own] }: Batch, signal: AbortSignal): Promise<void> {
    const later = this.#outbox.items().filter((item) => item.sessionId === sessionId && item.id > own.id);
    if (later.some(({ kind }) => kind === "commit")) return;
    const turn = later.findLast(({ kind }) => kind === "turn");
    if (turn === undefined) return await this.#sessions.commit(sessionId, signal);
    await this.#outbox.add({
      kind: "commit",
      sessionId,
      body: {},
      dedupeKey: `commit:${sessionId}:behind:${turn.id}:${turn.createdAt}`,
    });
  }

  #makeEntries(): Entries {
    return {
      add: async (entry, signal) => (await this.#memories.write(placeOf(entry), signal)).uri,
      remove: async (uri, signal) => await this.#memories.remove(uri, signal),
      find: async (entry) => await this.#memories.urisOf(placeOf(entry)),
      recalls: async (text, signal) => {
        const ask = { sessionId: "", turn: 0, shownInTurn: 0, signal };
        const { text: recalled } = await this.recall(text, ask);
        const [uri = ""] = await this.#memories.urisOf(placeOf({ target: "memory", text }));
        return recalled.includes(uri);
      },
      appearsLater: "the server indexes new memories in the background",
    };
  }

  // ---- Erasing and checks ----

  forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    return forgetText(this.#parts(), text, isDryRun, signal);
  }

  eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    return eraseEverything(this.#parts(), isDryRun, signal);
  }

  #parts() {
    return { server: this.#server, memories: this.#memories, sessions: this.#sessions };
  }

  /** `/health` takes any key, so a list of the root is asked for as well. */
  readonly check = async (signal: AbortSignal): Promise<string> => {
    const { version, authMode, user } = await this.#server.info({ ignoresBreaker: true });
    await this.#server.call({
      method: "GET",
      path: "/api/v1/fs/ls",
      query: { uri: "viking://" },
      ignoresBreaker: true,
      signal,
    });
    const named = version === "" ? "OpenViking of an unknown version" : `OpenViking ${version}`;
    return `${named} answers at ${this.#server.endpoint} for user ${user}${authMode === "" ? "" : ` (${authMode})`}`;
  };
}

function placeOf({ target, text }: Entry): MemoryPlace {
  return { folder: target === "memory" ? "patterns" : DEFAULT_FOLDER, origin: "mirror", text };
}
