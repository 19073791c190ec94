// The types of a slash command: what it is given and what it replies. The entrance (terminal chat, pipe, gateway) prints the
// reply's lines and makes them safe for its output.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import type { Clock } from "@hermes-memory/core/internal/lib";
import type { AgentSurface } from "../surface.ts";

type ReplyOf<Kind extends string> = {
  readonly kind: Kind;
  readonly lines: readonly string[];
  /** The same content as data, with snake case fields. */
  readonly json: unknown;
};

/** What the program that runs a slash command has to do with its outcome. */
export type CommandReply =
  | (ReplyOf<"text"> & { readonly clearScreen?: boolean })
  /** The entrance closes the agent, with `deleteSession` when that is set. */
  | (ReplyOf<"exit"> & { readonly deleteSession?: true })
  /** The entrance puts `text` into the input line, for the user to edit and send again. */
  | (ReplyOf<"edit"> & { readonly text: string })
  /** The entrance sends `text` as the next message. */
  | (ReplyOf<"send"> & { readonly text: string })
  /** The entrance sends `text` as the next message once the running turn has ended; at once when no turn runs. */
  | (ReplyOf<"queue"> & { readonly text: string })
  | ReplyOf<"error">;

/** How a text is handled that the user sends while a turn runs. */
export type BusyMode = HermesConfig["display"]["busyInputMode"];

/** Functions that the chat or gateway provides besides the agent. */
export type CommandHost = {
  readonly config: HermesConfig;
  /** Asks the user. False when the entrance cannot ask. */
  confirm(question: string): Promise<boolean>;
  readonly clock?: Clock;
  /** Absent when the user cannot type while a turn runs. */
  readonly busy?: { mode(): BusyMode; setMode(mode: BusyMode): void };
  /** Runs `hermes curator <words>`. Absent when the entrance has no command line. */
  readonly runCurator?: (words: readonly string[]) => Promise<CommandReply>;
};

export type CommandCall = {
  readonly agent: AgentSurface;
  readonly host: CommandHost;
  /** Everything after the command's name, stripped, line breaks included. */
  readonly args: string;
};

export type CommandGroup = "session" | "conversation" | "memory" | "model" | "chat";

export type SlashCommand = {
  /** Without the slash. */
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly group: CommandGroup;
  readonly summary: string;
  /** The arguments, as help shows them; "" when there are none. */
  readonly usage: string;
  /** Fixed words after the name, for completion. */
  readonly words?: readonly string[];
  /**
   * Refused while a turn runs, because it would change the conversation that the turn works on. `with_arguments`: without
   * arguments the command only shows something, and runs at any time.
   */
  readonly needsIdle?: "always" | "with_arguments";
  /** May reject: `runSlashCommand` turns a rejection into an error reply. */
  run(call: CommandCall): CommandReply | Promise<CommandReply>;
};
