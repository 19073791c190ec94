// When a background review is due: of memory after a number of turns without a use of the memory tool, of skills after a number
// of model calls. It only counts.
import type { Message } from "@hermes-memory/core/internal/message";

type Intervals = {
  /** `memory.nudge_interval`: turns. 0: never. */
  readonly memoryInterval: number;
  /** `skills.creation_nudge_interval`: model calls. 0: never. */
  readonly skillInterval: number;
};

/** The subjects of a review. */
export type ReviewScope = { readonly memory: boolean; readonly skills: boolean };

export class ReviewSchedule {
  readonly #memoryInterval: number;
  readonly #skillInterval: number;
  #turns = 0;
  #turnsSinceMemory = 0;
  #callsSinceSkill = 0;
  #isMemoryDue = false;
  #areSkillsDue = false;

  constructor({ memoryInterval, skillInterval }: Intervals) {
    this.#memoryInterval = memoryInterval;
    this.#skillInterval = skillInterval;
  }

  /** Turns of this session so far. */
  get turns(): number {
    return this.#turns;
  }

  get turnsSinceMemory(): number {
    return this.#turnsSinceMemory;
  }

  /** Before the first turn, counts the turns of the messages that are there already; later it changes nothing. Gives the turns so far. */
  hydrate(history: readonly Message[]): number {
    if (this.#turns > 0) return this.#turns;
    this.#turns = history.filter(({ role }) => role === "user").length;
    if (this.#memoryInterval > 0 && this.#turnsSinceMemory === 0)
      this.#turnsSinceMemory = this.#turns % this.#memoryInterval;
    return this.#turns;
  }

  /** A turn begins. `hasMemoryTool`: there are a memory tool and a store. */
  noteTurn({ hasMemoryTool }: { readonly hasMemoryTool: boolean }): void {
    this.#turns += 1;
    if (!hasMemoryTool || this.#memoryInterval <= 0) return;
    this.#turnsSinceMemory += 1;
    if (this.#turnsSinceMemory < this.#memoryInterval) return;
    this.#isMemoryDue = true;
    this.#turnsSinceMemory = 0;
  }

  noteModelCall({ hasSkillTool }: { readonly hasSkillTool: boolean }): void {
    if (hasSkillTool && this.#skillInterval > 0) this.#callsSinceSkill += 1;
  }

  /** A tool ran, also when it reported a failure. Blocked calls do not count. */
  noteTool(name: string): void {
    if (name === "memory") this.#turnsSinceMemory = 0;
    if (name === "skill_manage") this.#callsSinceSkill = 0;
  }

  /** Asked at the end of a turn. A review stays due until `taken`. */
  due(): ReviewScope {
    if (this.#skillInterval > 0 && this.#callsSinceSkill >= this.#skillInterval) {
      this.#areSkillsDue = true;
      this.#callsSinceSkill = 0;
    }
    return { memory: this.#isMemoryDue, skills: this.#areSkillsDue };
  }

  /** A review has begun. */
  taken(): void {
    this.#isMemoryDue = false;
    this.#areSkillsDue = false;
  }

  /** Another session begins. */
  reset(): void {
    this.#turns = 0;
    this.#turnsSinceMemory = 0;
    this.#callsSinceSkill = 0;
    this.taken();
  }
}
