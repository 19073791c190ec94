// The chat on a terminal: a sent line becomes a command, a turn, or a message to the running turn; Ctrl-C stops or leaves.
import { setTimeout } from "node:timers/promises";
import type { AgentEvent, AgentSurface, BusyMode, CommandReply } from "@hermes-memory/agent/internal/agent";
import { describeCause } from "@hermes-memory/core/internal/lib";
import type { Paint } from "../command.ts";
import type { Answer } from "./editor.ts";
import { WAITING } from "./footer.ts";
import type { HistoryFile } from "./history-file.ts";
import type { Span } from "./live-view.ts";
import { Panel } from "./panel.ts";
import { statusLine } from "./transcript.ts";
import type { Tty } from "./tty.ts";

type Commands = {
  /** Undefined when the line is a message. */
  run(line: string, confirm: (question: string) => Promise<boolean>): Promise<CommandReply | undefined>;
  /** Texts that begin with `written`. */
  complete(written: string): readonly string[];
};

export type UiParts = {
  readonly agent: AgentSurface;
  readonly commands: Commands;
  readonly tty: Tty;
  readonly paint: Paint;
  readonly history: HistoryFile;
  readonly showReasoning: boolean;
  /** The effect of Enter while a turn runs; `/busy` changes it. */
  readonly busyMode: () => BusyMode;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
};

export type UiEnd = { readonly exitCode: 0 | 130; readonly deleteSession: boolean };

/** On leaving, wait at most this long for the interrupted turn, so that its messages are stored. */
const STOP_MS = 5000;

export class ChatUi {
  readonly #parts: UiParts;
  readonly #panel: Panel;
  readonly #now: () => number;
  #isBusy = false;
  #working: Promise<void> = Promise.resolve();
  #hasTurnEnded = false;
  #isInCommand = false;
  /** Messages sent while something ran that takes none. */
  readonly #queue: string[] = [];
  /** Length of the queue at the first text for the running turn: if the turn does not take the text, it is inserted there. */
  #queuedBeforeSteer: number | undefined;
  #interrupts: Interrupts = NO_INTERRUPTS;
  readonly #left = Promise.withResolvers<UiEnd>();
  readonly #hurry = Promise.withResolvers<void>();
  #isLeaving = false;

  constructor(parts: UiParts) {
    const { tty, paint, history, showReasoning, commands } = parts;
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
    const panelParts = { tty, paint, history: history.entries, showReasoning, now: this.#now };
    this.#panel = new Panel(panelParts, {
      submitted: (text) => this.#submit(text),
      interrupted: () => this.interrupt(),
      ended: () => this.#end(),
      gone: () => this.#leave({ exitCode: 130, deleteSession: false }),
      touched: () => {
        this.#interrupts = pressOther(this.#interrupts);
      },
      complete: commands.complete,
    });
  }

  /** Runs until the user leaves. Restores the terminal; the agent stays open. */
  async run(opening: readonly Span[]): Promise<UiEnd> {
    try {
      await this.#panel.open(opening);
      const end = await this.#left.promise;
      this.#parts.agent.interrupt();
      await Promise.race([
        this.#working,
        this.#hurry.promise,
        setTimeout(STOP_MS, undefined, { ref: false }),
      ]);
      return end;
    } finally {
      this.#panel.close();
    }
  }

  onEvent(event: AgentEvent): void {
    if (event.type === "turn-end") this.#hasTurnEnded = true;
    if (event.type === "compaction-end" && this.#isInCommand) return; // the reply of the command reports it
    this.#panel.render(event);
  }

  ask(text: string, details?: string): Promise<Answer> {
    return this.#isLeaving ? Promise.resolve("none") : this.#panel.ask(text, details);
  }

  /** Ctrl-C, as a key or as a signal. */
  interrupt(): void {
    const state = { isBusy: this.#isBusy, isEmpty: this.#panel.isEmpty, atMs: this.#now() };
    const { interrupts, meaning } = pressInterrupt(this.#interrupts, state);
    this.#interrupts = interrupts;
    switch (meaning) {
      case "stop":
        this.#panel.say("dim", "Stopping. Ctrl-C again leaves.");
        this.#parts.agent.interrupt();
        this.#giveBackQueue();
        break;
      case "clear":
        this.#panel.prefill("");
        break;
      case "warn":
        this.#panel.say("dim", "Ctrl-C again leaves, and so does Ctrl-D.");
        break;
      case "leave":
        this.#leave({ exitCode: this.#isBusy ? 130 : 0, deleteSession: false });
        break;
      default:
        meaning satisfies never;
    }
  }

  /** After Ctrl-C queued prompts are not sent; they go back to the input line. */
  #giveBackQueue(): void {
    if (this.#queue.length === 0) return;
    const texts = this.#queue.splice(0);
    if (this.#panel.isEmpty) this.#panel.prefill(texts.join("\n"));
    else for (const text of texts) this.#panel.say("dim", `Not sent: ${text}`);
  }

  #end(): void {
    if (this.#isBusy) this.#panel.say("dim", "Something is still running. Ctrl-C stops it.");
    else this.#leave({ exitCode: 0, deleteSession: false });
  }

  #submit(text: string): void {
    const { agent, history } = this.#parts;
    if (this.#panel.remember(text)) history.append(text);
    this.#panel.echo(text);
    if (!this.#isBusy) this.#working = this.#workOff(text);
    else if (!agent.isRunning) {
      this.#queue.push(text);
      this.#panel.say("dim", "(waits for what runs now)");
    } else if (isCommandLike(text)) void this.#guarded(() => this.#besidesTurn(text));
    else this.#sendWhileBusy(text);
  }

  #sendWhileBusy(text: string): void {
    const { agent, busyMode } = this.#parts;
    const mode = busyMode();
    switch (mode) {
      case "steer":
        this.#steer(text);
        break;
      case "queue":
        this.#enqueue(text);
        break;
      case "interrupt":
        this.#queue.unshift(text);
        this.#panel.say("dim", "(stops the running turn and is sent then)");
        agent.interrupt();
        break;
      default:
        mode satisfies never;
    }
  }

  #enqueue(text: string): void {
    this.#queue.push(text);
    this.#panel.say("dim", "(queued: sent when this turn has ended)");
  }

  #steer(text: string): void {
    if (this.#parts.agent.steer(text)) {
      this.#queuedBeforeSteer ??= this.#queue.length;
      this.#panel.say("dim", "(queued: the model gets it with its next step)");
    } else {
      this.#queue.push(text);
      this.#panel.say("dim", "(waits for what runs now)");
    }
  }

  /** Commands that do not touch the conversation work while a turn runs; the others refuse. */
  async #besidesTurn(line: string): Promise<void> {
    const reply = await this.#runCommand(line);
    if (reply === undefined) this.#sendWhileBusy(line);
    else await this.#show(reply);
  }

  async #workOff(text: string): Promise<void> {
    this.#isBusy = true;
    this.#panel.setBusy("working");
    let next: string | undefined = text;
    while (next !== undefined && !this.#isLeaving) {
      const line = next;
      await this.#guarded(async () => {
        const reply = await this.#runCommand(line);
        await (reply === undefined ? this.#turn(line) : this.#show(reply));
      });
      next = this.#queue.shift();
    }
    this.#isBusy = false;
    this.#panel.setBusy(undefined);
  }

  async #runCommand(line: string): Promise<CommandReply | undefined> {
    this.#isInCommand = true;
    try {
      return await this.#parts.commands.run(line, async (question) => (await this.ask(question)) === "yes");
    } finally {
      this.#isInCommand = false;
    }
  }

  async #turn(text: string): Promise<void> {
    const { agent } = this.#parts;
    this.#panel.setBusy(WAITING);
    this.#hasTurnEnded = false;
    const result = await agent.run(text);
    if (!this.#hasTurnEnded) this.onEvent({ type: "turn-end", result });
    const rest = result.pending_steer;
    const place = this.#queuedBeforeSteer ?? 0;
    this.#queuedBeforeSteer = undefined;
    if (rest !== null && !result.interrupted) this.#queue.splice(place, 0, rest);
    else if (rest !== null && this.#panel.isEmpty) this.#panel.prefill(rest);
    this.#panel.say("dim", statusLine(await agent.status()));
  }

  async #show(reply: CommandReply): Promise<void> {
    if (reply.kind === "text" && reply.clearScreen) this.#panel.clearScreen();
    for (const line of reply.lines) this.#panel.say(reply.kind === "error" ? "yellow" : undefined, line);
    if (reply.kind === "exit") this.#leave({ exitCode: 0, deleteSession: reply.deleteSession === true });
    if (reply.kind === "edit") this.#panel.prefill(reply.text);
    if (reply.kind === "send") await this.#turn(reply.text);
    if (reply.kind === "queue") {
      if (this.#isBusy) this.#queue.push(reply.text);
      else this.#working = this.#workOff(reply.text); // the turn ended while the command ran
    }
  }

  /** An internal error must not end the conversation. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      this.#panel.say("red", `error: ${describeCause(cause)}`);
    }
  }

  #leave(end: UiEnd): void {
    if (this.#isLeaving) this.#hurry.resolve(); // the user asked a second time
    this.#isLeaving = true;
    this.#panel.dismissQuestion();
    this.#left.resolve(end);
  }
}

/** `/word`, not a path. */
function isCommandLike(text: string): boolean {
  return /^\/[\w?-]+(\s|$)/.test(text);
}

// Ctrl-C: stops the running turn, or empties the input line; a second one leaves.

type Interrupts = {
  /** When the last one stopped something; another one within `TWICE_MS` leaves. */
  readonly stoppedAtMs: number | undefined;
  /** The last key was Ctrl-C at an empty prompt. */
  readonly isArmed: boolean;
};

type InterruptMeaning = "stop" | "clear" | "warn" | "leave";

export const NO_INTERRUPTS: Interrupts = { stoppedAtMs: undefined, isArmed: false };

const TWICE_MS = 2000;

export function pressInterrupt(
  before: Interrupts,
  now: { readonly isBusy: boolean; readonly isEmpty: boolean; readonly atMs: number },
): { readonly interrupts: Interrupts; readonly meaning: InterruptMeaning } {
  const isSecond = before.stoppedAtMs !== undefined && now.atMs - before.stoppedAtMs <= TWICE_MS;
  if (isSecond) return { interrupts: before, meaning: "leave" };
  if (now.isBusy) return { interrupts: { stoppedAtMs: now.atMs, isArmed: false }, meaning: "stop" };
  if (!now.isEmpty) return { interrupts: NO_INTERRUPTS, meaning: "clear" };
  if (before.isArmed) return { interrupts: before, meaning: "leave" };
  return { interrupts: { stoppedAtMs: undefined, isArmed: true }, meaning: "warn" };
}

/** Any other key disarms a Ctrl-C at the empty prompt. */
export function pressOther(before: Interrupts): Interrupts {
  return before.isArmed ? { ...before, isArmed: false } : before;
}
