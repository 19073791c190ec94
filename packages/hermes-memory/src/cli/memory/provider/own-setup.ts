// Setup by the provider itself. It asks what it likes, through us, and switches itself on.
import { ifUsable, openMemory } from "@hermes-memory/core/memory";
import { activeProviderName, type LoadedProvider, runForeign } from "@hermes-memory/core/providers";
import { Cancelled, type CommandContext, CommandFailure } from "../../command.ts";
import { oneLine, printable } from "../../printing.ts";
import type { SetupRun } from "./setup-order.ts";
import type { Finished } from "./setup-outcome.ts";

type Ask = (
  question: string,
  options?: { readonly secret?: boolean; readonly default?: string },
) => Promise<string>;

const QUESTION_CHARS = 500;

export async function ownSetup(
  { found: { name }, provider }: LoadedProvider,
  { values, mayAsk, home }: SetupRun,
  { io, memory }: CommandContext,
): Promise<Finished> {
  let left: Cancelled | undefined;
  const ask: Ask = async (question, { secret = false, default: standard = "" } = {}) => {
    if (left !== undefined) throw left; // who has left is not asked again
    const aid = standard === "" || secret ? "" : ` [${oneLine(standard)}]`;
    try {
      const answer = await io.ask(`${oneLine(question, QUESTION_CHARS)}${aid} `, { isSecret: secret });
      return answer.trim() === "" ? standard : answer;
    } catch (cause) {
      if (cause instanceof Cancelled) left = cause;
      throw cause;
    }
  };
  const config = await ifUsable(memory.config());
  const options = {
    print: (line: string) => io.note(`${printable(String(line))}\n`),
    values: Object.fromEntries(values),
    ...(mayAsk ? { ask } : {}),
  };
  const outcome = await runForeign({ timeoutMs: Number.POSITIVE_INFINITY }, () =>
    provider.postSetup?.(home, config?.raw ?? {}, options),
  );
  if (left !== undefined) return { kind: "left", by: left.by };
  if (!outcome.ok)
    throw new CommandFailure(`The setup of '${name}' ${outcome.error.message}.`, {
      details: { kind: "setup-failed", provider: name },
    });
  return { kind: "own", isActive: await isActive(home, name) };
}

async function isActive(home: string, name: string): Promise<boolean> {
  const config = await ifUsable(openMemory({ home }).config()); // as its setup has left the file
  return config !== undefined && activeProviderName(config.memory.provider) === name;
}
