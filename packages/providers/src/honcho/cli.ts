// `hermes honcho ...`: shows and changes the configuration of a profile; some commands ask the server.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { environmentOf } from "@hermes-memory/core/internal/config";
import { selectHome, systemHomeContext } from "@hermes-memory/core/internal/home";
import { describeCause, errnoCode, HermesError, preview, pyStrip } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { Breaker } from "@hermes-memory/core/internal/providers";
import { createHttpClient, ServiceError } from "../kit/http.ts";
import { textIn } from "../kit/networked/answers.ts";
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
import { startSession, viewOf } from "./session.ts";
import {
  checkSetting,
  type HonchoSettings,
  LEVELS,
  missingIn,
  readHonchoSettings,
  STRATEGIES,
  saveHonchoSettings,
} from "./settings.ts";
import { chunked, identitySeed } from "./texts.ts";
import { HonchoWire, honchoHttpOptions, type Impression, MESSAGES_PER_POST } from "./wire.ts";

/** The part of a commander command that is used here. */
export type CliCommand = {
  command(spec: string): CliCommand;
  description(text: string): CliCommand;
  option(flags: string, text: string): CliCommand;
  allowExcessArguments(isAllowed: boolean): CliCommand;
  action(run: (...values: unknown[]) => unknown): CliCommand;
  optsWithGlobals(): Values;
};

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

  add("status", "settings, and one request to the server", ({ all }) =>
    all === true ? allProfiles() : status(place()),
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
  add("identity [file]", "tell Honcho who the agent is, from a file", ({ show }, file) =>
    show === true || file === undefined ? showIdentity(place()) : seedIdentity(place(), String(file)),
  ).option("--show", "show what Honcho knows about you and the agent");
  add("migrate", "upload files of OpenClaw", ({ yes }) => migrateFromOpenClaw(place(), yes === true)).option(
    "--yes",
    "do not ask",
  );
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
  print(await status(place()));
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

// ---- Commands that ask the server ----
// They report failures instead of swallowing them.

/** What a command prints: with `--json` the one, else the other. */
type Output = {
  readonly json: object;
  readonly lines: readonly string[];
  /** True: the command ends with the exit code 1. */
  readonly hasFailed?: boolean;
};

const SHOWN_FACTS = 10;
const SHOWN_CHARS = 200;
/** The end of the key, to tell it from another one. */
const SHOWN_KEY_CHARS = 4;
const LIMIT_MS = 60_000;

/** The server and who asks; commands have no agent, so the client ends with the command. */
function visit(settings: HonchoSettings) {
  const http = createHttpClient({
    ...honchoHttpOptions(settings),
    service: "Honcho",
    breaker: new Breaker({ failures: Number.POSITIVE_INFINITY }),
    closing: new AbortController().signal,
  });
  const wire = new HonchoWire(http, settings.workspace);
  const signal = AbortSignal.timeout(LIMIT_MS);
  const { peers, session } = ownerNames(settings, process.cwd());
  const impression = async (peer: string): Promise<Impression> =>
    await wire.impression(viewOf(peer, peers, settings.observation), undefined, signal);
  return { wire, signal, peers, session, impression };
}

function usable(place: HonchoPlace): HonchoSettings {
  const settings = readHonchoSettings(place);
  const missing = missingIn(settings);
  if (missing !== undefined) throw new HermesError("honcho-command", missing);
  return settings;
}

// ---- status ----

async function status(place: HonchoPlace): Promise<Output> {
  const settings = readHonchoSettings(place);
  const { connection, user_card, ai_representation, hasFailed } = await known(settings);
  const rows = [...statusRows(settings), ["connection", connection] as const];
  const width = Math.max(...rows.map(([name]) => name.length));
  const fields = rows.map(([name, value]) => [name.replaceAll(" ", "_"), value]);
  return {
    json: { ...Object.fromEntries(fields), user_card, ai_representation },
    lines: [
      ...rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
      ...(user_card.length > 0 ? ["User card:", ...user_card.map((fact) => `  ${fact}`)] : []),
      ...(ai_representation === "" ? [] : [`Agent: ${ai_representation}`]),
    ],
    hasFailed,
  };
}

function statusRows(settings: HonchoSettings): readonly (readonly [string, string])[] {
  const { file, observation, writeFrequency, apiKey } = settings;
  const { peers, session } = ownerNames(settings, process.cwd());
  const flags = (name: "user" | "ai"): string =>
    `me ${observation[name].observeMe ? "on" : "off"}, others ${observation[name].observeOthers ? "on" : "off"}`;
  return [
    ["state", settings.isEnabled ? "on" : "off"],
    ["config", file.isUsed ? file.path : `${file.path} (not used)`],
    ...(file.problem === undefined ? [] : [["problem", file.problem] as const]),
    ["host", file.hostKey],
    ["server", settings.publicUrl],
    [
      "key",
      apiKey === ""
        ? "none"
        : `...${apiKey.slice(-Math.min(SHOWN_KEY_CHARS, Math.floor(apiKey.length / 2)))}`,
    ],
    ["workspace", settings.workspace],
    ["user", peers.user],
    ["agent", peers.ai],
    ["session", session],
    ["strategy", settings.sessionStrategy],
    ["mode", settings.mode],
    ["writes", writeFrequency.kind === "every" ? everyTurns(writeFrequency.turns) : writeFrequency.kind],
    ["observes user", flags("user")],
    ["observes agent", flags("ai")],
    ["recall", settings.contextTokens === undefined ? "no limit" : `${settings.contextTokens} tokens`],
    [
      "dialectic",
      `${everyTurns(settings.dialecticCadence)}, level ${settings.level}, depth ${settings.depth}`,
    ],
  ];
}

function everyTurns(turns: number): string {
  return turns === 1 ? "every turn" : `every ${turns} turns`;
}

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** Requests with the key, and a line that says how they went. */
async function known(settings: HonchoSettings) {
  const nothing = { user_card: [], ai_representation: "" };
  const missing = missingIn(settings);
  if (missing !== undefined) return { ...nothing, connection: missing, hasFailed: settings.isEnabled };
  const { wire, signal, peers, impression } = visit(settings);
  try {
    await wire.ensureWorkspace(signal);
    const user_card = await wire.card(viewOf(peers.user, peers, settings.observation), signal);
    const { representation } = await impression(peers.ai);
    return {
      connection: `Honcho answers at ${settings.publicUrl}.`,
      user_card: user_card.slice(0, SHOWN_FACTS),
      ai_representation: preview(representation, SHOWN_CHARS),
      hasFailed: false,
    };
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    const connection = `Honcho cannot be used: ${cause.failure.message}`;
    return { ...nothing, connection, hasFailed: true };
  }
}

// ---- identity ----

async function showIdentity(place: HonchoPlace): Promise<Output> {
  const { peers, impression } = visit(usable(place));
  const found = [
    { peer: peers.user, ...(await impression(peers.user)) },
    { peer: peers.ai, ...(await impression(peers.ai)) },
  ];
  const lines = found.flatMap(({ peer, representation, card }) => {
    const facts = [...card.map((fact) => `  - ${fact}`), pyStrip(representation)].filter(
      (line) => line !== "",
    );
    return [`${peer}:`, ...(facts.length === 0 ? ["  nothing is known yet"] : facts)];
  });
  return { json: { peers: found }, lines };
}

async function seedIdentity(place: HonchoPlace, path: string): Promise<Output> {
  const settings = usable(place);
  const text = readText(path);
  if (pyStrip(text) === "")
    throw new HermesError("honcho-command", `${path} is missing or empty. Nothing was sent.`);
  const { wire, session, peers, signal } = await startedSession(settings);
  const file = basename(path);
  const messages = chunked(identitySeed(file, text), settings.messageMaxChars).map((content) => ({
    peer_id: peers.ai,
    content,
  }));
  for (let start = 0; start < messages.length; start += MESSAGES_PER_POST)
    await wire.addMessages(session, messages.slice(start, start + MESSAGES_PER_POST), signal);
  return {
    json: { file, agent: peers.ai, session, messages: messages.length },
    lines: [`${file} was sent to the agent '${peers.ai}' in ${counted(messages.length, "message")}.`],
  };
}

// ---- migrate ----

const OPENCLAW_FILES = [
  ...["USER.md", "MEMORY.md"].map((name) => ({ name, of: "user" as const })),
  ...["SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "BOOTSTRAP.md"].map((name) => ({
    name,
    of: "ai" as const,
  })),
];
/** How far back to look for files that were sent before, in pages of 100 messages. */
const TAIL_PAGES = 3;

async function migrateFromOpenClaw(place: HonchoPlace, isYes: boolean): Promise<Output> {
  const settings = usable(place);
  const folders = [process.cwd(), join(place.userHome ?? homedir(), ".openclaw")];
  const found = OPENCLAW_FILES.flatMap((file) => {
    const files = folders.map((folder) => {
      const path = join(folder, file.name);
      return { ...file, path, text: readText(path) };
    });
    return files.find(({ text }) => pyStrip(text) !== "") ?? [];
  });
  if (found.length === 0)
    return { json: { files: [] }, lines: [`No file of OpenClaw is in ${folders.join(" or ")}.`] };
  const { peers: names } = ownerNames(settings, process.cwd());
  const plan = found.map(({ of, path }) => `${path} -> ${names[of]}`);
  const outcome = (sent: readonly string[], lines: readonly string[]): Output => ({
    json: { files: found.map(({ of, path }) => ({ path, peer: names[of] })), sent },
    lines,
  });
  if (!isYes && !(await confirmed(`${plan.join("\n")}\nSend these files to Honcho? [y/N] `)))
    return outcome([], [...plan, "Nothing was sent. '--yes' sends them without a question."]);
  const { wire, session, peers, signal } = await startedSession(settings);
  const before = await wire.newestMessages(session, TAIL_PAGES, signal);
  const isSent = (name: string): boolean =>
    before.some(
      ({ metadata }) => textIn(metadata.source) === "openclaw" && textIn(metadata.original_file) === name,
    );
  const fresh = found.filter(({ name }) => !isSent(name));
  for (const { of, name, text } of fresh) {
    const metadata = { source: "openclaw", original_file: name, target_peer: of };
    await wire.upload(session, { peerId: peers[of], fileName: name, text, metadata }, signal);
  }
  return outcome(
    fresh.map(({ path }) => path),
    found.map(({ name }) => `${name} was sent${isSent(name) ? " before" : ""}.`),
  );
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test(pyStrip(await lines.question(question)));
  } finally {
    lines.close();
  }
}

async function startedSession(settings: HonchoSettings) {
  const visited = visit(settings);
  const { wire, peers, session, signal } = visited;
  await startSession(session, { wire, peers, settings, log: silentLogger }, signal);
  return visited;
}

/** "" when there is no such file. */
function readText(path: string): string {
  try {
    return readFileSync(resolve(path), "utf8").toWellFormed();
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "EISDIR") return "";
    throw new HermesError("honcho-command", `${path} cannot be read: ${describeCause(cause)}.`);
  }
}
