// From the outbox to the server: queueing, one delivery, and why a write is not stored yet.
import { HermesError } from "../../../lib/index.ts";
import { describeForeign } from "../foreign-code.ts";
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

/** `dead`: the id of a write that the server refused for good. */
export function whyNotStored(label: string, outbox: OutboxLane, dead: number | undefined): string {
  const lastError = outbox.state().lastError?.message ?? "it has not answered yet";
  if (dead !== undefined)
    return `${label} refused it: ${outbox.refusalOf(dead) ?? lastError} 'hermes memory outbox list' shows it, 'hermes memory outbox retry' sends it again.`;
  return `It waits in the outbox for ${label} (${lastError}) and is sent as soon as possible; 'hermes memory outbox send' tries at once.`;
}
