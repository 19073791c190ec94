// `hermes chat`: on a terminal or in a pipe, with the agent for it, until the session is closed.
import { setTimeout } from "node:timers/promises";
import type {
  AgentEvent,
  AgentOptions,
  AgentSurface,
  BusyMode,
  CommandReply,
} from "@hermes-memory/agent/internal/agent";
import { type HermesConfig, useEnvFile } from "@hermes-memory/core/internal/config";
import type { ApprovalCallback } from "@hermes-memory/core/internal/curated";
import { logPath } from "@hermes-memory/core/internal/home";
import { describeCause, HermesError, systemClock } from "@hermes-memory/core/internal/lib";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  type Terminal,
  usageFailure,
} from "../command.ts";
import { counted } from "../printing.ts";
import { untilStopped } from "../until-stopped.ts";
import type { ChatUi } from "./chat-ui.ts";
import type { Answer } from "./editor.ts";
import { openHistory } from "./history-file.ts";
import type { Span } from "./live-view.ts";
import {
  answerLines,
  answerOnce,
  hasPipedInput,
  jsonLine,
  type PlainEnd,
  PlainOutput,
  pipedLines,
  readQuestion,
  sessionJson,
} from "./plain-chat.ts";
import { type StartFacts, safe, startLines } from "./transcript.ts";

export const chat: CommandBody = async (input, context) => {
  const { io, isJson } = context;
  const request = chatRequest(input);
  // Drawing needs a terminal on both ends, and more than TERM=dumb.
  const canDraw = io.canDraw && process.stdout.isTTY === true;
  try {
    if (request.query === undefined && canDraw && !isJson && !request.isQuiet)
      return await onTerminal(context, request);
    return await plainly(context, request);
  } catch (cause) {
    if (!isJson || !(cause instanceof CommandFailure) || cause.exitCode !== 1) throw cause;
    // A program that reads events line by line gets the failure as a line, too.
    const { message, hint, details } = cause;
    io.out(
      jsonLine({ type: "error", success: false, error: message, ...details, hint: hint || details.hint }),
    );
    return { json: undefined, lines: [], exitCode: 1 };
  }
};

async function onTerminal(context: CommandContext, request: ChatRequest): Promise<CommandOutcome> {
  const { io, home } = context;
  const relay = new EventRelay<AgentEvent>();
  let ui: ChatUi | undefined;
  const approve: ApprovalCallback = async (command, description) =>
    approval((await ui?.ask(`${description}?`, command)) ?? "none");
  const open = await openChat(context, request, { onEvent: relay.emit, approve, canTypeAhead: true });
  const { agent, showReasoning, busyMode } = open;
  const [{ ChatUi }, { systemTty }] = await Promise.all([import("./chat-ui.ts"), import("./tty.ts")]);
  const history = openHistory(home.home, { clock: systemClock });
  const chatUi = new ChatUi({
    agent,
    commands: { run: open.runCommand, complete: open.complete },
    tty: systemTty(),
    paint: io.paint,
    history,
    showReasoning,
    busyMode,
  });
  ui = chatUi;
  const hint = await residueHint(context);
  const warnings = [...agent.warnings, history.trouble, hint].filter((line) => line !== undefined);
  const leaving = new AbortController();
  const end = await io.untilInterrupted((signal) => {
    signal.addEventListener("abort", () => chatUi.interrupt(), { once: true });
    const running = chatUi.run(opening(open, warnings));
    relay.attach((event) => chatUi.onEvent(event));
    void runCuratorWhenDue(context, open.config, leaving.signal, (text) =>
      relay.emit({ type: "notice", level: "info", cause: "curator", text }),
    );
    return running.finally(() => relay.detach());
  });
  leaving.abort();
  await closeChat(context, open, end.deleteSession);
  return { json: undefined, lines: [], exitCode: end.exitCode };
}

/** Loaded when a chat starts on a terminal. */
async function residueHint(context: CommandContext): Promise<string | undefined> {
  return context.io.isInteractive ? (await import("../claw/first-run.ts")).residueHint(context) : undefined;
}

async function plainly(context: CommandContext, request: ChatRequest): Promise<CommandOutcome> {
  const { io, isJson } = context;
  // Before the agent is created, so that an empty question costs nothing.
  const question =
    request.query === undefined ? undefined : await readQuestion(io, request.query, hasPipedInput());
  const relay = new EventRelay<AgentEvent>();
  // Without -q, the lines of the terminal are messages: an approval question would consume one of them.
  const asks = io.isInteractive && !isJson && question !== undefined;
  const approve: ApprovalCallback = async (command, description) => {
    io.note(`${safe(command)}\n`);
    return approval((await io.confirm(`${safe(description)}?`, { short: true })) ? "yes" : "no");
  };
  const open = await openChat(context, request, { onEvent: relay.emit, approve: asks ? approve : undefined });
  const { agent, facts, showReasoning } = open;
  const isStreamed = process.stdout.isTTY === true;
  const output = new PlainOutput(io, { isJson, isQuiet: request.isQuiet, isStreamed, showReasoning });
  if (isJson) output.json(sessionJson(facts, agent.warnings));
  else {
    const hint = request.isQuiet ? undefined : await residueHint(context);
    for (const line of [...startLines(facts), ...agent.warnings, hint ?? []].flat()) output.note(line);
  }
  relay.attach((event) => output.onEvent(event));
  const end = await untilStopped(io, (signal): Promise<PlainEnd> => {
    const parts = { agent, output, signal };
    if (question !== undefined) return answerOnce(question, parts);
    const prompt = io.isInteractive && !isJson ? () => io.note("> ") : undefined;
    const lines = pipedLines(io.inputChunks(), signal, prompt);
    return answerLines(lines, (line) => open.runCommand(line, async () => false), parts);
  });
  output.end();
  await closeChat(context, open, end.deleteSession);
  if (end.exitCode === 130) io.endWithoutWaiting(); // an open pipe would keep the process alive
  return { json: undefined, lines: [], exitCode: end.exitCode };
}

/** A failure is only a line on stderr: the conversation itself is stored by then. */
async function closeChat(
  { io, isJson }: CommandContext,
  { agent }: OpenChat,
  deleteSession: boolean,
): Promise<void> {
  const { sessionId } = agent;
  const isStored = agent.messages.length > 0 && agent.store !== undefined && !deleteSession;
  if (isStored && process.stdout.isTTY === true && !isJson)
    io.note(`${io.paint("dim", `Go on later: hermes chat --resume ${safe(sessionId)}`)}\n`);
  try {
    await agent.close({ deleteSession });
  } catch (cause) {
    io.note(`The session was not closed properly: ${safe(describeCause(cause))}\n`);
  }
}

function opening({ facts }: OpenChat, warnings: readonly string[]): Span[] {
  return [
    ...startLines(facts).map((line): Span => ({ text: `${line}\n`, style: "dim" })),
    ...warnings.map((warning): Span => ({ text: `${safe(warning)}\n`, style: "yellow" })),
    { text: "/help lists the commands, Alt-Enter begins a new line, Ctrl-D leaves.\n", style: "dim" },
  ];
}

/** Without an answer the write is staged for `hermes memory pending`. */
function approval(answer: Answer): string {
  return answer === "yes" ? "once" : answer === "no" ? "deny" : "";
}

// The flags.

type ChatRequest = {
  readonly query: string | undefined;
  readonly isQuiet: boolean;
  readonly agent: Pick<
    AgentOptions,
    "selection" | "resume" | "continueLast" | "toolsets" | "maxTurns" | "instructions" | "skipMemory"
  >;
};

export function chatRequest({ flags }: CommandInput): ChatRequest {
  const text = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value === "string" ? value : undefined;
  };
  const resume = text("resume");
  if (resume !== undefined && flags.continue === true)
    throw usageFailure("--resume names a session and --continue takes the newest one. Give one of them.");
  if (resume?.trim() === "")
    throw usageFailure("--resume needs a session: its id or its title. 'hermes sessions list' shows them.");
  const toolsets = text("toolsets");
  const maxTurns = flags["max-turns"];
  return {
    query: text("query"),
    isQuiet: flags.quiet === true,
    agent: {
      selection: { model: text("model"), provider: text("provider"), baseUrl: text("base-url") },
      resume,
      continueLast: flags.continue === true,
      toolsets: toolsets === undefined ? null : namesIn(toolsets),
      maxTurns: typeof maxTurns === "number" ? maxTurns : undefined,
      instructions: text("system"),
      skipMemory: flags["no-memory"] === true,
    },
  };
}

function namesIn(list: string): string[] {
  const names = list.split(",").map((name) => name.trim());
  return names.filter((name) => name !== "" && name !== "none");
}

// The agent. Its packages are loaded here and not earlier.

type OpenChat = {
  readonly agent: AgentSurface;
  readonly config: HermesConfig;
  readonly facts: StartFacts;
  readonly showReasoning: boolean;
  runCommand(
    line: string,
    confirm: (question: string) => Promise<boolean>,
  ): Promise<CommandReply | undefined>;
  complete(written: string): readonly string[];
  /** The effect of Enter while a turn runs; set by config or `/busy`. */
  busyMode(): BusyMode;
};

type OpenOptions = {
  /** The user can type while a turn runs. */
  readonly canTypeAhead?: boolean;
  readonly onEvent: (event: AgentEvent) => void;
  readonly approve?: ApprovalCallback | undefined;
};

async function openChat(
  context: CommandContext,
  request: ChatRequest,
  { onEvent, approve, canTypeAhead = false }: OpenOptions,
): Promise<OpenChat> {
  const { home, io } = context;
  const config = await context.memory.config();
  useEnvFile(home.home);
  const [{ createAgent, runSlashCommand, completeSlash }, { createLogger }, { redactSecrets }] =
    await Promise.all([
      import("@hermes-memory/agent/internal/agent"),
      import("@hermes-memory/core/internal/logger"),
      import("@hermes-memory/core/internal/security"),
    ]);
  const agent = await createAgent({
    ...request.agent,
    home: home.home,
    administrator: true, // the sessions of all users, as in the other commands
    contextFiles: true,
    titles: true,
    review: true,
    config,
    env: io.env,
    log: createLogger({ path: logPath(home.home), redact: redactSecrets }),
    onEvent: (event) => {
      noteSession(event);
      onEvent(event);
    },
    approve,
  }).catch(asUserError);
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
      runCurator: (words) => runCurator(context, words, confirm),
      busy: canTypeAhead ? busy : undefined,
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

/** For the programs that tools start. */
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

/** No model or no such session: the user can correct that, so it is not logged as an internal error. */
function asUserError(cause: unknown): never {
  if (!(cause instanceof HermesError)) throw cause;
  const { message, hint, code } = cause;
  throw new CommandFailure(message, { hint, details: { kind: code } });
}

/** `/curator` in a chat: runs `hermes curator <words>` in this process. Its output is the reply. */
export async function runCurator(
  { io, runCommand }: CommandContext,
  words: readonly string[],
  confirm: (question: string) => Promise<boolean>,
): Promise<CommandReply> {
  const printed: string[] = [];
  const print = (text: string): void => void printed.push(text);
  const terminal: Terminal = {
    ...io,
    paint: (_style, text) => text, // the chat colours its own lines
    canDraw: false,
    out: print,
    note: print,
    drained: async () => {},
    confirm: (question) => confirm(question),
    endWithoutWaiting: () => {}, // the chat goes on
    untilInterrupted: (work) => work(new AbortController().signal), // Ctrl-C belongs to the chat
  };
  const exitCode = await runCommand(["curator", ...words], terminal);
  const lines = printed.join("").trimEnd().split("\n");
  return exitCode === 0
    ? { kind: "text", lines, json: { exit_code: 0, lines } }
    : { kind: "error", lines, json: { success: false, exit_code: exitCode, error: lines.join("\n") } };
}

/** Loading the curator takes a moment, and a user who has just opened a chat wants to type. */
const CURATOR_DELAY_MS = 10_000;

/**
 * Runs the curator beside a chat when it is due. It only stages proposals, so that nothing changes during the conversation. `tell` gets
 * a line when there are proposals. Never rejects.
 */
async function runCuratorWhenDue(
  { memory, io }: CommandContext,
  config: HermesConfig,
  signal: AbortSignal,
  tell: (text: string) => void,
): Promise<void> {
  if (!config.curator.enabled) return;
  try {
    await setTimeout(CURATOR_DELAY_MS, undefined, { signal, ref: false });
    const [{ maybeRunCurator }, { curatorModel }] = await Promise.all([
      import("@hermes-memory/agent/internal/curator"),
      import("@hermes-memory/agent/internal/models"),
    ]);
    const model = () => curatorModel(config, io.env);
    const outcome = await maybeRunCurator({ memory, signal, model });
    if (outcome.kind !== "ran" || signal.aborted) return;
    const staged = outcome.run.decided.filter((each) => each.outcome.kind === "staged").length;
    if (staged > 0)
      tell(
        `The curator has ${counted(staged, "proposal")} for memory and skills: 'hermes curator status' shows them.`,
      );
  } catch {
    // It must not disturb the conversation; 'hermes curator status' shows how the last run ended.
  }
}

/** Keeps the events of an agent until a listener is attached, and then hands them over in order. */
export class EventRelay<Event> {
  #listener: ((event: Event) => void) | undefined;
  #kept: Event[] | undefined = [];

  readonly emit = (event: Event): void => {
    if (this.#listener) this.#listener(event);
    else this.#kept?.push(event);
  };

  attach(listener: (event: Event) => void): void {
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    this.#listener = listener;
    for (const event of kept) listener(event);
  }

  /** Later events are dropped. */
  detach(): void {
    this.#listener = undefined;
  }
}
