// `hermes memory recall`: what the active provider would add to a prompt for this text, and how long that takes.
import { codePointLength, groupThousands } from "@hermes-memory/core/lib";
import { buildMemoryContextBlock } from "@hermes-memory/core/providers";
import type { CommandBody } from "../../command.ts";
import { printable } from "../../printing.ts";
import { nonEmptyText } from "../memory-command.ts";
import { withActiveProvider } from "./active.ts";

export const recall: CommandBody = async (input, context) => {
  const query = await nonEmptyText(input, context, "text");
  const { value, notes } = await withActiveProvider(
    context,
    "recall",
    async ({ name, manager, sessionId }) => {
      const startedAt = performance.now();
      await manager.onTurnStart(1, query);
      const text = await manager.prefetchAll(query, { session_id: sessionId });
      return { name, text, ms: Math.round((performance.now() - startedAt) * 10) / 10 };
    },
  );
  const { name, text, ms } = value;
  const block = buildMemoryContextBlock(text);
  const size = `${groupThousands(codePointLength(text))} characters`;
  return {
    json: { provider: name, ms, text, block },
    lines: block === "" ? ["Nothing is recalled for this text."] : [printable(block)],
    notes: [...notes, `${name}: ${block === "" ? "" : `${size}, `}${ms} ms`],
  };
};
