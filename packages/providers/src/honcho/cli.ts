// `hermes honcho ...`: shows and changes the configuration of a profile. Commands that talk to the server are in cli-server.ts.
import { environmentOf } from "@hermes-memory/core/internal/config";
import { selectHome, systemHomeContext } from "@hermes-memory/core/internal/home";
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Output } from "./cli-server.ts";
import {
  editHonchoFile,
  type HonchoPlace,
  hostKeyOf,
  readHonchoFile,
  recordOf,
  type Values,
  withHostValues,
} from "./config-file.ts";
import { joined, ownerNames } from "./naming.ts";
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
  option(flags: string, text: string): CliCommand;
  allowExcessArguments(isAllowed: boolean): CliCommand;
  action(run: (...values: unknown[]) => unknown): CliCommand;
  optsWithGlobals(): Values;
};

/** Loaded by the commands that need it. */
const server = () => import("./cli-server.ts");

let group: CliCommand | undefined;

export function registerCli(command: CliCommand): void {
  group = command;
  const json = ["--json", "print the result as JSON"] as const;
  command.option("--target-profile <name>", "work on the block of this profile").option(...json);
  command.allowExcessArguments(true); // a word that is no command gets an error of its own
  const add = (
    spec: string,
    summary: string,
    run: (flags: Values, value: unknown) => Output | Promise<Output>,
  ): CliCommand =>
    command
      .command(spec)
      .description(summary)
      .option(...json)
      .action(async (...given) => print(await run(recordOf(given.at(-2)), given[0])));

  add("status", "settings, and one request to the server", async (flags) =>
    flags.all === true ? allProfiles() : (await server()).status(place()),
  ).option("--all", "one line for every profile");
  add("setup", "how to set Honcho up", () => facts({ run: "hermes memory setup honcho" }));
  add("peers", "user and agent of every profile", peers);
  add("sessions", "directories that have a session name of their own", sessions);
  add("map [name]", "name the session of this directory; without a name, show it", (_, name) => map(name));
  add("peer", "show or change the names of user and agent", ({ user, ai, reasoning }) => {
    const settings = saved({ peerName: user, aiPeer: ai, dialecticReasoningLevel: reasoning });
    const names = ownerNames(settings, process.cwd()).peers;
    return facts({ user: names.user, agent: names.ai, reasoning: settings.level });
  })
    .option("--user <name>", "your name in Honcho")
    .option("--ai <name>", "the agent's name in Honcho")
    .option("--reasoning <level>", LEVELS.join(", "));
  add("mode [mode]", "show or change the mode: hybrid, context, tools", (_, mode) =>
    facts({ mode: saved({ mode }).mode }),
  );
  add("strategy [strategy]", `show or change what a session is: ${STRATEGIES.join(", ")}`, (_, value) =>
    facts({ strategy: saved({ sessionStrategy: value }).sessionStrategy }),
  );
  add("tokens", "show or change limits of recall", ({ context, dialectic }) => {
    const settings = saved({ contextTokens: context, dialecticMaxChars: dialectic });
    return facts({
      context_tokens: settings.contextTokens ?? "no limit",
      dialectic_characters: settings.maxAnswerChars,
    });
  })
    .option("--context <tokens>", "longest recall in tokens")
    .option("--dialectic <chars>", "longest answer of Honcho's model in characters");
  add("identity [file]", "tell Honcho who the agent is, from a file", async ({ show }, file) => {
    const { showIdentity, seedIdentity } = await server();
    return show === true || file === undefined ? showIdentity(place()) : seedIdentity(place(), String(file));
  }).option("--show", "show what Honcho knows about you and the agent");
  add("migrate", "upload files of OpenClaw", async ({ yes }) =>
    (await server()).migrateFromOpenClaw(place(), yes === true),
  ).option("--yes", "do not ask");
  add("enable", "switch Honcho on for this profile", enable);
  add("disable", "switch Honcho off for this profile", disable);
  add("sync", "give every profile a block of its own", () => {
    const made = syncProfiles(place());
    const line = made.length === 0 ? "Every profile has a block." : `New blocks: ${made.join(", ")}.`;
    return { json: { made }, lines: [line] };
  });
}

/** `hermes honcho` alone. */
export async function honcho_command({
  args = [],
}: {
  readonly args?: readonly string[];
} = {}): Promise<void> {
  if (args.length > 0)
    throw new HermesError(
      "honcho-command",
      `There is no command '${args[0]}'. 'hermes honcho --help' lists them.`,
    );
  print(await (await server()).status(place()));
}

// ---- Commands ----

function allProfiles(): Output {
  return table(
    profilePlaces(place()).map((each) => {
      const { isEnabled, file, mode, workspace } = readHonchoSettings(each);
      return { profile: each.profile, host: file.hostKey, state: isEnabled ? "on" : "off", mode, workspace };
    }),
  );
}

function peers(): Output {
  return table(
    profilePlaces(place()).map((each) => {
      const { user, ai } = ownerNames(readHonchoSettings(each), process.cwd()).peers;
      return { profile: each.profile, user, agent: ai };
    }),
  );
}

function sessions(): Output {
  const named = readHonchoSettings(place()).sessions;
  const lines = Object.entries(named).map(([directory, name]) => `${name}  ${directory}`);
  return {
    json: { sessions: named },
    lines: lines.length === 0 ? ["No directory has a session name of its own."] : lines,
  };
}

function map(given: unknown): Output {
  const directory = process.cwd();
  const at = place();
  if (given !== undefined) {
    const name = joined(String(given));
    if (name === "") throw refusal("The name", "needs a letter or a digit");
    editHonchoFile(at, ({ root }) => ({
      ...root,
      sessions: { ...recordOf(root.sessions), [directory]: name },
    }));
  }
  return facts({ directory, session: ownerNames(readHonchoSettings(at), directory).session });
}

function enable(): Output {
  const at = place();
  const isNew = enableProfile(at);
  const { hostKey } = readHonchoFile(at);
  const line = `Honcho is on for '${hostKey}'.${isNew ? " It has the settings of the default profile." : ""}`;
  return { json: { host: hostKey, enabled: true, new: isNew }, lines: [line] };
}

function disable(): Output {
  const at = place();
  const host = hostKeyOf(at);
  editHonchoFile(at, ({ root }) => withHostValues(root, host, { enabled: false }));
  return {
    json: { host, enabled: false },
    lines: [`Honcho is off for '${host}'. 'hermes honcho enable' switches it on again.`],
  };
}

// ---- Where it works, and what it prints ----

/** The profile of `-p` or the active one; with `--target-profile` another one of the same root. */
function place(): HonchoPlace {
  const context = systemHomeContext();
  const { profile, targetProfile } = group?.optsWithGlobals() ?? {};
  const selected = selectHome(context, { profile: typeof profile === "string" ? profile : undefined });
  if (!selected.ok) throw new HermesError("honcho-command", selected.error.message);
  const { home } = selected.value;
  const at = { home, env: environmentOf(home), userHome: context.userHome };
  if (typeof targetProfile !== "string") return at;
  const found = profilePlaces(at).find((each) => each.profile === targetProfile.toLowerCase());
  if (found !== undefined) return found;
  throw new HermesError(
    "honcho-command",
    `There is no profile '${targetProfile}'. 'hermes profile list' lists them.`,
  );
}

/** The settings after these were changed; undefined changes nothing. */
function saved(values: Values): HonchoSettings {
  const answers = Object.entries(values).flatMap(([key, value]): [string, string][] =>
    value === undefined ? [] : [[key, String(value)]],
  );
  for (const [key, text] of answers) {
    const checked = checkSetting(key, text);
    if (!checked.ok) throw refusal(key, checked.error);
  }
  if (answers.length > 0) saveHonchoSettings(place(), Object.fromEntries(answers));
  return readHonchoSettings(place());
}

function refusal(key: string, problem: string): HermesError {
  return new HermesError("bad-setting", `${key} ${problem}. Nothing was saved.`);
}

function facts(json: Values): Output {
  const parts = Object.entries(json).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`);
  return { json, lines: [parts.join(", ")] };
}

/** One row per profile. */
function table(profiles: readonly Readonly<Record<string, string>>[]): Output {
  const heads = Object.keys(profiles[0] ?? {});
  const rows = [heads, ...profiles.map((each) => Object.values(each))];
  const widths = heads.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  "));
  return { json: { profiles }, lines: lines.map((line) => line.trimEnd()) };
}

/** Text of the server may hold control characters, which a terminal would obey. */
function print({ json, lines, hasFailed = false }: Output): void {
  if (hasFailed) process.exitCode = 1;
  const isJson = group?.optsWithGlobals().json === true;
  const text = isJson ? JSON.stringify(json) : lines.join("\n");
  process.stdout.write(`${text.replace(/[^\P{Cc}\n\t]/gu, "?")}\n`);
}
