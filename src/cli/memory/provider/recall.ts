// `hermes memory recall`: what the active provider would add to a prompt for this text, and how long that takes.

import { resolve } from "node:path";
import { useEnvFile } from "../../../config/index.ts";
import { codePointLength, groupThousands, randomHex } from "../../../lib/index.ts";
import type { Logger } from "../../../lib/logger.ts";
import { activateProvider, buildMemoryContextBlock } from "../../../providers/index.ts";
import { redactSecrets } from "../../../security/index.ts";
import { type CommandBody, CommandFailure } from "../../command.ts";
import { printable } from "../../printing.ts";
import { wantedText } from "../open.ts";
import { namedOrActive } from "./wanted.ts";

export const recall: CommandBody = async (input, context) => {
  const { io } = context;
  const home = resolve(context.home.home);
  const query = await wantedText(input, context, "text");
  const name = await namedOrActive(undefined, context);
  useEnvFile(home);
  const notes: string[] = [];
  const sessionId = `recall-${randomHex(6)}`;
  const config = await context.memoryConfig();
  try {
    const active = await activateProvider({ home, config, sessionId, log: noting(notes) });
    if (active.kind !== "active") {
      const reason = active.kind === "unavailable" ? active.reason : "";
      throw new CommandFailure(`'${name}' cannot be asked. ${reason}`, {
        hint: "'hermes memory status' shows what it needs.",
        details: { kind: "unavailable", provider: name },
      });
    }
    const { manager } = active;
    const startedAt = performance.now();
    await manager.onTurnStart(1, query);
    const text = await manager.prefetchAll(query, { session_id: sessionId });
    const ms = Math.round((performance.now() - startedAt) * 10) / 10;
    await manager.shutdownAll();
    const block = buildMemoryContextBlock(text);
    const size = `${groupThousands(codePointLength(text))} characters`;
    return {
      json: { provider: name, ms, text, block },
      lines: block === "" ? ["Nothing is recalled for this text."] : [printable(block)],
      notes: [...notes.map(printable), `${name}: ${block === "" ? "" : `${size}, `}${ms} ms`],
    };
  } finally {
    io.endWithoutWaiting();
  }
};

/** What went wrong is shown here instead of being logged: somebody is looking. */
function noting(notes: string[]): Logger {
  const note = (message: string): void => void notes.push(redactSecrets(message));
  return { debug: note, info: note, warn: note, error: note, dropped: 0 };
}
