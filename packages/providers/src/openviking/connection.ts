// One agent's connection to OpenViking: what a turn and a curated write put into the outbox, how they are sent, recall, and checks.
import { pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { ForgetReport, SessionSwitchOptions } from "@hermes-memory/core/internal/providers";
import { fieldsOf, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import { uploadPolicy } from "../kit/networked/local-files.ts";
import type {
  Connection,
  ConnectionContext,
  MirrorWrite,
  Probe,
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
import type { VikingSettings } from "./settings.ts";
import { findBody, vikingTools } from "./tools.ts";

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
  readonly probe: Probe;
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
    this.probe = this.#makeProbe();
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

  mirrorItems({ action, target, text, oldText }: MirrorWrite): readonly NewItem[] {
    const old = oldText ?? "";
    const items: NewItem[] = [];
    if (action !== "add" && old !== "" && old !== text)
      items.push({ kind: "mirror-remove", sessionId: "", body: { target, text: old } });
    if (action !== "remove" && text !== "")
      items.push({ kind: "mirror-add", sessionId: "", body: { target, text } });
    return items;
  }

  batchLimit(kind: string): number {
    return kind === "turn" ? MAX_MESSAGES / 2 : 1;
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<undefined> {
    const body = fieldsOf(batch.items[0].body);
    const mirrored = { target: textIn(body.target), text: textIn(body.text) };
    switch (batch.kind) {
      case "turn":
        return await this.#sendTurns(batch, signal);
      case "commit":
        return await this.#sendCommit(batch, signal);
      case "mirror-add":
        return await this.#addMirror(mirrored, signal);
      case "mirror-remove":
        return await this.#removeMirror(mirrored, signal);
      default:
        throw new Error(`A write of the unknown kind ${batch.kind} is in the outbox`);
    }
  }

  async #sendTurns({ id, sessionId, items, attempt }: Batch, signal: AbortSignal): Promise<undefined> {
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
  async #sendCommit({ sessionId, items: [own] }: Batch, signal: AbortSignal): Promise<undefined> {
    const later = this.#outbox.items().filter((item) => item.sessionId === sessionId && item.id > own.id);
    if (later.some(({ kind }) => kind === "commit")) return;
    const turn = later.findLast(({ kind }) => kind === "turn");
    if (turn === undefined) return void (await this.#sessions.commit(sessionId, signal));
    this.#outbox.add({
      kind: "commit",
      sessionId,
      body: {},
      dedupeKey: `commit:${sessionId}:behind:${turn.id}:${turn.createdAt}`,
    });
  }

  async #addMirror(mirrored: Mirror, signal: AbortSignal): Promise<undefined> {
    const { uri } = await this.#memories.write(placeOf(mirrored), { signal });
    const known = this.#outbox.mirrors.find(mirrored.target, mirrored.text);
    if (!known.some(({ remoteId, text }) => remoteId === uri && text === mirrored.text))
      this.#outbox.mirrors.add({ ...mirrored, remoteId: uri });
  }

  /** The entry with this text, or the only one that contains it. */
  async #removeMirror(mirrored: Mirror, signal: AbortSignal): Promise<undefined> {
    const found = this.#outbox.mirrors.find(mirrored.target, mirrored.text);
    const same = found.filter(({ text }) => text === mirrored.text);
    const removed = same.length > 0 ? same : found.length === 1 ? found : [];
    for (const each of removed) {
      await this.#memories.remove(each.remoteId, signal);
      this.#outbox.mirrors.remove(each);
    }
    if (removed.length === 0) await this.#memories.removePlace(placeOf(mirrored), signal);
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

  #makeProbe(): Probe {
    const place = (text: string): MemoryPlace => ({ folder: DEFAULT_FOLDER, origin: "mirror", text });
    return {
      write: async (text, signal) =>
        (await this.#memories.write(place(text), { signal, isIndexed: true })).uri,
      finds: async (text, signal) => {
        const { text: recalled } = await this.recall(text, {
          sessionId: "",
          turn: 0,
          shownInTurn: 0,
          signal,
        });
        return recalled.includes(await this.#memories.uriOf(place(text)));
      },
      remove: async (uri, signal) => void (await this.#memories.remove(uri, signal)),
      indexesLater: "the server indexes new memories in the background",
    };
  }
}

type Mirror = { readonly target: string; readonly text: string };

function placeOf({ target, text }: Mirror): MemoryPlace {
  return { folder: target === "memory" ? "patterns" : DEFAULT_FOLDER, origin: "mirror", text };
}
