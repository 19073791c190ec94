// Everything that is written to Honcho is an item of the outbox: a finished turn with its messages, files from before Honcho, and mirrored
// entries as conclusions about the user. Honcho has no idempotency keys, so a repeated delivery first looks for what an earlier one has stored.
import { setTimeout as sleep } from "node:timers/promises";
import { memoriesDirectory, userMemoriesDirectory } from "@hermes-memory/core/internal/home";
import type { HttpFailure } from "../kit/http.ts";
import { fieldsOf, recordsOf, textIn } from "../kit/networked/answers.ts";
import type { ConnectionContext, Entries, QueuedEntry, Turn } from "../kit/networked/service.ts";
import type { Batch, Delivery, NewItem, OutboxItem } from "../kit/outbox/outbox.ts";
import { type Peers, priorFiles, type ReadySession, viewOf } from "./session.ts";
import type { HonchoSettings } from "./settings.ts";
import { chunked } from "./texts.ts";
import { conclusionText, type HonchoWire, MESSAGES_PER_POST, OLD_API, type View } from "./wire.ts";

/** An ordinary turn has two messages. */
export const TURNS_PER_BATCH = MESSAGES_PER_POST / 2;
/** How far behind messages of others a repeated delivery looks for its own, in pages of 100. */
const TAIL_PAGES = 2;
/** From this age on a message is sent with the time of its turn; else the server's clock decides. */
const LATE_MS = 60_000;
/** The target of a mirror that says that a file was uploaded. */
const UPLOADED = "file";
/** Before a repeated delivery looks: the request of a process that was killed may still be on its way to the server. */
const ARRIVAL_MS = 1_000;
/** Marks our messages at the server. */
const OUTBOX_KEY = "hermes_outbox";

type Kind = "turn" | "upload";

export type WriteDeps = {
  readonly settings: HonchoSettings;
  readonly context: ConnectionContext;
  readonly wire: HonchoWire;
  readonly peers: Peers;
  /** Starts the session with this name, once. */
  readonly ready: (session: string, signal: AbortSignal) => Promise<ReadySession>;
  /** A session or peer is gone at the server: the next attempt creates it again. */
  readonly forgetSessions: () => void;
};

export class HonchoWrites {
  readonly #deps: WriteDeps;
  #mayMigrate = true;

  constructor(deps: WriteDeps) {
    this.#deps = deps;
  }

  /** After everything of the user was erased. */
  stopMigrating(): void {
    this.#mayMigrate = false;
  }

  turnItems({ sessionId, user, assistant, at, number }: Turn, session: string): readonly NewItem[] {
    const { savesMessages, messageMaxChars, writeFrequency } = this.#deps.settings;
    if (!savesMessages) return [];
    const isDue = writeFrequency.kind === "every" && number % writeFrequency.turns === 0;
    if (isDue) this.#deps.context.outbox.release(sessionId);
    const isHeld = writeFrequency.kind === "session" || (writeFrequency.kind === "every" && !isDue);
    const parts = [
      ...chunked(user, messageMaxChars).map((content) => ({ peer: this.#deps.peers.user, content })),
      ...chunked(assistant, messageMaxChars).map((content) => ({ peer: this.#deps.peers.ai, content })),
    ];
    if (parts.length === 0) return [];
    return [{ kind: "turn" satisfies Kind, sessionId, isHeld, body: { session, at, messages: parts } }];
  }

  readonly entries: Pick<Entries, "add" | "remove" | "find"> = {
    add: async (entry, signal) => {
      await arrival(entry, signal);
      const { wire, context } = this.#deps;
      const { target, text, attempt } = entry;
      const [known] = context.outbox.mirrors.find(target, text);
      if (known !== undefined) return known.remoteId;
      const [stored] = attempt > 1 ? await this.entries.find(entry, signal) : [];
      if (stored !== undefined) return stored;
      const session = textIn(entry.body.session);
      return await wire.addConclusion(await this.#viewOfUser(session, signal), text, { session, signal });
    },
    remove: async (id, signal) => void (await this.#deps.wire.deleteConclusion(id, signal)),
    find: async ({ text, body }, signal) => {
      const view = await this.#viewOfUser(textIn(body.session), signal);
      const conclusions = await this.#deps.wire.conclusions(view, signal);
      return conclusions.filter(({ content }) => content === conclusionText(text)).map(({ id }) => id);
    },
  };

  deliveryOf({ kind, message }: HttpFailure): Delivery | undefined {
    if (kind === "not-found") this.#deps.forgetSessions();
    // The user has to change the server or its address; until then nothing is given up.
    return message === OLD_API ? { kind: "blocked", reason: OLD_API } : undefined;
  }

  async deliver(batch: Batch, signal: AbortSignal): Promise<undefined> {
    await arrival(batch, signal);
    if (batch.kind === "upload") return await this.#upload(batch, signal);
    if (batch.kind !== "turn") throw new Error(`Honcho has no item of the kind '${batch.kind}'.`);
    for (const [name, items] of Map.groupBy(batch.items, (each) => textIn(fieldsOf(each.body).session)))
      await this.#postMessages(name, items, batch, signal);
  }

  async #postMessages(
    session: string,
    items: readonly OutboxItem[],
    batch: Batch,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#deps.ready(session, signal);
    const messages = items.flatMap((item) => this.#messagesOf(item, batch));
    const known = await this.#delivered(session, batch, messages.length, signal);
    const missing = messages.filter(({ metadata }) => !known.has(metadata[OUTBOX_KEY]));
    for (let start = 0; start < missing.length; start += MESSAGES_PER_POST)
      await this.#deps.wire.addMessages(session, missing.slice(start, start + MESSAGES_PER_POST), signal);
  }

  #messagesOf(item: OutboxItem, batch: Batch) {
    const { messages, at } = fieldsOf(item.body);
    const startMs = Date.parse(textIn(at));
    const isLate = this.#deps.context.clock.now().getTime() - startMs > LATE_MS;
    return recordsOf(messages).map(({ peer, content }, index) => ({
      peer_id: textIn(peer),
      content: textIn(content),
      metadata: { [OUTBOX_KEY]: `${markOf(batch, item)}/${index}` },
      // A millisecond apart, so that a server that sorts by time keeps their order.
      ...(isLate ? { created_at: new Date(startMs + index).toISOString() } : {}),
    }));
  }

  /** Marks at the end of the session, if an earlier attempt may have stored something. */
  async #delivered(
    session: string,
    batch: Batch,
    count: number,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string | undefined>> {
    if (batch.attempt <= 1) return new Set();
    const pages = TAIL_PAGES + Math.ceil(count / MESSAGES_PER_POST);
    const tail = await this.#deps.wire.newestMessages(session, pages, signal);
    return new Set(tail.map(({ metadata }) => textIn(metadata[OUTBOX_KEY])));
  }

  /** Each file once for its peer, whatever sessions begin later: entries that are written from now on are mirrored. */
  async queuePriorFiles({ name, isEmpty }: ReadySession): Promise<void> {
    const { savesMessages, sessionStrategy, workspace, publicUrl } = this.#deps.settings;
    const { home, options, isWriting, outbox, log } = this.#deps.context;
    if (!isEmpty || !isWriting || !this.#mayMigrate || !savesMessages || sessionStrategy === "per-session")
      return;
    const ai = memoriesDirectory(home);
    const { platform = "cli", user_id = "" } = options;
    const user = user_id === "" ? ai : userMemoriesDirectory(home, platform, user_id);
    for (const { file, upload } of priorFiles({ user, ai })) {
      const peer = this.#deps.peers[file.peer];
      const key = `${publicUrl} ${workspace} ${peer} ${file.name}`;
      if (outbox.mirrors.find(UPLOADED, key).length > 0) continue;
      const added = await outbox.add({
        kind: "upload" satisfies Kind,
        sessionId: "",
        dedupeKey: `honcho-upload ${key}`,
        body: { session: name, peer, key, ...upload },
      });
      if (added.kind === "full" || added.kind === "failed")
        log.warn(`${file.name} was not sent to Honcho. ${added.reason}`, { provider: "honcho" });
    }
  }

  async #upload(batch: Batch, signal: AbortSignal): Promise<undefined> {
    const [item] = batch.items;
    const { peer, key, fileName, text, metadata, ...body } = fieldsOf(item.body);
    const session = textIn(body.session);
    const mark = markOf(batch, item);
    const upload = {
      peerId: textIn(peer),
      fileName: textIn(fileName),
      text: textIn(text),
      metadata: { ...fieldsOf(metadata), [OUTBOX_KEY]: mark },
    };
    if (!(await this.#delivered(session, batch, 1, signal)).has(mark))
      await this.#deps.wire.upload(session, upload, signal);
    this.#deps.context.outbox.mirrors.add({ target: UPLOADED, text: textIn(key), remoteId: session });
  }

  async #viewOfUser(session: string, signal: AbortSignal): Promise<View> {
    const { peers, ready } = this.#deps;
    return viewOf(peers.user, peers, (await ready(session, signal)).observation);
  }
}

async function arrival(
  { attempt }: Pick<Batch | QueuedEntry, "attempt">,
  signal: AbortSignal,
): Promise<void> {
  if (attempt > 1) await sleep(ARRIVAL_MS, undefined, { signal });
}

function markOf(batch: Batch, item: OutboxItem): string {
  return `${batch.id}/${item.id}`;
}
