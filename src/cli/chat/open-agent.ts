// Makes the agent a chat talks to. Nothing of it is loaded before.
import type { AgentEvent, AgentSurface, CommandReply } from "../../agent/index.ts";
import { type HermesConfig, loadConfig, useEnvFile } from "../../config/index.ts";
import type { ApprovalCallback } from "../../curated/index.ts";
import { logPath } from "../../home.ts";
import { HermesError } from "../../lib/index.ts";
import { type CommandContext, CommandFailure } from "../command.ts";
import { failConfig } from "../program.ts";
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
};

export type OpenOptions = {
  readonly onEvent: (event: AgentEvent) => void;
  readonly approve?: ApprovalCallback | undefined;
};

export async function openChat(
  { home, io }: CommandContext,
  wish: ChatWish,
  { onEvent, approve }: OpenOptions,
): Promise<OpenChat> {
  const loaded = await loadConfig(home.home);
  const config = loaded.ok ? loaded.value : failConfig(loaded.error);
  useEnvFile(home.home);
  const [{ createAgent, runSlashCommand, completeSlash }, { createLogger }, { redactSecrets }] =
    await Promise.all([
      import("../../agent/index.ts"),
      import("../../lib/logger.ts"),
      import("../../security/index.ts"),
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
  const engineNames = agent.engineCommands.map(({ name }) => name);
  return {
    agent,
    config,
    facts: await startFacts(agent),
    showReasoning: config.display.showReasoning,
    runCommand: (line, confirm) => runSlashCommand(agent, line, { config, confirm }),
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
