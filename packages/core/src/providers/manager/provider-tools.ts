// The tools that providers offer at the moment, asked for at registration and again after initialisation, because a provider
// chooses them there.
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
import type { GuardedCalls } from "./guarded-call.ts";
import type { StepPatience } from "./patience.ts";
import { hasHook, type Registered } from "./registered.ts";

export type ProviderToolRules = {
  readonly calls: GuardedCalls;
  readonly log: Logger;
  readonly coreToolNames: ReadonlySet<string>;
  readonly deadlineMs: number;
  /** The guarded call behind every entry. */
  readonly run: (name: string, args: unknown) => Promise<ToolOutcome>;
};

type Offer = { readonly tools: readonly Tool[]; readonly refused: readonly RefusedTool[] };

export class ProviderTools {
  readonly #rules: ProviderToolRules;
  readonly #reserved: (name: string) => string | undefined;
  readonly #offers = new Map<Registered, Offer>();
  readonly #said = new Set<string>();
  #table = new ToolTable([]);

  constructor(rules: ProviderToolRules) {
    this.#rules = rules;
    this.#reserved = namesLike(rules.coreToolNames);
  }

  get table(): ToolTable {
    return this.#table;
  }

  /** Names that were offered and refused; a model may still mean their owner. */
  get refusedNames(): ReadonlySet<string> {
    const unread = [...this.#offers.values()].flatMap(({ refused }) => refused.map(({ name }) => name));
    const names = [...unread, ...this.#table.leftOut.map(({ tool }) => tool.name)];
    return new Set(names.filter((name) => name !== undefined && !this.#table.has(name)) as string[]);
  }

  ownerOf(tool: string): Registered | undefined {
    const entry = this.#table.get(tool);
    return entry && [...this.#offers].find(([, { tools }]) => tools.includes(entry))?.[0];
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
    const who = `The memory provider '${registered.name}'`;
    const { definitions, refused } = readForeignTools(answer, { who, reserved: this.#reserved });
    for (const { remark } of refused) this.#warn(registered.name, remark);
    // Without handleToolCall no tool can run, so none is offered.
    const answered = hasHook(registered, "handleToolCall") ? definitions : [];
    this.#offers.set(registered, { tools: answered.map((each) => this.#entry(registered, each)), refused });
    this.#table = new ToolTable([...this.#offers.values()].flatMap(({ tools }) => tools));
    for (const { tool, reason, kept } of this.#table.leftOut) {
      const [by, first] = [nameOf(tool), nameOf(kept)];
      this.#warn(
        by,
        reason === "same-name"
          ? `The memory provider '${by}' offers the tool '${tool.name}', which '${first}' already has. The first one keeps it.`
          : `The memory provider '${by}' offers the tool '${tool.name}', which reads like '${kept.name}' of '${first}'. It is left out.`,
      );
    }
  }

  #entry({ name: provider }: Registered, definition: ToolDefinition): Tool {
    const { name } = definition;
    return {
      ...described(definition),
      owner: { kind: "provider", name: provider },
      policy: { toolset: "memory", effect: "write", untrustedSource: `${provider}/${name}` },
      preview: argumentPreview,
      run: (args) => this.#rules.run(name, args),
    };
  }

  /** The same thing is found at registration and after initialisation, and said once. */
  #warn(provider: string, message: string): void {
    if (!this.#said.has(message)) this.#rules.log.warn(message, { provider });
    this.#said.add(message);
  }
}

function nameOf({ owner }: Tool): string {
  return owner.kind === "provider" ? owner.name : "";
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
