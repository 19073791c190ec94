// All memories of one user at RetainDB, for erasing and for finding the id of a text.
import { fieldsOf, numberIn, recordsOf, textIn } from "../kit/networked/answers.ts";
import { contentOf } from "./texts.ts";
import { LIST_LIMIT, type RetainDbWire } from "./wire.ts";

export type Memory = { readonly id: string; readonly content: string };

type Listing = {
  readonly memories: readonly Memory[];
  /** False when the server has more than it lists. */
  readonly isComplete: boolean;
};

type Erasing = {
  readonly isDryRun: boolean;
  /** Searched for as well when the server does not list everything. */
  readonly hint: string;
  readonly signal: AbortSignal;
};

/** Each listing shows the next memories after those before it were deleted. */
const MAX_LISTINGS = 50;
const DELETES_AT_ONCE = 8;
const SEARCH_RESULTS = 50;

export class UserMemories {
  readonly #wire: RetainDbWire;

  constructor(wire: RetainDbWire) {
    this.#wire = wire;
  }

  /** The memory with exactly this text. */
  async idOf(text: string, signal: AbortSignal): Promise<string | undefined> {
    return (await this.#list(signal)).memories.find(({ content }) => content === text)?.id;
  }

  async has(id: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#list(signal)).memories.some((each) => each.id === id);
  }

  async erase(
    isChosen: (memory: Memory) => boolean,
    { isDryRun, hint, signal }: Erasing,
  ): Promise<{ readonly erased: number; readonly isComplete: boolean }> {
    const erased = new Set<string>();
    for (let listings = 1; ; listings += 1) {
      const { memories, isComplete } = await this.#list(signal);
      const searched = isComplete || hint === "" ? [] : await this.#search(hint, signal);
      const chosen = [...memories, ...searched].filter((each) => isChosen(each) && !erased.has(each.id));
      const ids = [...new Set(chosen.map(({ id }) => id))];
      for (const id of ids) erased.add(id);
      if (!isDryRun)
        for (let at = 0; at < ids.length; at += DELETES_AT_ONCE)
          await Promise.all(
            ids.slice(at, at + DELETES_AT_ONCE).map((id) => this.#wire.deleteIfThere(id, signal)),
          );
      if (isDryRun || ids.length === 0 || listings === MAX_LISTINGS)
        return { erased: erased.size, isComplete };
    }
  }

  async #list(signal: AbortSignal): Promise<Listing> {
    const answer = fieldsOf(await this.#wire.profile(signal));
    const records = recordsOf(answer.memories);
    const total = numberIn(answer.count);
    const isComplete = total === undefined ? records.length < LIST_LIMIT : total <= records.length;
    return { memories: this.#own(records), isComplete };
  }

  async #search(text: string, signal: AbortSignal): Promise<readonly Memory[]> {
    const found = fieldsOf(await this.#wire.search(text, SEARCH_RESULTS, "", signal));
    return this.#own(recordsOf(found.results).map((record) => fieldsOf(record.memory ?? record)));
  }

  /** A record that names another user is not ours to delete, whatever the server was asked for. */
  #own(records: readonly Readonly<Record<string, unknown>>[]): readonly Memory[] {
    const { user } = this.#wire.scope;
    return records
      .filter(({ user_id }) => typeof user_id !== "string" || user_id === user)
      .map((record) => ({ id: textIn(record.id), content: contentOf(record) }))
      .filter(({ id }) => id !== "");
  }
}
