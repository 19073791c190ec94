// `hermes chat`: which way of talking is meant, the agent for it, and a proper end.
import type { AgentEvent } from "@hermes-memory/agent/agent";
import type { ApprovalCallback } from "@hermes-memory/core/curated";
import { describeCause, systemClock } from "@hermes-memory/core/lib";
import { type CommandBody, type CommandContext, CommandFailure, type CommandOutcome } from "../command.ts";
import { EventRelay } from "./event-relay.ts";
import { type ChatWish, chatWish } from "./flags.ts";
import { openHistory } from "./history-file.ts";
import { hasPipedInput, pipedLines, readQuestion } from "./input.ts";
import { jsonLine, sessionJson } from "./json-events.ts";
import { startLines } from "./lines.ts";
import { type OpenChat, openChat } from "./open-agent.ts";
import { answerLines, answerOnce, type PlainEnd, PlainOutput } from "./plain.ts";
import type { Answer } from "./question.ts";
import { safe } from "./safe-text.ts";
import { untilStopped } from "./stopping.ts";
import { tidyWhenDue } from "./tidy.ts";
import type { ChatUi } from "./ui.ts";
import type { Span } from "./view/span.ts";

export const chat: CommandBody = async (input, context) => {
  const { io, isJson } = context;
  const wish = chatWish(input);
  // Drawing wants a terminal on both ends; TERM=dumb is none.
  const canDraw = io.screen !== undefined && process.stdout.isTTY === true;
  try {
    if (wish.query === undefined && canDraw && !isJson && !wish.isQuiet)
      return await onTerminal(context, wish);
    return await plainly(context, wish);
  } catch (cause) {
    if (!isJson || !(cause instanceof CommandFailure) || cause.exitCode !== 1) throw cause;
    // Whoever reads events line by line gets the failure as a line too.
    const { message, hint, details } = cause;
    io.out(
      jsonLine({ type: "error", success: false, error: message, ...details, ...(hint ? { hint } : {}) }),
    );
    return { json: undefined, lines: [], exitCode: 1 };
  }
};

async function onTerminal(context: CommandContext, wish: ChatWish): Promise<CommandOutcome> {
  const { io, home } = context;
  const relay = new EventRelay<AgentEvent>();
  let ui: ChatUi | undefined;
  const approve: ApprovalCallback = async (command, description) =>
    approval((await ui?.ask(`${description}?`, command)) ?? "none");
  const open = await openChat(context, wish, { onEvent: relay.emit, approve, canTypeAhead: true });
  const { agent, showReasoning, busyMode } = open;
  const [{ ChatUi }, { systemTty }] = await Promise.all([import("./ui.ts"), import("./tty.ts")]);
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
  const warnings = [...agent.warnings, ...(history.trouble === undefined ? [] : [history.trouble])];
  const leaving = new AbortController();
  const end = await io.untilInterrupted((signal) => {
    signal.addEventListener("abort", () => chatUi.interrupt(), { once: true });
    const running = chatUi.run(opening(open, warnings));
    relay.attach((event) => chatUi.onEvent(event));
    void tidyWhenDue(context, open.config, leaving.signal, (text) =>
      relay.emit({ type: "notice", level: "info", cause: "curator", text }),
    );
    return running.finally(() => relay.detach());
  });
  leaving.abort();
  await closed(context, open, end.deleteSession);
  return { json: undefined, lines: [], exitCode: end.exitCode };
}

async function plainly(context: CommandContext, wish: ChatWish): Promise<CommandOutcome> {
  const { io, isJson } = context;
  // Before the agent is made: a question that is none should cost nothing.
  const question = wish.query === undefined ? undefined : await readQuestion(io, wish.query, hasPipedInput());
  const relay = new EventRelay<AgentEvent>();
  // Lines of a terminal that cannot be drawn on are read one by one; a question in between would take one of them.
  const asks = io.isInteractive && !isJson && question !== undefined;
  const approve: ApprovalCallback = async (command, description) => {
    io.note(`${safe(command)}\n`);
    return approval((await io.confirm(`${safe(description)}?`, { short: true })) ? "yes" : "no");
  };
  const open = await openChat(context, wish, { onEvent: relay.emit, ...(asks ? { approve } : {}) });
  const { agent, facts, showReasoning } = open;
  const isStreamed = process.stdout.isTTY === true;
  const output = new PlainOutput(io, { isJson, isQuiet: wish.isQuiet, isStreamed, showReasoning });
  if (isJson) output.json(sessionJson(facts, agent.warnings));
  else for (const line of [...startLines(facts), ...agent.warnings]) output.note(line);
  relay.attach((event) => output.onEvent(event));
  const end = await untilStopped(io, (signal): Promise<PlainEnd> => {
    const parts = { agent, output, signal };
    if (question !== undefined) return answerOnce(question, parts);
    const prompt = io.isInteractive && !isJson ? () => io.note("> ") : undefined;
    const lines = pipedLines(io.inputChunks(), signal, prompt);
    return answerLines(lines, (line) => open.runCommand(line, async () => false), parts);
  });
  output.end();
  await closed(context, open, end.deleteSession);
  if (end.exitCode === 130) io.endWithoutWaiting(); // a pipe that nobody closes would keep us
  return { json: undefined, lines: [], exitCode: end.exitCode };
}

/** What cannot be closed properly is a line on stderr; the conversation itself is stored by then. */
async function closed(
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

/** No answer lets the write wait for `hermes memory pending`. */
function approval(answer: Answer): string {
  return answer === "yes" ? "once" : answer === "no" ? "deny" : "";
}
