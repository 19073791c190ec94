// The tools that providers offer at the moment, asked for at registration and again after initialisation.
import type { Logger } from "../../lib/logger.ts";
import type { ToolSchema } from "../contract.ts";
import type { GuardedCalls } from "./guarded-call.ts";
import type { StepPatience } from "./patience.ts";
import { hasHook, type Registered } from "./registered.ts";
import { indexTools, readToolSchemas, type ToolIndex, type ToolOffer } from "./tool-index.ts";

export type RegistryRules = {
  readonly calls: GuardedCalls;
  readonly log: Logger;
  readonly coreToolNames: ReadonlySet<string>;
  readonly deadlineMs: number;
};

export class ToolRegistry {
  readonly #rules: RegistryRules;
  readonly #offers = new Map<Registered, ToolOffer>();
  readonly #said = new Set<string>();
  #index: ToolIndex = { schemas: [], owners: new Map(), refusals: [] };

  constructor(rules: RegistryRules) {
    this.#rules = rules;
  }

  get schemas(): readonly ToolSchema[] {
    return this.#index.schemas;
  }

  get names(): ReadonlySet<string> {
    return new Set(this.#index.owners.keys());
  }

  /** Names that were offered and not taken, whose owner somebody may still mean. */
  get refusedNames(): ReadonlySet<string> {
    return new Set(
      this.#index.refusals.map(({ tool }) => tool).filter((tool) => !this.#index.owners.has(tool)),
    );
  }

  ownerOf(tool: string): Registered | undefined {
    return this.#index.owners.get(tool);
  }

  /** At registration. A provider that answers asynchronously has no tools until `refresh`. */
  add(registered: Registered): void {
    const { provider } = registered;
    const outcome = this.#rules.calls.callNow<unknown>(registered, "getToolSchemas", () => {
      const answer: unknown = provider.getToolSchemas();
      if (!isThenable(answer)) return answer;
      Promise.resolve(answer).catch(() => {}); // asked for again, and reported, after initialisation
      return [];
    });
    this.#take(registered, outcome.kind === "ok" ? outcome.value : []);
  }

  async refresh(registered: Registered, patience: StepPatience): Promise<void> {
    const { calls, deadlineMs } = this.#rules;
    const rules = { registered, hook: "getToolSchemas" as const, deadlineMs, patience };
    const outcome = await calls.call<unknown>(rules, () => registered.provider.getToolSchemas());
    this.#take(registered, outcome.kind === "ok" ? outcome.value : []);
  }

  #take(registered: Registered, answer: unknown): void {
    const { schemas, problem } = readToolSchemas(answer);
    if (problem !== undefined)
      this.#warn(registered.name, `The memory provider '${registered.name}' ${problem}.`);
    // A tool that nobody answers is not offered.
    this.#offers.set(registered, {
      registered,
      schemas: hasHook(registered, "handleToolCall") ? schemas : [],
    });
    this.#index = indexTools([...this.#offers.values()], this.#rules.coreToolNames);
    for (const { provider, message } of this.#index.refusals) this.#warn(provider, message);
  }

  /** The same thing is found at registration and after initialisation, and said once. */
  #warn(provider: string, message: string): void {
    if (!this.#said.has(message)) this.#rules.log.warn(message, { provider });
    this.#said.add(message);
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
