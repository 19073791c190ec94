// Makes the agent a chat talks to. Nothing of it is loaded before.
import type { AgentEvent, AgentSurface, BusyMode, CommandReply } from "@hermes-memory/agent/agent";
import { type HermesConfig, useEnvFile } from "@hermes-memory/core/config";
import type { ApprovalCallback } from "@hermes-memory/core/curated";
import { logPath } from "@hermes-memory/core/home";
import { HermesError } from "@hermes-memory/core/lib";
import { type CommandContext, CommandFailure } from "../command.ts";
import type { ChatWish } from "./flags.ts";
import type { StartFacts } from "./lines.ts";

export type OpenChat = {
  readonly agent: AgentSurface;
  readonly config: HermesConfig;
  readonly facts: StartFacts;
  readonly showReasoning: boolean;
  runCommand(
    line: string,
    confirm: (question: string) => Promise<boolean>,
  ): Promise<CommandReply | undefined>;
  complete(written: string): readonly string[];
  /** What Enter does while a turn runs, as config or `/busy` says. */
  busyMode(): BusyMode;
};

export type OpenOptions = {
  /** Text can be typed while a turn runs. */
  readonly canTypeAhead?: boolean;
  readonly onEvent: (event: AgentEvent) => void;
  readonly approve?: ApprovalCallback | undefined;
};

export async function openChat(
  context: CommandContext,
  wish: ChatWish,
  { onEvent, approve, canTypeAhead = false }: OpenOptions,
): Promise<OpenChat> {
  const { home, io } = context;
  const config = await context.memory.config();
  useEnvFile(home.home);
  const [{ createAgent, runSlashCommand, completeSlash }, { createLogger }, { redactSecrets }] =
    await Promise.all([
      import("@hermes-memory/agent/agent"),
      import("@hermes-memory/core/lib/logger"),
      import("@hermes-memory/core/security"),
    ]);
  const agent = await createAgent({
    ...wish.agent,
    home: home.home,
    config,
    env: io.env,
    log: createLogger({ path: logPath(home.home), redact: redactSecrets }),
    onEvent: (event) => {
      noteSession(event);
      onEvent(event);
    },
    ...(approve === undefined ? {} : { approve }),
  }).catch(refused);
  let busyMode = config.display.busyInputMode;
  const busy = {
    mode: () => busyMode,
    setMode: (mode: BusyMode) => {
      busyMode = mode;
    },
  };
  const runCommand: OpenChat["runCommand"] = (line, confirm) =>
    runSlashCommand(agent, line, {
      config,
      confirm,
      runCurator: async (words) => (await import("./curator-command.ts")).runCurator(context, words, confirm),
      ...(canTypeAhead ? { busy } : {}),
    });
  const engineNames = agent.engineCommands.map(({ name }) => name);
  return {
    agent,
    config,
    facts: await startFacts(agent),
    showReasoning: config.display.showReasoning,
    runCommand,
    busyMode: busy.mode,
    complete: (written) => completeSlash(written, engineNames),
  };
}

/** Programs that tools start may want to know which conversation they work for. */
function noteSession(event: AgentEvent): void {
  if (event.type === "turn-start") process.env.HERMES_SESSION_ID = event.sessionId;
  if (event.type === "session-switch") process.env.HERMES_SESSION_ID = event.to;
}

async function startFacts(agent: AgentSurface): Promise<StartFacts> {
  const { caching } = await agent.status();
  const messages = agent.messages.length;
  return {
    sessionId: agent.sessionId,
    model: agent.model,
    window: agent.window,
    caching,
    resumed: messages === 0 ? undefined : { title: await agent.title(), messages },
  };
}

/** No model, no such session: what the user can mend, and nothing for the log. */
function refused(cause: unknown): never {
  if (!(cause instanceof HermesError)) throw cause;
  const { message, hint, code } = cause;
  throw new CommandFailure(message, { ...(hint === undefined ? {} : { hint }), details: { kind: code } });
}
