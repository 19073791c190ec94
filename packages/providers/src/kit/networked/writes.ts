// From the outbox to the server: queueing, one delivery, and why a write is not stored yet.
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { MemoryWriteReport } from "@hermes-memory/core/internal/providers";
import { describeForeign } from "@hermes-memory/core/internal/providers";
import { deliveryOf, ServiceError } from "../http.ts";
import type { Batch, Delivery, NewItem, OutboxLane } from "../outbox/outbox.ts";
import type { Link } from "./link.ts";
import type { CommonSettings, Connection } from "./service.ts";

/** The ids of the queued items. Throws when the outbox takes one neither on disk nor in memory. */
export function queueAll(outbox: OutboxLane, items: readonly NewItem[]): readonly number[] {
  const ids: number[] = [];
  for (const item of items) {
    const added = outbox.add(item);
    if (added.kind === "queued") ids.push(added.id);
    else if (added.kind !== "known") throw new HermesError(`outbox-${added.kind}`, added.reason);
  }
  return ids;
}

/** A batch that is refused because of the settings is sent again at once if these have changed. */
export async function deliverBatch<S extends CommonSettings>(
  link: Link<S>,
  batch: Batch,
  signal: AbortSignal,
): Promise<Delivery> {
  const used = link.connection;
  const delivery = await deliverOnce(used, batch, signal);
  if (delivery.kind !== "blocked" || !link.replaces(used)) return delivery;
  return await deliverOnce(link.connection, batch, signal);
}

async function deliverOnce(connection: Connection, batch: Batch, signal: AbortSignal): Promise<Delivery> {
  try {
    return (await connection.deliver(batch, signal)) ?? { kind: "delivered" };
  } catch (cause) {
    if (cause instanceof ServiceError) return deliveryOf(cause.failure);
    return { kind: "refused", reason: `It could not be sent: ${describeForeign(cause)}.` };
  }
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
