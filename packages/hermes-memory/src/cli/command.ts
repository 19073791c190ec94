// What a command is: a line of data for help, completion and parsing, and a body that is loaded when it runs.
import type { SelectedHome } from "@hermes-memory/core/home";
import type { Result } from "@hermes-memory/core/lib";
import type { Memory } from "@hermes-memory/core/memory";
import type { Screen } from "./screen.ts";

export type FlagSpec = {
  readonly kind: "boolean" | "text" | "integer";
  readonly summary: string;
  readonly short?: string;
  /** What a text flag may be. */
  readonly choices?: readonly string[];
  /** Shown in help for text and integer flags: `--limit <n>`. */
  readonly placeholder?: string;
  readonly minimum?: number;
  /** A text flag that may be given several times; its value is then the list of texts. */
  readonly isRepeatable?: boolean;
};

export type ArgumentSpec = {
  readonly name: string;
  readonly summary: string;
  readonly isOptional?: boolean;
  /** Takes every word that is left; only for the last argument. */
  readonly isVariadic?: boolean;
  readonly choices?: readonly string[];
  /** Words that completion offers, where other words are allowed too. */
  readonly offers?: readonly string[];
};

export type CommandInput = {
  /** By name; a missing optional argument is absent, and a variadic one is in `rest`. */
  readonly args: Readonly<Record<string, string>>;
  readonly rest: readonly string[];
  readonly flags: Readonly<Record<string, FlagValue>>;
};

/** A list for a flag that may be given several times. */
type FlagValue = string | number | boolean | readonly string[];

export type CommandSpec = {
  /** Words as they are typed: `memory archive list`. */
  readonly name: string;
  readonly summary: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly flags?: Readonly<Record<string, FlagSpec>>;
  readonly examples?: readonly string[];
  readonly isHidden?: boolean;
  /** Runs in the default profile when the active one is gone: it is how one gets out of that. */
  readonly worksWithoutProfile?: boolean;
  readonly load: () => Promise<CommandBody>;
};

export type CommandBody = (
  input: CommandInput,
  context: CommandContext,
) => Promise<CommandOutcome> | CommandOutcome;

/** `--json` prints `json` (undefined: nothing); a person gets `lines`. Notes go to stderr either way. */
export type CommandOutcome = {
  readonly json: unknown;
  readonly lines: readonly string[];
  readonly notes?: readonly string[];
  /** 130: the user stopped it. */
  readonly exitCode?: 0 | 1 | 130;
};

export type CommandContext = {
  readonly home: SelectedHome;
  readonly isJson: boolean;
  readonly io: Terminal;
  /** The home, opened: config and layers come from here. It is closed after the command. A broken config ends the command. */
  readonly memory: Memory;
  /** Every group of commands, for completion. */
  readonly groups: readonly Group[];
  /** Runs another command of this program in the same home, with `terminal` as its terminal. Resolves to the exit code. */
  runCommand(words: readonly string[], terminal: Terminal): Promise<number>;
};

export type Terminal = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isInteractive: boolean;
  readonly paint: Paint;
  /** Columns of the terminal that notes go to; undefined when they go elsewhere. */
  readonly noteColumns: number | undefined;
  /** Where a person can be shown something to choose from; undefined where nothing can be drawn. */
  readonly screen: Screen | undefined;
  out(text: string): void;
  note(text: string): void;
  /** Resolves when stdout has taken what was printed, so that long output does not pile up in memory. */
  drained(): Promise<void>;
  /** Everything that was piped in. */
  readInput(): Promise<string>;
  /** The same, piece by piece. */
  inputChunks(): AsyncIterable<Uint8Array>;
  /** Puts a question to the person at the terminal. False where there is none. `short`: 'y' is enough. */
  confirm(question: string, options?: { readonly short?: boolean }): Promise<boolean>;
  /** Puts a question to the person at the terminal; what they type is an answer, also nothing. Throws `Cancelled`. */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string>;
  /** Code that is not ours has run: what it left open must not keep the process from ending once the command has reported. */
  endWithoutWaiting(): void;
  /** Ctrl-C aborts the signal instead of ending the process; a second one ends it. */
  untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
};

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Paint = (style: Style, text: string) => string;

/** The person left instead of answering: with Ctrl-C, or by ending the input. */
export class Cancelled extends Error {
  readonly by: "interrupt" | "end";

  constructor(by: "interrupt" | "end") {
    super(by === "interrupt" ? "Interrupted." : "The input ended before the answer.");
    this.name = "Cancelled";
    this.by = by;
  }
}

/** Ends a command with a message. Exit code 1 unless it is the usage that was wrong (2). */
export class CommandFailure extends Error {
  readonly exitCode: 1 | 2;
  /** What `--json` prints beside `success: false` and `error`. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly hint: string | undefined;

  constructor(
    message: string,
    options: { exitCode?: 1 | 2; hint?: string; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = options.exitCode ?? 1;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}

/**
 * The value of a result, or a `CommandFailure`. A layer whose errors have an exit code or a
 * hint passes `explain`.
 */
export function unwrap<T, E extends { readonly message: string }>(
  result: Result<T, E>,
  explain: (error: E) => CommandFailure = (error) => failureOf(error),
): T {
  if (result.ok) return result.value;
  throw explain(result.error);
}

/** `--json` prints every field of the error. */
export function failureOf(
  { message, ...details }: { readonly message: string },
  hint?: string,
): CommandFailure {
  return new CommandFailure(message, { hint, details });
}

/** Commands whose names begin with the same word. */
export type Group = {
  readonly name: string;
  readonly summary: string;
  /** Groups within the group, by their full name. */
  readonly subgroups?: Readonly<Record<string, string>>;
  /** True when the group's own name is a command; it may have commands below it all the same. */
  readonly isCommand?: boolean;
  readonly load: () => Promise<readonly CommandSpec[]>;
};
