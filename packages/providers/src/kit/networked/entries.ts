// From the outbox to the server: queueing, one delivery, curated entries, and why a write is not stored yet.
import { HermesError } from "@hermes-memory/core/internal/lib";
import { describeForeign, type MemoryWriteReport } from "@hermes-memory/core/internal/providers";
import { deliveryOf, ServiceError } from "../http.ts";
import type { Batch, Delivery, Mirrors, NewItem, OutboxLane } from "../outbox/outbox.ts";
import { fieldsOf, textIn } from "./answers.ts";
import type { Link } from "./link.ts";
import type { CommonSettings, Connection, Entries, Entry, QueuedEntry } from "./service.ts";

/** The ids of the queued items. Rejects when the outbox does not take one. */
export async function queueAll(outbox: OutboxLane, items: readonly NewItem[]): Promise<readonly number[]> {
  const ids: number[] = [];
  for (const item of items) {
    const added = await outbox.add(item);
    if (added.kind === "queued") ids.push(added.id);
    else if (added.kind !== "known") throw new HermesError(`outbox-${added.kind}`, added.reason);
  }
  return ids;
}

export type MirrorWrite = {
  readonly action: "add" | "replace" | "remove";
  readonly target: "memory" | "user";
  readonly text: string;
  /** Of `replace` and `remove`: the old entry, as far as it is known. */
  readonly oldText: string;
};

/** The old entry is removed first: the new one may contain its text. */
export function entryItems(
  { cleaned = (text) => text, about }: Entries,
  { action, target, text, oldText }: MirrorWrite,
): readonly NewItem[] {
  const item = (kind: string, entry: string): readonly NewItem[] => {
    const { sessionId = "", body } = about?.() ?? {};
    return entry === "" ? [] : [{ kind, sessionId, body: { ...body, target, text: entry } }];
  };
  const old = action === "add" ? "" : cleaned(oldText);
  return [...item("mirror-remove", old), ...(action === "remove" ? [] : item("mirror-add", cleaned(text)))];
}

// ---- Delivery ----

/** A batch that is refused because of the settings is sent again at once if these have changed. */
export async function deliverBatch<S extends CommonSettings>(
  link: Link<S>,
  mirrors: Mirrors,
  batch: Batch,
  signal: AbortSignal,
): Promise<Delivery> {
  const used = link.connection;
  const delivery = await deliverOnce(used, mirrors, batch, signal);
  if (delivery.kind !== "blocked" || !link.replaces(used)) return delivery;
  return await deliverOnce(link.connection, mirrors, batch, signal);
}

async function deliverOnce(
  connection: Connection,
  mirrors: Mirrors,
  batch: Batch,
  signal: AbortSignal,
): Promise<Delivery> {
  try {
    const isRemoved = batch.kind === "mirror-remove";
    if (!isRemoved && batch.kind !== "mirror-add")
      return (await connection.deliver(batch, signal)) ?? { kind: "delivered" };
    const work = isRemoved ? removeEntry : addEntry;
    await work(connection.entries, mirrors, entryIn(batch), signal);
    connection.onEntryChange?.(isRemoved);
    return { kind: "delivered" };
  } catch (cause) {
    if (!(cause instanceof ServiceError))
      return { kind: "refused", reason: `It could not be sent: ${describeForeign(cause)}.` };
    const { failure } = cause;
    const own = connection.deliveryOf?.(failure);
    if (own !== undefined) return own;
    // The server still works on what is to be removed.
    const isBusy = batch.kind === "mirror-remove" && failure.kind === "conflict";
    return isBusy && batch.attempt < PATIENT_ATTEMPTS
      ? { kind: "later", reason: failure.message, retryAfterMs: BUSY_MS }
      : deliveryOf(failure);
  }
}

/** Attempts for which a removal waits until the server has finished what it accepted before. */
const PATIENT_ATTEMPTS = 10;
const BUSY_MS = 2_000;

function entryIn({ id, attempt, sessionId, items: [item] }: Batch): QueuedEntry {
  const body = fieldsOf(item.body);
  return { target: textIn(body.target), text: textIn(body.text), id, attempt, sessionId, body };
}

async function addEntry(
  entries: Entries,
  mirrors: Mirrors,
  entry: QueuedEntry,
  signal: AbortSignal,
): Promise<void> {
  const remoteId = await entries.add(entry, signal);
  if (remoteId === "") return;
  const { target, text } = entry;
  for (const old of mirrors.find(target, text)) mirrors.remove(old);
  mirrors.add({ target, text, remoteId });
}

async function removeEntry(
  entries: Entries,
  mirrors: Mirrors,
  entry: QueuedEntry,
  signal: AbortSignal,
): Promise<void> {
  const known = mirrors.find(entry.target, entry.text);
  for (const mirrored of known) {
    await removeById(entries, mirrored.remoteId, entry, signal);
    mirrors.remove(mirrored);
  }
  if (known.length === 0) await removeById(entries, "", entry, signal);
}

/** Without an id, the entry is looked for. */
export async function removeById(
  entries: Entries,
  id: string,
  entry: QueuedEntry,
  signal: AbortSignal,
): Promise<void> {
  for (const each of id === "" ? await entries.find(entry, signal) : [id]) await entries.remove(each, signal);
}

/** An entry that did not come through the outbox. */
export function testEntry(entries: Entries, id: string, { target, text }: Entry): QueuedEntry {
  const { sessionId = "", body = {} } = entries.about?.() ?? {};
  return { target, text, id, sessionId, attempt: 1, body };
}

/** Where a curated write is after a flush: at the server, still queued, or refused. */
export function mirrorReport(label: string, outbox: OutboxLane, ids: readonly number[]): MemoryWriteReport {
  const places = ids.map((id) => outbox.where(id));
  if (places.every((place) => place === "gone")) return { stored: true };
  const dead = ids.find((_, at) => places[at] === "dead");
  const lastError = outbox.state().lastError?.message;
  if (dead === undefined)
    return { stored: false, queued: true, reason: lastError ?? `${label} has not answered yet.` };
  const answer = outbox.refusalOf(dead) ?? lastError ?? "";
  return {
    stored: false,
    reason: `${label} refused it: ${answer} 'hermes memory outbox list' shows it, 'hermes memory outbox retry' sends it again.`,
  };
}
