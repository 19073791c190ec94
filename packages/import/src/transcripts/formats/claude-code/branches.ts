// Which messages of one Claude Code file were left behind by a rewind. Records are numbered, because a file can have some 100,000 of them.

const NONE = -1;
/** Marks records of the walk that is under way, so that a loop is noticed. */
const WALKING = -2;

export class RecordTree {
  readonly #numbers = new Map<string, number>();
  /** Per record, the number of its parent. */
  readonly #parents: number[] = [];
  /** Parents that stand later in the file, or in another one. */
  readonly #awaited = new Map<number, string>();
  /** The record of the last user or assistant line. */
  #leaf = NONE;
  // One entry in each of these for every record of a message.
  readonly #ids: string[] = [];
  readonly #records: number[] = [];
  readonly #calls: number[] = [];

  has(uuid: string): boolean {
    return this.#numbers.has(uuid);
  }

  /** False when the file has given this record before; it is then left as it was. */
  add(uuid: string, parent: string | undefined, isTurn: boolean): boolean {
    if (this.#numbers.has(uuid)) return false;
    const number = this.#parents.length;
    const known = parent === undefined ? NONE : (this.#numbers.get(parent) ?? NONE);
    this.#numbers.set(uuid, number);
    this.#parents.push(known);
    if (known === NONE && parent !== undefined && parent !== uuid) this.#awaited.set(number, parent);
    if (isTurn) this.#leaf = number;
    return true;
  }

  /** The message `id` comes from this record. A message with several records is named once for each. `call` is the record of the call that a tool result answers. */
  name(id: string, record: string, call?: string): void {
    const number = this.#numbers.get(record);
    if (number === undefined) return;
    this.#ids.push(id);
    this.#records.push(number);
    this.#calls.push(call === undefined ? NONE : (this.#numbers.get(call) ?? NONE));
  }

  /**
   * Ids of messages that do not lead to the last record. Empty when the file has several trees: then nobody can tell which of them was
   * left. A branch that was still written to after the active one began belongs to a second terminal and stays active.
   */
  inactive(): string[] {
    for (const [number, parent] of this.#awaited) this.#parents[number] = this.#numbers.get(parent) ?? NONE;
    const followers = this.#activePath();
    const heads = this.#branches(followers);
    if (heads === undefined) return [];
    const ends = new Map<number, number>();
    for (const record of this.#records) {
      const head = heads[record] ?? NONE;
      if (head !== NONE) ends.set(head, Math.max(record, ends.get(head) ?? NONE));
    }
    const isActive = (record: number): boolean => {
      const head = heads[record] ?? NONE;
      if (head === NONE) return followers[record] !== NONE;
      return (ends.get(head) ?? NONE) > (followers[this.#parents[head] ?? NONE] ?? NONE);
    };
    const isLeft = (at: number): boolean => {
      const call = this.#calls[at] ?? NONE;
      return !isActive(this.#records[at] ?? NONE) && (call === NONE || !isActive(call));
    };
    const left = new Set(this.#ids.filter((_, at) => isLeft(at)));
    // A message with one active record is active.
    if (left.size > 0) for (const [at, id] of this.#ids.entries()) if (!isLeft(at)) left.delete(id);
    return [...left];
  }

  /** Per record on the active path the record after it, for others NONE. */
  #activePath(): Int32Array {
    const followers = new Int32Array(this.#parents.length).fill(NONE);
    let after = this.#parents.length;
    for (let at = this.#leaf; at !== NONE && followers[at] === NONE; at = this.#parents[at] ?? NONE) {
      followers[at] = after;
      after = at;
    }
    return followers;
  }

  /** Per record beside the active path the first record of its branch. Undefined when a message belongs to another tree. */
  #branches(followers: Int32Array): Int32Array | undefined {
    const heads = new Int32Array(this.#parents.length).fill(NONE);
    for (const record of this.#records) {
      if (followers[record] !== NONE || heads[record] !== NONE) continue;
      const walked: number[] = [];
      let at = record;
      while (at !== NONE && followers[at] === NONE && heads[at] === NONE) {
        heads[at] = WALKING;
        walked.push(at);
        at = this.#parents[at] ?? NONE;
      }
      if (at === NONE || heads[at] === WALKING) return undefined;
      const head = followers[at] === NONE ? (heads[at] ?? NONE) : (walked.at(-1) ?? NONE);
      for (const one of walked) heads[one] = head;
    }
    return heads;
  }
}
