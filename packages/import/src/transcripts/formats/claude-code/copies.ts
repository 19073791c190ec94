// Messages that a Claude Code file copies from an older session: resuming, `/branch`, `--fork-session` and background forks do that.
import type { Reading } from "../../reader.ts";

/** The engine may have dropped the very first message of the other session, so a few more are asked for. */
const ASKED = 3;

export class Copies {
  readonly #reading: Reading;
  readonly #owned: ReadonlySet<string>[] = [];
  readonly #sessions = new Set<string>();
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
    return [...this.#sessions].at(-1);
  }

  /** True when an older session has this message. A copy of a copy is found where the messages of the first end. */
  has(id: string): boolean {
    if (!this.#isOwned(id)) {
      if (this.#asksLeft === 0) return false;
      this.#asksLeft -= 1;
      const session = this.#reading.sessionBeginningWith(id, this.#own());
      // A later session may begin with one of ours.
      if (session === undefined || this.#reading.messageIdsOf(this.#own()).has(id)) return false;
      this.takeFrom(session);
      if (!this.#isOwned(id)) return false;
    }
    this.count += 1;
    return true;
  }

  /** Messages of this session are copies. */
  takeFrom(session: string): void {
    if (session === this.#own() || this.#sessions.has(session)) return;
    this.#sessions.add(session);
    this.#owned.push(this.#reading.messageIdsOf(session));
    this.#asksLeft = ASKED;
  }

  #isOwned(id: string): boolean {
    return this.#owned.some((ids) => ids.has(id));
  }
}
