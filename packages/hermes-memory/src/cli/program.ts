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

/** The commands of a group are loaded when the user types its name; otherwise it is one line of the help. */
export const GROUPS: readonly Group[] = [
  {
    name: "chat",
    summary: "talk to a model that remembers; a question with -q, a conversation without",
    isCommand: true,
    load: async () => (await import("./chat/commands.ts")).chatCommands,
  },
  {
    name: "setup",
    summary: "choose a model, save its key, and try it",
    isCommand: true,
    load: async () => (await import("./single-commands.ts")).setupCommands,
  },
  {
    name: "model",
    summary: "show, list, choose and test the model conversations use",
    isCommand: true,
    load: async () => (await import("./model/commands.ts")).modelCommands,
  },
  {
    name: "demo",
    summary: "show what each layer does, offline, with a scripted model",
    isCommand: true,
    load: async () => (await import("./single-commands.ts")).demoCommands,
  },
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
  {
    name: "export",
    summary: "write conversations and memory to files that people and other programs read",
    isCommand: true,
    load: async () => (await import("./single-commands.ts")).exportCommands,
  },
  {
    name: "claw",
    summary: "move in from OpenClaw: memory, identity, skills, settings and conversations",
    load: async () => (await import("./claw/commands.ts")).clawCommands,
  },
  {
    name: "context",
    summary: "show and choose what keeps long conversations within the model's window",
    load: async () => (await import("./context/commands.ts")).contextCommands,
  },
  {
    name: "prompt-size",
    summary: "show how large the system prompt is, part by part, and what was left out of it",
    isCommand: true,
    load: async () => (await import("./single-commands.ts")).promptSizeCommands,
  },
  {
    name: "serve",
    summary: "give memory to every client that speaks OpenAI's or Anthropic's API (the gateway)",
    isCommand: true,
    load: async () => (await import("./gateway/commands.ts")).serveCommands,
  },
  {
    name: "service",
    summary: "start the gateway at login: a systemd user unit, or a launchd agent",
    load: async () => (await import("./gateway/commands.ts")).serviceCommands,
  },
  {
    name: "token",
    summary: "make, list and revoke the tokens with which programs use the gateway",
    load: async () => (await import("./gateway/token-commands.ts")).tokenCommands,
  },
  {
    name: "mcp",
    summary: "serve memory and past sessions to Claude Code, Codex, Cursor and other MCP clients",
    isCommand: true,
    load: async () => (await import("./mcp/commands.ts")).mcpCommands,
  },
  {
    name: "hook",
    summary: "answer another agent that starts, ends a turn or compacts: memory in, transcript out",
    isCommand: true,
    load: async () => (await import("./single-commands.ts")).hookCommands,
  },
  {
    name: "profile",
    summary: "keep several homes side by side and switch between them",
    load: async () => (await import("./profile.ts")).profileCommands,
  },
  {
    name: "config",
    summary: "read, change and check config.yaml",
    load: async () => (await import("./config/commands.ts")).configCommands,
  },
  {
    name: "status",
    summary: "show home, profile, memory usage and the last change",
    isCommand: true,
    load: async () => (await import("./status.ts")).statusCommands,
  },
  {
    name: "doctor",
    summary: "check runtime, home, settings and memory files",
    isCommand: true,
    load: async () => (await import("./single-commands.ts")).doctorCommands,
  },
  {
    name: "completion",
    summary: "print a completion script for bash, zsh or fish",
    isCommand: true,
    load: async () => (await import("./single-commands.ts")).completionCommands,
  },
];

/** Runs one command line. Returns the exit code. */
export async function runCommandLine(
  words: readonly string[],
  io: Terminal,
  system: HomeContext,
): Promise<number> {
  const { argv: typed, isJson } = takeJsonFlag(helpAsFlag(words));
  const argv = await orChat(typed, io, system);
  if (isJson && argv.length === 1 && /^(-V|--version)$/.test(argv[0] ?? "")) {
    io.out(`${JSON.stringify({ version: VERSION })}\n`);
    return 0;
  }
  let exitCode = 0;
  let logHome = resolveHome(system).home;
  const run: Run = async (spec, input, profile) => {
    const home = chooseHome(system, profile, spec);
    logHome = home.home;
    if (home.notice) io.note(`${home.notice}\n`);
    exitCode = print(await runBody(spec, input, { home, isJson, io, system }), isJson, io);
  };
  try {
    const program = await buildProgram(argv, io, run);
    const provider = await providerGroup(program, argv, { io, system });
    if (provider !== undefined) return await runProviderGroup(program, helpAsFlag(words), provider);
    if (isBareGroup(program, argv)) return 0;
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (cause) {
    await logFailure(cause, logHome);
    return renderFailure(cause, isJson, io);
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
  { lines, json, notes = [], exitCode = 0 }: CommandOutcome,
  isJson: boolean,
  io: Terminal,
): number {
  for (const note of notes) io.note(`${note}\n`);
  const text = isJson ? [] : (lines ?? render(json, io.paint));
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
async function orChat(
  argv: readonly string[],
  io: Terminal,
  system: HomeContext,
): Promise<readonly string[]> {
  const profile = profileIn(argv);
  const isBare =
    wordsOf(argv).length === 0 && argv.every((word) => !word.startsWith("-") || isProfileFlag(word));
  if (!isBare || !io.isInteractive) return argv;
  const selected = selectHome(system, { profile });
  if (!selected.ok) return argv;
  const { hasModel } = await import("./chat/has-model.ts");
  return (await hasModel(selected.value.home, io.env)) ? [...argv, "chat"] : argv;
}

/** `help memory add` is `memory add --help`. */
function helpAsFlag(words: readonly string[]): readonly string[] {
  return words[0] === "help" ? [...words.slice(1), "--help"] : words;
}

/** `--json` may be anywhere on the line. After `--` it is a text. */
function takeJsonFlag(words: readonly string[]): { argv: readonly string[]; isJson: boolean } {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const argv = words.filter((word, index) => word !== "--json" || index >= end);
  return { argv, isJson: argv.length < words.length };
}

type Run = (spec: CommandSpec, input: CommandInput, profile: string | undefined) => Promise<void>;

async function buildProgram(argv: readonly string[], io: Terminal, run: Run): Promise<Command> {
  const program = configure(new Command("hermes"), io)
    .description("Memory for agents: curated notes that survive sessions, with history and undo.")
    .version(VERSION, "-V, --version", "print the version")
    .option("-p, --profile <name>", "work in this profile instead of the active one");
  const [asked] = wordsOf(argv);
  for (const group of GROUPS) {
    if (group.name === asked) for (const spec of await group.load()) addCommand(program, spec, io, run);
    if (group.name !== asked || !group.isCommand)
      commandAt(program, [group.name], io).description(group.summary);
    if (group.name === asked)
      for (const [name, summary] of Object.entries(group.subgroups ?? {}))
        commandAt(program, name.split(" "), io).description(summary);
  }
  return program;
}

type ProviderGroup = { readonly name: string; readonly hasHandler: boolean };

/** An unknown first word may be the name of the active provider, which brings its own commands. Without a word, it is a line of the help. */
async function providerGroup(
  program: Command,
  argv: readonly string[],
  { io, system }: { readonly io: Terminal; readonly system: HomeContext },
): Promise<ProviderGroup | undefined> {
  const [asked] = wordsOf(argv);
  if (GROUPS.some(({ name }) => name === asked) || argv.some((word) => /^(-V|--version)$/.test(word)))
    return undefined;
  const profile = profileIn(argv);
  const selected = selectHome(system, { profile });
  if (!selected.ok) return undefined;
  const { addOwnCommands, ownCommandsLine } = await import("./provider-commands.ts");
  const makeCommand = (name: string): Command => commandAt(program, [name], io);
  if (asked === undefined) {
    const line = await ownCommandsLine(selected.value.home); // reads files only
    if (line !== undefined && !GROUPS.some(({ name }) => name === line.name))
      makeCommand(line.name).description(`${line.help} (provider)`);
    return undefined;
  }
  const own = await addOwnCommands({ home: selected.value.home, asked, io, makeCommand });
  return own && { name: asked, ...own };
}

/** Gets every word unchanged: the plugin handles `--json` itself. */
async function runProviderGroup(
  program: Command,
  words: readonly string[],
  own: ProviderGroup,
): Promise<number> {
  if (!own.hasHandler && isBareGroup(program, words)) return 0;
  try {
    await program.parseAsync([...words], { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (cause) {
    if (cause instanceof CommanderError) throw cause;
    throw (await import("./provider-commands.ts")).ownCommandFailure(own.name, cause);
  }
}

/** `hermes` or `hermes memory` alone prints the help, with exit code 0. */
function isBareGroup(program: Command, argv: readonly string[]): boolean {
  if (argv.some((word) => /^(-h|--help|-V|--version)$/.test(word))) return false;
  const words = wordsOf(argv);
  if (words.length === 1 && GROUPS.some(({ name, isCommand }) => isCommand && name === words[0]))
    return false;
  let command = program;
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (!next) return false;
    command = next;
  }
  if (command.commands.length === 0) return false;
  command.outputHelp();
  return true;
}

function addCommand(program: Command, spec: CommandSpec, io: Terminal, run: Run): void {
  const command = commandAt(program, spec.name.split(" "), io, spec.isHidden).description(spec.summary);
  for (const argument of spec.arguments ?? []) command.addArgument(toArgument(argument));
  for (const [name, flag] of Object.entries(spec.flags ?? {})) command.addOption(toOption(name, flag));
  command.option("--json", "print the result as JSON"); // for the help only: takeJsonFlag removes it before parsing
  if (spec.examples?.length) {
    command.addHelpText("after", `\nExamples:\n${spec.examples.map((line) => `  ${line}`).join("\n")}`);
  }
  command.action(async (...given: unknown[]) => {
    const values = given.slice(0, spec.arguments?.length ?? 0);
    const args = Object.fromEntries(
      (spec.arguments ?? []).flatMap(({ name }, index) =>
        values[index] === undefined || Array.isArray(values[index]) ? [] : [[name, String(values[index])]],
      ),
    );
    const rest = values.flatMap((value) => (Array.isArray(value) ? value.map(String) : []));
    const flags = command.opts<CommandInput["flags"]>();
    await run(spec, { args, rest, flags }, program.opts<{ profile?: string }>().profile);
  });
}

/** The command at this path. Missing ones are made. */
function commandAt(program: Command, words: readonly string[], io: Terminal, isHidden = false): Command {
  return words.reduce((parent, word) => {
    const existing = parent.commands.find((each) => each.name() === word);
    if (existing) return existing;
    const made = configure(new Command(word), io);
    parent.addCommand(made, { hidden: isHidden });
    return made;
  }, program);
}

function configure(command: Command, io: Terminal): Command {
  return command
    .exitOverride()
    .showSuggestionAfterError(true)
    .showHelpAfterError("Add --help for the commands and flags. A text that starts with '-' goes after '--'.")
    .configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.note(text) })
    .allowExcessArguments(false);
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

function wordsOf(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i] as string;
    if (word === "-p" || word === "--profile") i += 1;
    else if (!word.startsWith("-")) words.push(word);
  }
  return words;
}

/** The value of --profile before commander parses the line. */
function profileIn(argv: readonly string[]): string | undefined {
  const at = argv.findIndex(isProfileFlag);
  const word = argv[at];
  if (word === undefined) return undefined;
  if (word === "-p" || word === "--profile") return argv[at + 1];
  return word.replace(/^--profile=|^-p=?/, "");
}

function isProfileFlag(word: string): boolean {
  return word.startsWith("-p") || /^--profile(=|$)/.test(word);
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
