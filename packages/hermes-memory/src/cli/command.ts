// A command: a spec for help, completion and parsing, and a body that is loaded when the command runs.
import type { SelectedHome } from "@hermes-memory/core/internal/home";
import type { Result } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";

export type FlagSpec = {
  readonly kind: "boolean" | "text" | "integer";
  readonly summary: string;
  readonly short?: string;
  /** The values that a text flag accepts. */
  readonly choices?: readonly string[];
  /** Shown in help for text and integer flags: `--limit <n>`. */
  readonly placeholder?: string;
  readonly minimum?: number;
  /** May be given several times; the value is then a list of texts. */
  readonly isRepeatable?: boolean;
};

/** How a table of commands declares its flags. */
export const flag = {
  on: (summary: string, short?: string): FlagSpec => ({ kind: "boolean", summary, short }),
  text: (placeholder: string, summary: string, short?: string): FlagSpec => ({
    ...{ kind: "text", placeholder, summary },
    short,
  }),
  /** May be given several times. */
  texts: (placeholder: string, summary: string): FlagSpec => ({
    ...{ kind: "text", placeholder, summary },
    isRepeatable: true,
  }),
  choice: (choices: readonly string[], summary: string, placeholder?: string): FlagSpec => ({
    ...{ kind: "text", choices, summary },
    placeholder,
  }),
  /** At least 1. */
  count: (summary: string): FlagSpec => ({ kind: "integer", minimum: 1, summary }),
};

export type ArgumentSpec = {
  readonly name: string;
  readonly summary: string;
  readonly isOptional?: boolean;
  /** Takes all remaining words; only for the last argument. */
  readonly isVariadic?: boolean;
  readonly choices?: readonly string[];
  /** Words that completion offers. Others are allowed too. */
  readonly offers?: readonly string[];
};

export type CommandInput = {
  /** By name. A missing optional argument is absent; the words of a variadic one are in `rest`. */
  readonly args: Readonly<Record<string, string>>;
  readonly rest: readonly string[];
  readonly flags: Readonly<Record<string, FlagValue>>;
};

/** A list for a flag that may be given several times. */
type FlagValue = string | number | boolean | readonly string[];

export type CommandSpec = {
  /** The words to type: `memory archive list`. */
  readonly name: string;
  readonly summary: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly flags?: Readonly<Record<string, FlagSpec>>;
  readonly examples?: readonly string[];
  readonly isHidden?: boolean;
  /** Runs in the default profile when the active one was deleted, so that the user can choose another. */
  readonly worksWithoutProfile?: boolean;
  readonly load: () => Promise<CommandBody>;
};

type Row = Omit<CommandSpec, "name" | "summary" | "arguments"> & {
  /** A summary for each argument in the usage, or a summary and what else there is to say. */
  readonly args?: Readonly<Record<string, string | Pick<ArgumentSpec, "summary" | "choices" | "offers">>>;
};

/** A row of a table of commands. `usage`: its words, then `<argument>`, `[optional]` or `[several...]`. */
export function command(usage: string, summary: string, { args = {}, ...rest }: Row): CommandSpec {
  const [name = "", ...shown] = usage.split(/ (?=[<[])/);
  const specs = shown.map((argument): ArgumentSpec => {
    const [, key = "", dots] = /^.(\w+)(\.\.\.)?.$/.exec(argument) ?? [];
    const given = args[key] ?? "";
    const about = typeof given === "string" ? { summary: given } : given;
    return { name: key, isOptional: argument.startsWith("["), isVariadic: dots !== undefined, ...about };
  });
  return { name, summary, ...rest, arguments: specs };
}

export type CommandBody = (
  input: CommandInput,
  context: CommandContext,
) => Promise<CommandOutcome> | CommandOutcome;

/** `--json` prints `json` (undefined: nothing); a person gets its text by render.ts. Notes go to stderr either way. */
export type CommandOutcome = {
  readonly json: unknown;
  /** Rendered for a person in place of `json`: fewer fields, or other columns. */
  readonly shown?: unknown;
  /** In place of that text, where it cannot say it. */
  readonly lines?: readonly string[];
  readonly notes?: readonly string[];
  /** 3: refused, or nobody confirmed it; only commands that document it. 130: interrupted with Ctrl-C. */
  readonly exitCode?: 0 | 1 | 3 | 130;
};

export type CommandContext = {
  readonly home: SelectedHome;
  readonly isJson: boolean;
  readonly io: Terminal;
  /** The opened home, from which config and layers come. It is closed after the command. A broken config.yaml ends the command. */
  readonly memory: Home;
  /** Every group of commands, for completion. */
  readonly groups: readonly Group[];
  /** Runs another command of this program in the same home, with `terminal` as its terminal. Resolves to the exit code. */
  runCommand(words: readonly string[], terminal: Terminal): Promise<number>;
};

export type Terminal = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isInteractive: boolean;
  /** stdout is a terminal, and no file, pipe or log. */
  readonly isOutTerminal: boolean;
  readonly paint: Paint;
  /** Columns of the terminal that stderr is; undefined when it is none. */
  readonly noteColumns: number | undefined;
  /** A user looks at a terminal that can do more than print lines. */
  readonly canDraw: boolean;
  out(text: string): void;
  note(text: string): void;
  /** Resolves when stdout has taken the output so far, so that long output does not fill memory. */
  drained(): Promise<void>;
  /** All of standard input. */
  readInput(): Promise<string>;
  /** Standard input in chunks. */
  inputChunks(): AsyncIterable<Uint8Array>;
  /** Asks the user to type 'yes', or with `short` at least 'y'. False without a terminal. */
  confirm(question: string, options?: { readonly short?: boolean }): Promise<boolean>;
  /** Asks the user for a line, which may be empty. Throws `Cancelled`. */
  ask(question: string, options?: AskOptions): Promise<string>;
  /** Lets the user choose one of the labels, and returns its index. Throws `Cancelled`. */
  choose(choice: Choice): Promise<number>;
  /** For a command that ran code of a plugin: handles it left open must not keep the process alive after the outcome is printed. */
  endWithoutWaiting(): void;
  /** The first Ctrl-C aborts the signal, a second one ends the process. */
  untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
};

export type AskOptions = {
  readonly isSecret?: boolean;
  /** The answer to an empty line. It is shown, so it must be no secret. */
  readonly standard?: string;
  /** Why the answer is refused: the user is asked again. */
  readonly problem?: (answer: string) => string | undefined;
};

export type Choice = {
  readonly title: string;
  /** At least one. */
  readonly labels: readonly string[];
  readonly preselected: number;
  /** The user narrows a long list by typing words that a label has. */
  readonly isFiltered?: boolean;
};

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Paint = (style: Style, text: string) => string;

/** The user left a question without an answer: with Ctrl-C, or by ending the input. Commands save only after their last question. */
export class Cancelled extends Error {
  readonly by: "interrupt" | "end";

  constructor(by: "interrupt" | "end", message = "Cancelled. No setting was changed.") {
    super(message);
    this.name = "Cancelled";
    this.by = by;
  }
}

/** Ends a command with a message. Exit code 1, or 2 for wrong usage. */
export class CommandFailure extends Error {
  readonly exitCode: 1 | 2;
  /** Fields that `--json` prints beside `success: false` and `error`. */
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

/** For a command line that contradicts itself or lacks something. */
export function usageFailure(
  message: string,
  { hint, ...details }: { readonly hint?: string; readonly [field: string]: unknown } = {},
): CommandFailure {
  return new CommandFailure(message, { exitCode: 2, hint, details: { kind: "usage", ...details } });
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
  /** Summaries of groups within the group, by full name. */
  readonly subgroups?: Readonly<Record<string, string>>;
  readonly load: () => Promise<readonly CommandSpec[]>;
};
