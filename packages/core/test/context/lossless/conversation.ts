// A conversation on a real database, kept the way an agent keeps it: messages are stored first, the compacted list goes to a
// continuation of the session, and a resumed session knows only the database.
import { expect } from "vitest";
import { withoutHandoff } from "../../../src/context/compressor/handoff.ts";
import { isUsersOwn } from "../../../src/context/compressor/plan.ts";
import type { CompressOutcome } from "../../../src/context/engine.ts";
import { toMessage } from "../../../src/context/lossless/leaves.ts";
import { LosslessEngine, type LosslessEngineOptions } from "../../../src/context/lossless/lossless-engine.ts";
import { listedNodes } from "../../../src/context/lossless/overview.ts";
import { type Message, withMeta } from "../../../src/message/index.ts";
import {
  type MessageRow,
  openSessionStore,
  type SessionStore,
  type SummaryNode,
} from "../../../src/sessions/index.ts";
import { newPath } from "../../fakes/session-index.ts";
import { expectPairs } from "../valid-list.ts";

/** Small enough that a few hundred messages give many parts. */
export const SMALL = {
  contextLength: 8_000,
  leafTokens: 400,
  leafSummaryTokens: 60,
  fanout: 3,
  maxDepth: 4,
} as const;

export type EngineSetting = Omit<LosslessEngineOptions, "store" | "sessionId">;

export class Conversation {
  readonly store: SessionStore;
  readonly setting: EngineSetting;
  engine: LosslessEngine;
  sessionId: string;
  live: readonly Message[] = [];
  /** Every row as it was stored, by its id. */
  readonly written = new Map<number, MessageRow>();

  private constructor(store: SessionStore, sessionId: string, setting: EngineSetting) {
    this.store = store;
    this.sessionId = sessionId;
    this.setting = setting;
    this.engine = this.#newEngine();
  }

  static async begin(
    setting: EngineSetting,
    { store, id = "root", userId }: { store?: SessionStore; id?: string; userId?: string } = {},
  ): Promise<Conversation> {
    const opened = store ?? (await openSessionStore({ path: newPath() }));
    await opened.createSession(id, { source: "cli", ...(userId === undefined ? {} : { userId }) });
    return new Conversation(opened, id, setting);
  }

  /** Stores the messages and adds them to the list. */
  async say(messages: readonly Message[]): Promise<number[]> {
    const ids = await this.store.appendMany(this.sessionId, messages);
    this.live = [...this.live, ...messages.map((message, at) => withMeta(message, { rowId: ids[at] ?? 0 }))];
    for (const row of await this.store.getMessagesById(ids)) this.written.set(row.id, row);
    return ids;
  }

  /** Compacts and, if that changed the list, continues in a new session. */
  async compact(options: Parameters<LosslessEngine["compress"]>[1] = {}): Promise<CompressOutcome> {
    const outcome = await this.engine.compress(this.live, options);
    expectPairs(outcome.messages);
    this.#expectNewestUser(outcome);
    if (outcome.kind !== "compacted") return outcome;
    await this.#expectListed(outcome.summary ?? "");
    await this.rotate(outcome.messages);
    return outcome;
  }

  async rotate(messages: readonly Message[]): Promise<void> {
    const old = this.sessionId;
    const { id, messageIds } = await this.store.continueSession(old, { messages: messages });
    this.live = messages.map((message, at) => withMeta(message, { rowId: messageIds[at] ?? 0 }));
    this.sessionId = id;
    for (const row of await this.store.getMessagesById(messageIds)) this.written.set(row.id, row);
    this.engine.onSessionStart(id);
  }

  /** Another process takes over. */
  async resume(): Promise<void> {
    this.live = (await this.store.getMessages(this.sessionId)).map(toMessage);
    this.engine = this.#newEngine();
  }

  async branch(): Promise<void> {
    const { id } = await this.store.branchSession(this.sessionId);
    this.sessionId = id;
    for (const row of await this.store.getMessages(id)) this.written.set(row.id, row);
    await this.resume();
  }

  async tool(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<Record<string, unknown>> {
    return JSON.parse(await this.engine.handleToolCall(name, args, this.live)) as Record<string, unknown>;
  }

  /** Every message of the conversation is in the list or covered by one leaf; no message is covered twice. */
  async expectWhole(): Promise<void> {
    const sessions = await this.store.listContinued(this.sessionId);
    const nodes = await this.store.summaries.listSummaryNodes(sessions);
    const covered = nodes.filter(({ depth }) => depth === 0).flatMap(({ source_ids }) => source_ids);
    expect(covered.length, "messages covered twice").toBe(new Set(covered).size);
    const rows = (await Promise.all(sessions.map((id) => this.store.getMessages(id)))).flat();
    const keys = new Map(rows.map((row) => [row.id, row.origin_id ?? row.id]));
    const inList = new Set(this.live.flatMap(({ meta }) => keys.get(meta.rowId ?? -1) ?? []));
    const known = new Set<unknown>([...inList, ...covered]);
    const lost = [...new Set(keys.values())].filter((key) => !known.has(key));
    expect(lost, "messages in neither list nor leaf").toEqual([]);
    const children = nodes.filter(({ depth }) => depth > 0).flatMap(({ source_ids }) => source_ids);
    expect(children.length, "nodes with two parents").toBe(new Set(children).size);
  }

  async nodes(): Promise<readonly SummaryNode[]> {
    return this.store.summaries.listSummaryNodes(await this.store.listContinued(this.sessionId));
  }

  /** Every leaf returns its messages as they were stored, in order. */
  async expectReadable(): Promise<number> {
    const nodes = await this.nodes();
    const leaves = nodes.filter(({ depth }) => depth === 0);
    for (const leaf of leaves) {
      const rows = await this.engine.expand(leaf.node_id);
      expect(rows.map((row) => row.origin_id ?? row.id)).toEqual(leaf.source_ids);
      for (const row of rows) expect(row).toEqual(this.written.get(row.id));
    }
    return leaves.length;
  }

  #newEngine(): LosslessEngine {
    return new LosslessEngine({ ...this.setting, store: this.store, sessionId: this.sessionId });
  }

  /** The overview lists every node without a parent, so that each leaf can be reached from it. */
  async #expectListed(overview: string): Promise<void> {
    const nodes = await this.nodes();
    const children = new Set(nodes.filter(({ depth }) => depth > 0).flatMap(({ source_ids }) => source_ids));
    const tops = nodes.map(({ node_id }) => node_id).filter((id) => !children.has(id));
    expect([...listedNodes(overview)].sort()).toEqual(tops.sort());
  }

  #expectNewestUser({ messages }: CompressOutcome): void {
    const own = (message: Message | undefined) => message && withoutHandoff(message)?.content;
    const newest = this.live.findLast(isUsersOwn);
    if (newest === undefined) return;
    const kept = messages.find(({ meta }) => meta.rowId === newest.meta.rowId);
    expect(own(kept)).toEqual(own(newest));
  }
}
