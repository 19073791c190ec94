// When it is time to look after memory and skills: memory after so many turns without a word to it, skills after so many
// model calls. Counting only; nobody is told from here.
import type { Message } from "@hermes-memory/core/message";

export type NudgeIntervals = {
  /** `memory.nudge_interval`: turns. 0: never. */
  readonly memoryInterval: number;
  /** `skills.creation_nudge_interval`: model calls. 0: never. */
  readonly skillInterval: number;
};

export type NudgesDue = { readonly memory: boolean; readonly skills: boolean };

export class Nudges {
  readonly #memoryInterval: number;
  readonly #skillInterval: number;
  #turns = 0;
  #turnsSinceMemory = 0;
  #callsSinceSkill = 0;
  #isMemoryDue = false;
  #areSkillsDue = false;

  constructor({ memoryInterval, skillInterval }: NudgeIntervals) {
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

  /** Before the first turn: the turns of a history count. Afterwards it changes nothing. Gives the turns so far. */
  hydrate(history: readonly Message[]): number {
    if (this.#turns > 0) return this.#turns;
    this.#turns = history.filter(({ role }) => role === "user").length;
    if (this.#memoryInterval > 0 && this.#turnsSinceMemory === 0)
      this.#turnsSinceMemory = this.#turns % this.#memoryInterval;
    return this.#turns;
  }

  /** A turn begins. `hasMemoryTool`: the tool is loaded and there is a store behind it. */
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

  /** A tool ran, also when it reported a failure. One that was blocked did not. */
  noteTool(name: string): void {
    if (name === "memory") this.#turnsSinceMemory = 0;
    if (name === "skill_manage") this.#callsSinceSkill = 0;
  }

  /** Asked when a turn is over. What is due stays due until it is taken. */
  due(): NudgesDue {
    if (this.#skillInterval > 0 && this.#callsSinceSkill >= this.#skillInterval) {
      this.#areSkillsDue = true;
      this.#callsSinceSkill = 0;
    }
    return { memory: this.#isMemoryDue, skills: this.#areSkillsDue };
  }

  /** Somebody looks after what was due. */
  taken(): void {
    this.#isMemoryDue = false;
    this.#areSkillsDue = false;
  }

  /** Another session: what was counted belongs to a conversation that is no longer here. */
  reset(): void {
    this.#turns = 0;
    this.#turnsSinceMemory = 0;
    this.#callsSinceSkill = 0;
    this.taken();
  }
}
