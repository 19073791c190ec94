// The active provider, started for one command and shut down again.
import { useEnvFile } from "@hermes-memory/core/config";
import { randomHex } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { MemoryManager } from "@hermes-memory/core/providers";
import { redactSecrets } from "@hermes-memory/core/security";
import { type CommandContext, CommandFailure } from "../../command.ts";
import { printable } from "../../printing.ts";
import { namedOrActive } from "./wanted.ts";

export type Running = {
  readonly name: string;
  readonly manager: MemoryManager;
  readonly sessionId: string;
};

/** `notes` is what the provider's calls had to say, for whoever is looking. */
export async function withActiveProvider<T>(
  context: CommandContext,
  purpose: string,
  work: (running: Running) => Promise<T>,
): Promise<{ readonly value: T; readonly notes: readonly string[] }> {
  const name = await namedOrActive(undefined, context);
  useEnvFile(context.memory.home);
  const notes: string[] = [];
  const sessionId = `${purpose}-${randomHex(6)}`;
  try {
    const active = await context.memory.owner.provider.activate({ sessionId, log: noting(notes) });
    if (active.kind !== "active") {
      const reason = active.kind === "unavailable" ? active.reason : "";
      throw new CommandFailure(`'${name}' cannot be asked. ${reason}`, {
        hint: "'hermes memory status' shows what it needs.",
        details: { kind: "unavailable", provider: name },
      });
    }
    try {
      const value = await work({ name, manager: active.manager, sessionId });
      return { value, notes: notes.map(printable) };
    } finally {
      await active.manager.shutdownAll();
    }
  } finally {
    context.io.endWithoutWaiting();
  }
}

/** What went wrong is shown here instead of being logged: somebody is looking. */
function noting(notes: string[]): Logger {
  const note = (message: string): void => void notes.push(redactSecrets(message));
  return { debug: note, info: note, warn: note, error: note, dropped: 0 };
}
