// Turns the table of commands into a parser, runs the one that was asked for, and renders what comes of it.

import {
  DEFAULT_PROFILE,
  type HomeContext,
  resolveHome,
  type SelectedHome,
  selectHome,
} from "@hermes-memory/core/home";
import { openMemory } from "@hermes-memory/core/memory";
import { VERSION } from "@hermes-memory/core/version";
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import {
  type ArgumentSpec,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  type CommandSpec,
  type FlagSpec,
  type Group,
  type Terminal,
} from "./command.ts";
import { logFailure, renderFailure } from "./failure.ts";

/** A group's commands are loaded when the user asks for the group; until then it is one line of the help. */
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
    load: async () => (await import("./demo/command.ts")).demoCommands,
  },
  {
    name: "memory",
    summary: "show, edit, explain and undo what an agent remembers",
    subgroups: { "memory archive": "find and bring back entries that made room for newer ones" },
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
    name: "mcp",
    summary: "serve memory and past sessions to Claude Code, Codex, Cursor and other MCP clients",
    isCommand: true,
    load: async () => (await import("./mcp/commands.ts")).mcpCommands,
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
  const { argv: typed, isJson } = takeJsonFlag(askedForHelp(words));
  const argv = await orChat(typed, io, system);
  if (isJson && argv.length === 1 && /^(-V|--version)$/.test(argv[0] ?? "")) {
    io.out(`${JSON.stringify({ version: VERSION })}\n`);
    return 0;
  }
  let exitCode = 0;
  let chosen = resolveHome(system).home;
  const run = async (spec: CommandSpec, input: CommandInput, profile: string | undefined): Promise<void> => {
    const home = chooseHome(system, profile, spec);
    chosen = home.home;
    if (home.notice) io.note(`${home.notice}\n`);
    const body = await spec.load();
    const memory = openMemory({ home: home.home, env: io.env });
    let outcome: CommandOutcome;
    try {
      outcome = await body(input, {
        home,
        isJson,
        io,
        memory,
        groups: GROUPS,
        runCommand: (words, terminal) => runInHome(words, terminal, { system, home }),
      });
    } finally {
      await memory.close();
    }
    for (const note of outcome.notes ?? []) io.note(`${note}\n`);
    if (!isJson) {
      if (outcome.lines.length > 0) io.out(`${outcome.lines.join("\n")}\n`);
    } else if (outcome.json !== undefined) io.out(`${JSON.stringify(outcome.json, null, 2)}\n`);
    exitCode = outcome.exitCode ?? 0;
  };
  try {
    const program = await buildProgram(argv, io, run);
    const own = await providerGroup(program, argv, { io, system });
    if (own !== undefined) return await runOwn(program, askedForHelp(words), own);
    if (isBareGroup(program, argv)) return 0;
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (cause) {
    await logFailure(cause, chosen);
    return renderFailure(cause, isJson, io);
  }
}

/** For a command that runs another one, such as `/curator` in a chat: in its home, whichever profile is active by now. */
function runInHome(
  words: readonly string[],
  io: Terminal,
  { system, home }: { readonly system: HomeContext; readonly home: SelectedHome },
): Promise<number> {
  // The root home alone would lead to the active profile, so the default one is named.
  const profile = home.profile === DEFAULT_PROFILE ? ["-p", DEFAULT_PROFILE] : [];
  const env = { ...io.env, HERMES_HOME: home.home };
  return runCommandLine([...profile, ...words], io, { ...system, env });
}

/** `hermes` alone, by somebody who sits at a terminal and has chosen a model, is `hermes chat`. */
async function orChat(
  argv: readonly string[],
  io: Terminal,
  system: HomeContext,
): Promise<readonly string[]> {
  const profile = profileIn(argv);
  const isBare =
    wordsOf(argv).length === 0 && argv.every((word) => !word.startsWith("-") || isProfileFlag(word));
  if (!isBare || !io.isInteractive) return argv;
  const selected = selectHome(system, profile === undefined ? {} : { profile });
  if (!selected.ok) return argv;
  const { hasModel } = await import("./chat/is-configured.ts");
  return (await hasModel(selected.value.home, io.env)) ? [...argv, "chat"] : argv;
}

/** `help memory add` is `memory add --help`. */
function askedForHelp(words: readonly string[]): readonly string[] {
  return words[0] === "help" ? [...words.slice(1), "--help"] : words;
}

/** `--json` may stand anywhere, also before the command; behind `--` it is a text like any other. */
function takeJsonFlag(words: readonly string[]): { argv: readonly string[]; isJson: boolean } {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const argv = words.filter((word, index) => word !== "--json" || index >= end);
  return { argv, isJson: argv.length < words.length };
}

type Run = (spec: CommandSpec, input: CommandInput, profile: string | undefined) => Promise<void>;

/** Only the group that was asked for brings its commands along; the others are a line in the help. */
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

/** A first word that is none of ours may be the active provider's; without a word, its group is a line in the help. */
async function providerGroup(
  program: Command,
  argv: readonly string[],
  { io, system }: { readonly io: Terminal; readonly system: HomeContext },
): Promise<ProviderGroup | undefined> {
  const [asked] = wordsOf(argv);
  if (GROUPS.some(({ name }) => name === asked) || argv.some((word) => /^(-V|--version)$/.test(word)))
    return undefined;
  const profile = profileIn(argv);
  const selected = selectHome(system, profile === undefined ? {} : { profile });
  if (!selected.ok) return undefined;
  const { addOwnCommands, ownCommandsLine } = await import("./provider-commands.ts");
  const makeCommand = (name: string): Command => commandAt(program, [name], io);
  if (asked === undefined) {
    const line = await ownCommandsLine(selected.value.home); // the help lists every command
    if (line !== undefined && !GROUPS.some(({ name }) => name === line.name))
      makeCommand(line.name).description(`${line.help} (provider)`);
    return undefined;
  }
  const own = await addOwnCommands({ home: selected.value.home, asked, io, makeCommand });
  return own && { name: asked, ...own };
}

/** With every word as it was typed: `--json` is the plugin's to understand. */
async function runOwn(program: Command, words: readonly string[], own: ProviderGroup): Promise<number> {
  if (!own.hasHandler && isBareGroup(program, words)) return 0;
  try {
    await program.parseAsync([...words], { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (cause) {
    if (cause instanceof CommanderError) throw cause;
    throw (await import("./provider-commands.ts")).ownCommandFailure(own.name, cause);
  }
}

/** `hermes` or `hermes memory` alone: not a mistake but a question, answered with the help. */
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
  command.option("--json", "print the result as JSON"); // for the help; it is taken out before parsing
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

/** The command at this path, made on the way where it is missing. */
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
    .showHelpAfterError("Add --help to see what there is. A text that starts with '-' goes behind '--'.")
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
  option.attributeName = () => name; // flags keep the name they are typed with
  option.negate = false; // so does `--no-backup`, which is a flag of its own and true when it is given
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

/** The value of the flag, however it is spelled; commander itself reads it later. */
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
  const selected = selectHome(system, profile === undefined ? {} : { profile });
  if (selected.ok) return selected.value;
  const { kind, message } = selected.error;
  if (spec.worksWithoutProfile && profile === undefined) {
    const standard = selectHome(system, { profile: DEFAULT_PROFILE });
    if (standard.ok) return { ...standard.value, notice: message };
  }
  throw new CommandFailure(message, { details: { kind } });
}
