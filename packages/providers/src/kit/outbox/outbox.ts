// Writes that wait for a memory server. A lane is opened by the provider that sends from it; `commands.ts` reads the file without one.
// While the file cannot be written, because another process writes, or the disk is full or read-only, new writes are kept in memory.
import { randomUUID } from "node:crypto";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { storageProblem } from "./database.ts";
import { Lane } from "./lane.ts";
import type {
  Added,
  Deliver,
  LaneOptions,
  LaneState,
  Mirrors,
  NewItem,
  OutboxItem,
  OutboxLane,
} from "./types.ts";

export { outboxPath } from "./database.ts";
export type {
  Batch,
  Deliver,
  Delivery,
  LaneOptions,
  Mirrored,
  Mirrors,
  NewItem,
  OutboxItem,
  OutboxLane,
} from "./types.ts";

/** How many writes are kept in memory at most, and how often it is tried to write them to the file. */
const MOST_KEPT = 1_000;
const TRY_MS = 250;

/** Opens no file: that is done by the first call that needs it. */
export function openLane(options: LaneOptions): OutboxLane {
  return options.isDurable ? new DurableLane(options) : new Lane(options);
}

/** A lane on disk, and one in memory for writes that the disk does not take now. Ids of the latter are negative outside of it. */
class DurableLane implements OutboxLane {
  readonly mirrors: Mirrors;
  readonly #options: LaneOptions;
  readonly #file: Lane;
  #kept: Lane | undefined;
  /** Ids in the file of writes that were kept in memory before. */
  readonly #moved = new Map<number, number>();
  #sending: { readonly deliver: Deliver; readonly batchLimit: (kind: string) => number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #problem: "busy" | "unwritable" = "busy";
  #hasWarned = false;
  #isClosed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#file = new Lane(options);
    this.mirrors = this.#file.mirrors;
  }

  add(item: NewItem): Added {
    if (this.#keptCount() > 0) return this.#keep(item); // after those that are kept already
    const added = this.#file.add(item);
    if (added.kind !== "failed" || added.problem === undefined) return added;
    this.#problem = added.problem;
    if (!this.#hasWarned && added.problem === "unwritable")
      this.#options.log.warn(
        `${added.reason}. It is kept in memory until the file can be written, and sent from there; what is left when the process ends is lost.`,
      );
    this.#hasWarned ||= added.problem === "unwritable";
    return this.#keep(item);
  }

  #keep(item: NewItem): Added {
    if (item.dedupeKey !== undefined && this.#file.knows(item.dedupeKey)) return { kind: "known" };
    const added = this.#spare().add(item);
    this.#timer ??= setInterval(() => this.#move(), TRY_MS).unref();
    return added.kind === "queued" ? { kind: "queued", id: -added.id } : added;
  }

  #spare(): Lane {
    if (this.#kept !== undefined) return this.#kept;
    const { maxItems } = this.#options;
    this.#kept = new Lane({
      ...this.#options,
      isDurable: false,
      databaseName: randomUUID(),
      maxItems: Math.min(maxItems, MOST_KEPT),
    });
    this.#startSpare();
    return this.#kept;
  }

  #startSpare(): void {
    if (this.#sending === undefined) return;
    const { deliver, batchLimit } = this.#sending;
    // A file that another process writes is free again soon, and what waits in it is older.
    this.#kept?.start(deliver, batchLimit, { isAllowed: () => this.#problem === "unwritable" });
  }

  #keptCount(): number {
    const state = this.#kept?.state();
    return state === undefined ? 0 : state.waiting + state.held;
  }

  /** Into the file, all or none. */
  #move(): void {
    const kept = this.#kept;
    if (kept === undefined || kept.isSending) return;
    try {
      const entries = kept.entries();
      if (entries.length > 0) {
        const added = this.#file.takeOver(entries);
        kept.discard(entries.map(({ id }) => id));
        for (const [at, { id }] of entries.entries()) this.#noteMoved(id, added[at]);
      }
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#problem = "busy";
      this.#hasWarned = false;
    } catch (cause) {
      this.#problem = storageProblem(cause) ?? "unwritable";
      this.#options.log.debug("Writes that are kept in memory could not be written to the outbox.", {
        reason: describeCause(cause),
      });
      if (this.#problem === "unwritable") kept.poke();
    }
  }

  #noteMoved(id: number, added: Added | undefined): void {
    if (added?.kind === "queued") this.#moved.set(id, added.id);
    if (added?.kind === "full") this.#options.log.warn(added.reason);
    const [oldest] = this.#moved.keys();
    if (this.#moved.size > MOST_KEPT && oldest !== undefined) this.#moved.delete(oldest);
  }

  release(sessionId?: string): void {
    this.#kept?.release(sessionId);
    this.#file.release(sessionId);
  }

  withdraw(select: (item: OutboxItem) => boolean): number {
    const kept = this.#kept?.withdraw((item) => select({ ...item, id: -item.id })) ?? 0;
    return kept + this.#file.withdraw(select);
  }

  items(): readonly OutboxItem[] {
    const kept = this.#kept?.items() ?? [];
    return [...this.#file.items(), ...kept.map((item) => ({ ...item, id: -item.id }))];
  }

  start(
    deliver: Deliver,
    batchLimit: (kind: string) => number,
    options?: { readonly isAskedFor?: boolean },
  ): void {
    if (this.#isClosed || this.#sending !== undefined) return;
    this.#sending = { deliver, batchLimit };
    this.#file.start(deliver, batchLimit, options);
    this.#startSpare();
  }

  retryNow(): void {
    this.#file.retryNow();
    this.#kept?.retryNow();
  }

  async flush(ms: number, signal?: AbortSignal): Promise<number> {
    this.#move();
    const kept = this.#problem === "unwritable" ? this.#kept : undefined;
    await Promise.all([this.#file.flush(ms, signal), kept?.flush(ms, signal)]);
    return this.state().waiting;
  }

  state(): LaneState {
    const file = this.#file.state();
    const kept = this.#kept?.state();
    if (kept === undefined) return file;
    return {
      ...file,
      waiting: file.waiting + kept.waiting,
      held: file.held + kept.held,
      dead: file.dead + kept.dead,
      refused: file.refused + kept.refused,
      lastError: file.lastError ?? kept.lastError,
      lastDeliveryAt: later(file.lastDeliveryAt, kept.lastDeliveryAt),
      blocked: file.blocked ?? kept.blocked,
    };
  }

  where(id: number): "waiting" | "dead" | "gone" {
    const [lane, own] = this.#find(id);
    return lane?.where(own) ?? "gone";
  }

  refusalOf(id: number): string | undefined {
    const [lane, own] = this.#find(id);
    return lane?.refusalOf(own);
  }

  #find(id: number): readonly [Lane | undefined, number] {
    if (id >= 0) return [this.#file, id];
    const moved = this.#moved.get(-id);
    return moved === undefined ? [this.#kept, -id] : [this.#file, moved];
  }

  forget(text: string, isDryRun: boolean): number {
    const kept = this.#kept?.forget(text, isDryRun) ?? 0;
    return kept + this.#file.forget(text, isDryRun);
  }

  eraseAll(isDryRun: boolean): number {
    const kept = this.#kept?.eraseAll(isDryRun) ?? 0;
    return kept + this.#file.eraseAll(isDryRun);
  }

  async erased(): Promise<void> {
    await Promise.all([this.#file.erased(), this.#kept?.erased()]);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#move();
    clearInterval(this.#timer);
    const left = this.#keptCount();
    if (left > 0)
      this.#options.log.warn(
        `${left} ${left === 1 ? "write" : "writes"} for ${this.#options.provider} could neither be written to the outbox nor sent, and ${left === 1 ? "is" : "are"} lost.`,
      );
    this.#kept?.close();
    this.#file.close();
  }
}

function later(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one > other ? one : other;
}
