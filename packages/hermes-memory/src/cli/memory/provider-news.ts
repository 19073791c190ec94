// What a command wrote to the home's memory goes to the active memory provider too, as the agent's own writes do. The file is written by
// then: a provider that fails, or takes too long, costs a warning and a field in --json, never the command.
import type { CommittedWrite } from "@hermes-memory/core/curated";
import type { CommandContext, CommandInput, CommandOutcome } from "../command.ts";
import { printable } from "../printing.ts";
import { memoryDirectory } from "./open.ts";

export type ProviderNews = {
  /** To be spread into what `--json` prints. */
  readonly json: { readonly provider?: Readonly<Record<string, unknown>> };
  readonly notes: readonly string[];
};

const NO_NEWS: ProviderNews = { json: {}, notes: [] };

export async function tellProvider(
  input: Pick<CommandInput, "flags">,
  context: CommandContext,
  writes: readonly CommittedWrite[],
): Promise<ProviderNews> {
  if (writes.length === 0 || !(await hasProvider(input, context))) return NO_NEWS;
  const outcome = await context.memory.owner.provider.mirror(writes, "cli");
  context.io.endWithoutWaiting();
  switch (outcome.kind) {
    case "none":
      return NO_NEWS;
    case "mirrored": {
      const { provider: name, writes: told, isStored, refused } = outcome;
      if (refused.length === 0)
        return {
          json: { provider: { name, status: isStored ? "mirrored" : "told", writes: told } },
          notes: [],
        };
      const reasons = [...new Set(refused)].join(" ");
      const some = refused.length < told ? ` ${refused.length} of ${told} changes` : "";
      return {
        json: {
          provider: { name, status: "refused", writes: told, refused: refused.length, problem: reasons },
        },
        notes: [
          `warning: Saved, but the memory provider '${name}' did not take${some || " it"}: ${printable(reasons)}`,
        ],
      };
    }
    case "failed":
      return {
        json: { provider: { name: outcome.provider, status: "failed", problem: outcome.reason } },
        notes: [
          `warning: Saved, but the memory provider '${outcome.provider}' did not get the change: ${printable(outcome.reason)} 'hermes memory status' shows more.`,
        ],
      };
    default:
      return outcome satisfies never;
  }
}

/** A command's outcome with what came of the provider. */
export function withNews(outcome: CommandOutcome, news: ProviderNews): CommandOutcome {
  return {
    ...outcome,
    json: { ...(outcome.json as object), ...news.json },
    notes: [...(outcome.notes ?? []), ...news.notes],
  };
}

/** A directory named with --dir is nobody's mirror. Without a provider nothing of that layer is loaded. */
export async function hasProvider(
  input: Pick<CommandInput, "flags">,
  context: CommandContext,
): Promise<boolean> {
  if (!isHomeMemory(input, context)) return false;
  return (await context.memory.memoryConfig()).provider.trim() !== "";
}

export function isHomeMemory(input: Pick<CommandInput, "flags">, context: CommandContext): boolean {
  return memoryDirectory(input, context) === context.memory.owner.directory;
}
