// `hermes honcho ...`: shows and changes the configuration of a profile. Commands that talk to the server are in cli-server.ts.
import { profileHome, rootOf, selectHome, systemHomeContext } from "../../../home.ts";
import { HermesError } from "../../../lib/index.ts";
import { migrateFromOpenClaw, seedIdentity, showIdentity, showStatus } from "./cli-server.ts";
import {
  editHonchoFile,
  type HonchoPlace,
  hostKeyOf,
  readHonchoFile,
  recordOf,
  withHostValues,
} from "./config-file.ts";
import { ownerNames } from "./direct.ts";
import { joined } from "./naming.ts";
import { enableProfile, profilePlaces, syncProfiles } from "./profiles.ts";
import {
  checkSetting,
  type HonchoSettings,
  LEVELS,
  readHonchoSettings,
  STRATEGIES,
  saveHonchoSettings,
} from "./settings.ts";

/** The part of a commander command that is used here. */
export type CliCommand = {
  command(spec: string): CliCommand;
  description(text: string): CliCommand;
  argument(spec: string, text: string): CliCommand;
  option(flags: string, text: string): CliCommand;
  action(run: (...values: unknown[]) => unknown): CliCommand;
  optsWithGlobals(): Readonly<Record<string, unknown>>;
};

type Flags = Readonly<Record<string, unknown>>;

let group: CliCommand | undefined;

export function registerCli(command: CliCommand): void {
  group = command;
  command.option("--target-profile <name>", "work on the block of this profile");
  const add = (
    spec: string,
    summary: string,
    run: (flags: Flags, ...values: unknown[]) => unknown,
  ): CliCommand =>
    command
      .command(spec)
      .description(summary)
      .action((...given) => run(flagsOf(given.at(-2)), ...given.slice(0, -2)));

  add("status", "settings, and one request to the server", (flags) => status(flags))
    .option("--all", "one line for every profile")
    .option("--json", "print it as JSON");
  add("setup", "how to set Honcho up", () => say("Run: hermes memory setup honcho"));
  add("peers", "user and agent of every profile", peers);
  add("sessions", "directories that have a session name of their own", sessions);
  add("map [name]", "name the session of this directory; without a name, show it", (_, name) => map(name));
  add("peer", "show or change the names of user and agent", peer)
    .option("--user <name>", "your name in Honcho")
    .option("--ai <name>", "the agent's name in Honcho")
    .option("--reasoning <level>", LEVELS.join(", "));
  add("mode [mode]", "show or change the mode: hybrid, context, tools", (_, value) => setting("mode", value));
  add("strategy [strategy]", `show or change what a session is: ${STRATEGIES.join(", ")}`, (_, value) =>
    setting("sessionStrategy", value),
  );
  add("tokens", "show or change limits of recall", tokens)
    .option("--context <tokens>", "longest recall in tokens")
    .option("--dialectic <chars>", "longest answer of Honcho's model in characters");
  add("identity [file]", "tell Honcho who the agent is, from a file", (flags, file) =>
    flags.show === true || file === undefined
      ? showIdentity(place(), say)
      : seedIdentity(place(), String(file), say),
  ).option("--show", "show what Honcho knows about you and the agent");
  add("migrate", "upload files of OpenClaw", (flags) =>
    migrateFromOpenClaw(place(), { isYes: flags.yes === true }, say),
  ).option("--yes", "do not ask");
  add("enable", "switch Honcho on for this profile", enable);
  add("disable", "switch Honcho off for this profile", disable);
  add("sync", "give every profile a block of its own", sync);
}

/** `hermes honcho` alone. */
export async function honcho_command(): Promise<void> {
  await status({});
}

// ---- Commands ----

async function status(flags: Flags): Promise<void> {
  if (flags.all !== true) return await showStatus(place(), { isJson: flags.json === true }, say);
  table(
    ["profile", "host", "state", "mode", "workspace"],
    profilePlaces(place()).map((each) => {
      const { isEnabled, file, mode, workspace } = readHonchoSettings(each);
      return [each.profile, file.hostKey, isEnabled ? "on" : "off", mode, workspace];
    }),
  );
}

function peers(): void {
  table(
    ["profile", "user", "agent"],
    profilePlaces(place()).map((each) => {
      const settings = readHonchoSettings(each);
      const names = ownerNames(settings, process.cwd());
      return [each.profile, names.peers.user, names.peers.ai];
    }),
  );
}

function sessions(): void {
  const named = Object.entries(readHonchoSettings(place()).sessions);
  if (named.length === 0) say("No directory has a session name of its own.");
  for (const [directory, name] of named) say(`${name}  ${directory}`);
}

function map(given: unknown): void {
  const cwd = process.cwd();
  const at = place();
  if (given === undefined) {
    say(`The session of ${cwd} is ${ownerNames(readHonchoSettings(at), cwd).session}.`);
    return;
  }
  const name = joined(String(given));
  if (name === "") throw refusal("The name", "needs a letter or a digit");
  editHonchoFile(at, ({ root }) => ({ ...root, sessions: { ...recordOf(root.sessions), [cwd]: name } }));
  say(`The session of ${cwd} is ${name} from now on.`);
}

function peer(flags: Flags): void {
  save({ peerName: flags.user, aiPeer: flags.ai, dialecticReasoningLevel: flags.reasoning });
  const settings = readHonchoSettings(place());
  const { peers: names } = ownerNames(settings, process.cwd());
  say(`user: ${names.user}, agent: ${names.ai}, reasoning: ${settings.level}`);
}

const SHOWN: Readonly<Record<string, (settings: HonchoSettings) => string>> = {
  mode: ({ mode }) => mode,
  sessionStrategy: ({ sessionStrategy }) => sessionStrategy,
};

function setting(key: string, value: unknown): void {
  save({ [key]: value });
  say(SHOWN[key]?.(readHonchoSettings(place())) ?? "");
}

function tokens(flags: Flags): void {
  save({ contextTokens: flags.context, dialecticMaxChars: flags.dialectic });
  const { contextTokens, maxAnswerChars } = readHonchoSettings(place());
  say(`context: ${contextTokens ?? "no limit"} tokens, dialectic: ${maxAnswerChars} characters`);
}

function enable(): void {
  const isNew = enableProfile(place());
  const { hostKey } = readHonchoFile(place());
  say(`Honcho is on for '${hostKey}'.${isNew ? " It has the settings of the default profile." : ""}`);
}

function disable(): void {
  const at = place();
  editHonchoFile(at, ({ root }) => withHostValues(root, hostKeyOf(at), { enabled: false }));
  say(`Honcho is off for '${hostKeyOf(at)}'. 'hermes honcho enable' switches it on again.`);
}

function sync(): void {
  const made = syncProfiles(place());
  say(made.length === 0 ? "Every profile has a block." : `New blocks: ${made.join(", ")}.`);
}

// ---- Where it works, and what it prints ----

/** The profile of `-p` or the active one; with `--target-profile` another one of the same root. */
function place(): HonchoPlace {
  const context = systemHomeContext();
  const flags = group?.optsWithGlobals() ?? {};
  const selected = selectHome(context, { profile: textFlag(flags.profile) });
  if (!selected.ok) throw new HermesError("honcho-command", selected.error.message);
  const { home } = selected.value;
  const at = { home, env: process.env, userHome: context.userHome };
  const target = textFlag(flags.targetProfile);
  if (target === undefined) return at;
  const found = profilePlaces(at).find(({ profile }) => profile === target.toLowerCase());
  if (found === undefined)
    throw new HermesError(
      "honcho-command",
      `There is no profile '${target}'. 'hermes profile list' lists them.`,
    );
  return { ...at, home: profileHome(rootOf(home, context), found.profile) };
}

function save(values: Flags): void {
  const answers = Object.entries(values).flatMap(([key, value]): [string, string][] =>
    value === undefined ? [] : [[key, String(value)]],
  );
  for (const [key, text] of answers) {
    const problem = checkSetting(key, text);
    if (problem !== undefined) throw refusal(key, problem);
  }
  if (answers.length > 0) saveHonchoSettings(place(), Object.fromEntries(answers));
}

function refusal(key: string, problem: string): HermesError {
  return new HermesError("bad-setting", `${key} ${problem}. Nothing was saved.`);
}

function flagsOf(value: unknown): Flags {
  return recordOf(value);
}

function textFlag(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
  for (const row of [heads, ...rows])
    say(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

/** Text of the server may hold control characters, which a terminal would obey. */
function say(line: string): void {
  process.stdout.write(`${line.replace(/[^\P{Cc}\n\t]/gu, "?")}\n`);
}
