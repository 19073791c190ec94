// Starts the curator beside a chat when its time has come. It only proposes, so nothing changes under the conversation.
import { setTimeout } from "node:timers/promises";
import type { HermesConfig } from "@hermes-memory/core/config";
import type { CommandContext } from "../command.ts";
import { counted } from "../printing.ts";

/** Whoever has just opened a chat wants to type, and loading the curator takes a moment. */
const SETTLED_MS = 10_000;

/** `tell` gets a line when there is something to decide. Never rejects. */
export async function tidyWhenDue(
  { memory, io }: CommandContext,
  config: HermesConfig,
  signal: AbortSignal,
  tell: (text: string) => void,
): Promise<void> {
  if (!config.curator.enabled) return;
  try {
    await setTimeout(SETTLED_MS, undefined, { signal, ref: false });
    const { curatorDue, maybeRunCurator, readState } = await import("@hermes-memory/agent/curator");
    const state = readState(memory.home);
    // The model is only looked for when there is work for it.
    const isDue = state.ok && curatorDue(state.value, config.curator, new Date()).kind === "due";
    const { curatorModel } = await import("../curator/model.ts");
    const found = isDue ? await curatorModel(config, io.env) : undefined;
    const model = found?.kind === "model" ? { model: found.model } : {};
    const outcome = await maybeRunCurator({ memory, signal, ...model });
    if (outcome.kind !== "ran" || signal.aborted) return;
    const staged = outcome.run.decided.filter((each) => each.outcome.kind === "staged").length;
    if (staged > 0)
      tell(
        `The curator has ${counted(staged, "proposal")} for memory and skills: 'hermes curator status' shows them.`,
      );
  } catch {
    // Tidying up must not disturb a conversation; 'hermes curator status' tells how the last run went.
  }
}
