// Which messages of a Claude Code file are not of its conversation: those that a rewind left behind, and those that it copies from an
// older session, as resuming, `/branch`, `--fork-session` and background forks do.
import { pathTo } from "../kit/message-tree.ts";
import type { Reading } from "../reader.ts";

type Named = { readonly id: string; readonly record: string; readonly call: string | undefined };

export class RecordTree {
  /** Of every record, in the order of the file. A parent may stand later in the file, or in another one. */
  readonly #parents = new Map<string, string | undefined>();
  /** The record of the last user or assistant line. */
  #leaf: string | undefined;
  readonly #named: Named[] = [];

  has(uuid: string): boolean {
    return this.#parents.has(uuid);
  }

  /** False when the file has given this record before; it is then left as it was. */
  add(uuid: string, parent: string | undefined, isTurn: boolean): boolean {
    if (this.#parents.has(uuid)) return false;
    this.#parents.set(uuid, parent);
    if (isTurn) this.#leaf = uuid;
    return true;
  }

  /** The message `id` comes from this record. A message with several records is named once for each. `call` is the record of the call that a tool result answers. */
  name(id: string, record: string, call?: string): void {
    this.#named.push({ id, record, call });
  }

  /**
   * Ids of messages that do not lead to the last record. Empty when the file has several trees: then nobody can tell which of them was
   * left. A branch that was still written to after the active one began belongs to a second terminal and stays active.
   */
  inactive(): string[] {
    if (this.#leaf === undefined) return [];
    const parents = new Map<string, string | undefined>();
    const numbers = new Map<string | undefined, number>();
    for (const [uuid, parent] of this.#parents) {
      numbers.set(uuid, numbers.size);
      parents.set(uuid, parent !== undefined && parent !== uuid && this.has(parent) ? parent : undefined);
    }
    const active = [...pathTo(this.#leaf, parents)];
    /** For each record on the active path the number of the one after it. */
    const followers = new Map(active.map((uuid, at) => [uuid, numbers.get(active[at - 1]) ?? Infinity]));
    /** For each record beside it the first record of its branch, and for that the number of the last message of the branch. */
    const heads = new Map<string, string>();
    const ends = new Map<string, number>();
    for (const { record } of this.#named) {
      const walked = new Set<string>();
      let at: string | undefined = record;
      while (at !== undefined && !followers.has(at) && !heads.has(at) && !walked.has(at)) {
        walked.add(at);
        at = parents.get(at);
      }
      if (at === undefined || walked.has(at)) return []; // a message of another tree
      const head = heads.get(at) ?? [...walked].at(-1);
      if (head === undefined) continue;
      for (const one of walked) heads.set(one, head);
      ends.set(head, Math.max(numbers.get(record) ?? 0, ends.get(head) ?? 0));
    }
    const isActive = (record: string): boolean => {
      const head = heads.get(record);
      if (head === undefined) return followers.has(record);
      return (ends.get(head) ?? 0) > (followers.get(parents.get(head) ?? "") ?? 0);
    };
    // The result of an active call is active, and a message with one active record.
    const isKept = ({ record, call }: Named): boolean =>
      isActive(record) || (call !== undefined && this.has(call) && isActive(call));
    const kept = new Set(this.#named.filter(isKept).map(({ id }) => id));
    return [...new Set(this.#named.map(({ id }) => id))].filter((id) => !kept.has(id));
  }
}

/** The engine may have dropped the very first message of the other session, so a few more are asked for. */
const ASKED = 3;

export class Copies {
  readonly #reading: Reading;
  /** The messages of each session that the file copies from. */
  readonly #owned = new Map<string, ReadonlySet<string>>();
  #asksLeft = ASKED;
  /** The native id of the session that is being read; files of older subagents learn it from their records. */
  readonly #own: () => string;
  /** How many messages of this file were copies. */
  count = 0;

  constructor(reading: Reading, own: () => string) {
    this.#reading = reading;
    this.#own = own;
  }

  /** The session that the last copied messages come from. */
  get source(): string | undefined {
    return [...this.#owned.keys()].at(-1);
  }

  /** True when an older session has this message. A copy of a copy is found where the messages of the first end. */
  async has(id: string): Promise<boolean> {
    if (!this.#isOwned(id)) {
      if (this.#asksLeft === 0) return false;
      this.#asksLeft -= 1;
      const session = this.#reading.sessionBeginningWith(id, this.#own());
      // A later session may begin with one of ours.
      if (session === undefined || (await this.#reading.messageIdsOf(this.#own())).has(id)) return false;
      await this.takeFrom(session);
      if (!this.#isOwned(id)) return false;
    }
    this.count += 1;
    return true;
  }

  /** Messages of this session are copies. */
  async takeFrom(session: string): Promise<void> {
    if (session === this.#own() || this.#owned.has(session)) return;
    this.#owned.set(session, await this.#reading.messageIdsOf(session));
    this.#asksLeft = ASKED;
  }

  #isOwned(id: string): boolean {
    return [...this.#owned.values()].some((ids) => ids.has(id));
  }
}
