// The table of commands, the parser that is built from it, and how one command line is run.
import {
  DEFAULT_PROFILE,
  type HomeContext,
  resolveHome,
  type SelectedHome,
  selectHome,
} from "@hermes-memory/core/internal/home";
import { openHome } from "@hermes-memory/core/internal/memory";
import { VERSION } from "@hermes-memory/core/internal/version";
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import {
  type ArgumentSpec,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  type CommandSpec,
  type FlagSpec,
  type Group,
  type Terminal,
} from "./command.ts";
import { logFailure, renderFailure } from "./failure.ts";
import { render } from "./render.ts";

const small = (name: string, summary: string): Group => ({
  name,
  summary,
  load: async () =>
    (await import("./small-groups.ts")).smallGroups.filter((spec) => spec.name.split(" ")[0] === name),
});

/** The commands of a group are loaded when the user types its name; otherwise it is one line of the help. */
export const GROUPS: readonly Group[] = [
  {
    name: "chat",
    summary: "talk to a model that remembers; a question with -q, a conversation without",
    load: async () => (await import("./chat/commands.ts")).chatCommands,
  },
  small("setup", "choose a model, save its key, and try it"),
  {
    name: "model",
    summary: "show, list, choose and test the model conversations use",
    load: async () => (await import("./model/commands.ts")).modelCommands,
  },
  small("demo", "show what each layer does, offline, with a scripted model"),
  {
    name: "memory",
    summary: "show, edit, explain and undo what an agent remembers",
    subgroups: {
      "memory archive": "find and restore entries that were archived to make room",
      "memory outbox": "show, send and clear writes that wait for a provider's server",
    },
    load: async () => (await import("./memory/commands.ts")).memoryCommands,
  },
  {
    name: "skills",
    summary: "list, read, write, switch off and undo the skills of an agent",
    load: async () => (await import("./skills/commands.ts")).skillsCommands,
  },
  {
    name: "curator",
    summary: "tidy memory and skills: find duplicates, merge, archive, and take it back",
    load: async () => (await import("./curator/commands.ts")).curatorCommands,
  },
  {
    name: "sessions",
    summary: "list, read, export, tidy and repair stored conversations",
    load: async () => (await import("./sessions/commands.ts")).sessionsCommands,
  },
  small("export", "write conversations and memory to files that people and other programs read"),
  {
    name: "claw",
    summary: "move in from OpenClaw: memory, identity, skills, settings and conversations",
    load: async () => (await import("./claw/commands.ts")).clawCommands,
  },
  small("context", "show and choose what keeps long conversations within the model's window"),
  small("prompt-size", "show how large the system prompt is, part by part, and what was left out of it"),
  small("serve", "give memory to every client that speaks OpenAI's or Anthropic's API (the gateway)"),
  small("service", "start the gateway at login: a systemd user unit, or a launchd agent"),
  small("token", "make, list and revoke the tokens with which programs use the gateway"),
  {
    name: "mcp",
    summary: "serve memory and past sessions to Claude Code, Codex, Cursor and other MCP clients",
    load: async () => (await import("./mcp/commands.ts")).mcpCommands,
  },
  small("hook", "answer another agent that starts, ends a turn or compacts: memory in, transcript out"),
  {
    name: "profile",
    summary: "keep several homes side by side and switch between them",
    load: async () => (await import("./profile.ts")).profileCommands,
  },
  small("config", "read, change and check config.yaml"),
  small("status", "show home, profile, memory usage and the last change"),
  small("doctor", "check runtime, home, settings and memory files"),
  small("completion", "print a completion script for bash, zsh or fish"),
];

type GlobalOptions = { readonly profile?: string; readonly json?: boolean; readonly version?: boolean };

/** Runs one command line. Returns the exit code. */
export async function runCommandLine(
  words: readonly string[],
  io: Terminal,
  system: HomeContext,
): Promise<number> {
  const argv = words[0] === "help" ? [...words.slice(1), "--help"] : [...words];
  const globals = newProgram(io);
  const isJson = (): boolean => globals.opts<GlobalOptions>().json === true;
  let exitCode = 0;
  let logHome = resolveHome(system).home;
  const run: Run = async (spec, input) => {
    const home = chooseHome(system, globals.opts<GlobalOptions>().profile, spec);
    logHome = home.home;
    if (home.notice) io.note(`${home.notice}\n`);
    exitCode = print(await runBody(spec, input, { home, isJson: isJson(), io, system }), isJson(), io);
  };
  try {
    // The first word says which commands are loaded; then the whole line is parsed.
    const { operands, unknown } = globals.parseOptions(argv);
    const { profile, version } = globals.opts<GlobalOptions>();
    if (version) return print({ json: { version: VERSION }, lines: [VERSION] }, isJson(), io);
    const isBare = operands.length + unknown.length === 0;
    const isTalk = isBare && (await isChat(profile, io, system));
    if (isTalk) argv.push("chat");
    const asked = isTalk ? "chat" : operands[0];
    const isOurs = GROUPS.some(({ name }) => name === asked);
    const selected = isOurs ? undefined : selectHome(system, { profile });
    const home = selected?.ok ? selected.value.home : undefined;
    const program = await withGroups(newProgram(io, isOurs), asked, run);
    const own = home === undefined ? undefined : await addProvider(program, { home, asked, io });
    if (!isOurs && own === undefined) addJson(program); // so that an unknown word is what is wrong
    await program.parseAsync(argv, { from: "user" }).catch((cause: unknown) => {
      throw own === undefined || cause instanceof CommanderError ? cause : own.failure(cause);
    });
    return own === undefined ? exitCode : Number(process.exitCode ?? 0);
  } catch (cause) {
    await logFailure(cause, logHome);
    return renderFailure(cause, isJson(), io);
  }
}

async function runBody(
  spec: CommandSpec,
  input: CommandInput,
  { system, ...call }: Pick<CommandContext, "home" | "isJson" | "io"> & { readonly system: HomeContext },
): Promise<CommandOutcome> {
  const body = await spec.load();
  await using memory = openHome({ home: call.home.home, env: call.io.env });
  const runCommand: CommandContext["runCommand"] = (words, terminal) =>
    runInHome(words, terminal, { system, home: call.home });
  return await body(input, { ...call, memory, groups: GROUPS, runCommand });
}

/** Returns the exit code. */
function print(
  { lines, json, shown = json, notes = [], exitCode = 0 }: CommandOutcome,
  isJson: boolean,
  io: Terminal,
): number {
  for (const note of notes) io.note(`${note}\n`);
  const text = isJson ? [] : (lines ?? render(shown, io.paint));
  if (text.length > 0) io.out(`${text.join("\n")}\n`);
  if (isJson && json !== undefined) io.out(`${JSON.stringify(json, null, 2)}\n`);
  return exitCode;
}

/** For a command that runs another one, such as `/curator` in a chat: in the same home, even if another profile became active. */
function runInHome(
  words: readonly string[],
  io: Terminal,
  { system, home }: { readonly system: HomeContext; readonly home: SelectedHome },
): Promise<number> {
  // HERMES_HOME alone would lead from the root home to the active profile, so the default profile is named.
  const profile = home.profile === DEFAULT_PROFILE ? ["-p", DEFAULT_PROFILE] : [];
  const env = { ...io.env, HERMES_HOME: home.home };
  return runCommandLine([...profile, ...words], io, { ...system, env });
}

/** `hermes` alone is `hermes chat`, on a terminal and once a model is chosen. */
async function isChat(profile: string | undefined, io: Terminal, system: HomeContext): Promise<boolean> {
  const selected = selectHome(system, { profile });
  if (!selected.ok || !io.isInteractive) return false;
  const { hasModel } = await import("./chat/has-model.ts");
  return hasModel(selected.value.home, io.env);
}

type Run = (spec: CommandSpec, input: CommandInput) => Promise<void>;

class HelpfulCommand extends Command {
  override createCommand(name?: string): Command {
    return new HelpfulCommand(name);
  }

  /** `hermes memory` alone is no error. */
  override help(): never {
    return super.help();
  }
}

/** Commands of a provider handle `--json` themselves. */
function newProgram(io: Terminal, hasJson = true): Command {
  const program = new HelpfulCommand("hermes")
    .description("Memory for agents: curated notes that survive sessions, with history and undo.")
    .option("-p, --profile <name>", "work in this profile instead of the active one")
    .option("-V, --version", "print the version")
    .exitOverride()
    .showHelpAfterError("Add --help for the commands and flags. A text that starts with '-' goes after '--'.")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.note(text) });
  return hasJson ? addJson(program) : program;
}

function addJson(program: Command): Command {
  return program.option("--json", "print the result as JSON");
}

/** The commands of the group that was asked for, and a line of the help for every other one. */
async function withGroups(program: Command, asked: string | undefined, run: Run): Promise<Command> {
  for (const { name, summary, subgroups = {}, load } of GROUPS) {
    commandAt(program, [name]).description(summary);
    if (name !== asked) continue;
    for (const spec of await load()) addCommand(program, spec, run);
    for (const [path, text] of Object.entries(subgroups))
      commandAt(program, path.split(" ")).description(text);
  }
  return program;
}

/** An unknown first word may be the name of the active provider, which brings its own commands. Without a word, it is a line of the help. */
async function addProvider(
  program: Command,
  { home, asked, io }: { readonly home: string; readonly asked: string | undefined; readonly io: Terminal },
): Promise<{ failure(cause: unknown): CommandFailure } | undefined> {
  const { addOwnCommands, ownCommandFailure, ownCommandsLine } = await import("./provider-commands.ts");
  if (asked === undefined) {
    const line = await ownCommandsLine(home); // reads files only
    if (line !== undefined && !GROUPS.some(({ name }) => name === line.name))
      program.command(line.name).description(`${line.help} (provider)`);
    return undefined;
  }
  const isFound = await addOwnCommands({ home, asked, io, program });
  return isFound ? { failure: (cause) => ownCommandFailure(asked, cause) } : undefined;
}

function addCommand(program: Command, spec: CommandSpec, run: Run): void {
  const command = commandAt(program, spec.name.split(" "), spec.isHidden).description(spec.summary);
  const specs = spec.arguments ?? [];
  for (const argument of specs) command.addArgument(toArgument(argument));
  for (const [name, flag] of Object.entries(spec.flags ?? {})) command.addOption(toOption(name, flag));
  if (spec.examples?.length) {
    command.addHelpText("after", `\nExamples:\n${spec.examples.map((line) => `  ${line}`).join("\n")}`);
  }
  command.action(async () => {
    const given = specs.map(({ name }, index) => [name, command.processedArgs[index] as unknown] as const);
    const args = given.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
    const rest = given.flatMap(([, value]) => (Array.isArray(value) ? value.map(String) : []));
    await run(spec, { args: Object.fromEntries(args), rest, flags: command.opts<CommandInput["flags"]>() });
  });
}

/** The command at this path. Missing ones are made. */
function commandAt(program: Command, words: readonly string[], isHidden = false): Command {
  return words.reduce(
    (parent, word) =>
      parent.commands.find((each) => each.name() === word) ?? parent.command(word, { hidden: isHidden }),
    program,
  );
}

function toArgument({ name, summary, isOptional, isVariadic, choices }: ArgumentSpec): Argument {
  const shown = isVariadic ? `${name}...` : name;
  const argument = new Argument(isOptional ? `[${shown}]` : `<${shown}>`, summary);
  return choices ? argument.choices([...choices]) : argument;
}

function toOption(name: string, flag: FlagSpec): Option {
  const short = flag.short ? `-${flag.short}, ` : "";
  const value =
    flag.kind === "boolean" ? "" : ` <${flag.placeholder ?? (flag.kind === "integer" ? "n" : "text")}>`;
  const option = new Option(`${short}--${name}${value}`, flag.summary);
  if (flag.choices) option.choices([...flag.choices]);
  if (flag.isRepeatable)
    option.argParser((text, before: readonly string[] | undefined) => [...(before ?? []), text]);
  if (flag.kind === "integer") option.argParser((text) => wholeNumber(text, flag.minimum ?? 0));
  option.attributeName = () => name; // `--dry-run` is `flags["dry-run"]`
  option.negate = false; // `--no-backup` is a flag of that name, true when given
  return option;
}

function wholeNumber(text: string, minimum: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < minimum) {
    throw new InvalidArgumentError(`Give a whole number of at least ${minimum}.`);
  }
  return value;
}

function chooseHome(system: HomeContext, profile: string | undefined, spec: CommandSpec): SelectedHome {
  const selected = selectHome(system, { profile });
  if (selected.ok) return selected.value;
  const { kind, message } = selected.error;
  if (spec.worksWithoutProfile && profile === undefined) {
    const standard = selectHome(system, { profile: DEFAULT_PROFILE });
    if (standard.ok) return { ...standard.value, notice: message };
  }
  throw new CommandFailure(message, { details: { kind } });
}
