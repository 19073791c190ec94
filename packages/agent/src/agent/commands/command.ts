// What a slash command is, what it gets and what comes back. Entrances print the lines; whatever is in them is made safe there.
import type { HermesConfig } from "@hermes-memory/core/config";
import type { Clock } from "@hermes-memory/core/lib";
import type { AgentSurface } from "../surface.ts";

type Told<Kind extends string> = {
  readonly kind: Kind;
  readonly lines: readonly string[];
  /** The same as data, snake case. */
  readonly json: unknown;
};

export type CommandReply =
  | (Told<"text"> & { readonly clearScreen?: true })
  /** The entrance closes the agent, with `deleteSession` when that is set. */
  | (Told<"exit"> & { readonly deleteSession?: true })
  /** `text` goes into the input line, to be changed and sent again. */
  | (Told<"edit"> & { readonly text: string })
  /** `text` is sent as the next message. */
  | (Told<"send"> & { readonly text: string })
  /** `text` is sent as the next message once the running turn has ended; at once when none runs. */
  | (Told<"queue"> & { readonly text: string })
  | Told<"error">;

/** What a text does that the user sends while a turn runs. */
export type BusyMode = HermesConfig["display"]["busyInputMode"];

/** What the entrance gives beside the agent. */
export type CommandHost = {
  readonly config: HermesConfig;
  /** Asks a person. False where nobody can be asked. */
  confirm(question: string): Promise<boolean>;
  readonly clock?: Clock;
  /** Absent where nothing can be typed while a turn runs. */
  readonly busy?: { mode(): BusyMode; setMode(mode: BusyMode): void };
  /** Runs `hermes curator <words>`. Absent where there is no command line. */
  readonly runCurator?: (words: readonly string[]) => Promise<CommandReply>;
};

export type CommandCall = {
  readonly agent: AgentSurface;
  readonly host: CommandHost;
  /** Stripped; everything behind the name, line breaks included. */
  readonly args: string;
  /** All of ours, for `/help`. */
  readonly commands: readonly SlashCommand[];
};

export type CommandGroup = "session" | "conversation" | "memory" | "model" | "chat";

export type SlashCommand = {
  /** Without the slash. */
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly group: CommandGroup;
  readonly summary: string;
  /** What may be typed behind the name; "" for nothing. */
  readonly usage: string;
  /** Fixed words behind the name, for completion. */
  readonly words?: readonly string[];
  /** Would pull the conversation away from under a running turn; some only with arguments, and show something without. */
  readonly needsIdle?: "always" | "with_arguments";
  /** May reject: the runner turns it into an error reply. */
  run(call: CommandCall): CommandReply | Promise<CommandReply>;
};
