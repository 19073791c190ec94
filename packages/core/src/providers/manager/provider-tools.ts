// The tools that providers offer now. They are asked for at registration and again after `initialize`, where a provider chooses them.
import type { Logger } from "../../lib/logger.ts";
import {
  argumentPreview,
  described,
  namesLike,
  type RefusedTool,
  readForeignTools,
  type Tool,
  type ToolDefinition,
  type ToolOutcome,
  ToolTable,
} from "../../tools/index.ts";
import type { GuardedProvider, StepBudget } from "./guarded-provider.ts";

export type ProviderToolRules = {
  readonly log: Logger;
  /** Tool names that providers may not take. */
  readonly coreToolNames: ReadonlySet<string>;
  readonly deadlineMs: number;
  readonly run: (name: string, args: unknown) => Promise<ToolOutcome>;
};

type Offer = { readonly tools: readonly Tool[]; readonly refused: readonly RefusedTool[] };

export class ProviderTools {
  readonly #rules: ProviderToolRules;
  readonly #reserved: (name: string) => string | undefined;
  readonly #offers = new Map<GuardedProvider, Offer>();
  readonly #warned = new Set<string>();
  #table = new ToolTable([]);

  constructor(rules: ProviderToolRules) {
    this.#rules = rules;
    this.#reserved = namesLike(rules.coreToolNames);
  }

  get table(): ToolTable {
    return this.#table;
  }

  /** Names that were offered and refused. A model that writes one means that tool, so no other tool may answer to it. */
  get refusedNames(): ReadonlySet<string> {
    const refused = [...this.#offers.values()].flatMap((offer) =>
      offer.refused.flatMap(({ name }) => name ?? []),
    );
    const names = [...refused, ...this.#table.leftOut.map(({ tool }) => tool.name)];
    return new Set(names.filter((name) => !this.#table.has(name)));
  }

  ownerOf(tool: string): GuardedProvider | undefined {
    const entry = this.#table.get(tool);
    return entry && [...this.#offers].find(([, { tools }]) => tools.includes(entry))?.[0];
  }

  /** At registration. A provider that answers asynchronously has no tools until `refresh`. */
  add(guarded: GuardedProvider): void {
    const outcome = guarded.callNow<unknown>("getToolSchemas", (provider) => {
      const answer: unknown = provider.getToolSchemas === undefined ? [] : provider.getToolSchemas();
      if (!isThenable(answer)) return answer;
      Promise.resolve(answer).catch(() => {}); // asked again after `initialize`, and a failure is reported then
      return [];
    });
    this.#take(guarded, outcome.kind === "ok" ? outcome.value : []);
  }

  async refresh(guarded: GuardedProvider, budget: StepBudget): Promise<void> {
    const { deadlineMs } = this.#rules;
    const outcome = await guarded.call<unknown>("getToolSchemas", { deadlineMs, budget }, (provider) =>
      provider.getToolSchemas === undefined ? [] : provider.getToolSchemas(),
    );
    this.#take(guarded, outcome.kind === "ok" ? outcome.value : []);
  }

  #take(guarded: GuardedProvider, answer: unknown): void {
    const who = `The memory provider '${guarded.name}'`;
    const { definitions, refused } = readForeignTools(answer, { who, reserved: this.#reserved });
    for (const { remark } of refused) this.#warn(guarded.name, remark);
    // Without handleToolCall no tool can run, so none is offered.
    const usable = guarded.has("handleToolCall") ? definitions : [];
    this.#offers.set(guarded, { tools: usable.map((each) => this.#entry(guarded.name, each)), refused });
    this.#table = new ToolTable([...this.#offers.values()].flatMap(({ tools }) => tools));
    for (const { tool, reason, kept } of this.#table.leftOut) {
      const [by, first] = [providerOf(tool), providerOf(kept)];
      this.#warn(
        by,
        reason === "same-name"
          ? `The memory provider '${by}' offers the tool '${tool.name}', which '${first}' already has. The first one keeps it.`
          : `The memory provider '${by}' offers the tool '${tool.name}', which reads like '${kept.name}' of '${first}'. It is left out.`,
      );
    }
  }

  #entry(provider: string, definition: ToolDefinition): Tool {
    const { name } = definition;
    return {
      ...described(definition),
      owner: { kind: "provider", name: provider },
      policy: { toolset: "memory", effect: "write", untrustedSource: `${provider}/${name}` },
      preview: argumentPreview,
      run: (args) => this.#rules.run(name, args),
    };
  }

  /** Once: the same problem is found at registration and again after `initialize`. */
  #warn(provider: string, message: string): void {
    if (!this.#warned.has(message)) this.#rules.log.warn(message, { provider });
    this.#warned.add(message);
  }
}

function providerOf({ owner }: Tool): string {
  return owner.kind === "provider" ? owner.name : "";
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
