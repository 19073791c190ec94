// The commands of `hermes honcho` that talk to the server: status, identity, migrate. They report failures instead of swallowing them.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { describeCause, errnoCode, HermesError, preview, pyStrip } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { Breaker } from "@hermes-memory/core/internal/providers";
import { createHttpClient, ServiceError } from "../kit/http.ts";
import { textIn } from "../kit/networked/answers.ts";
import type { HonchoPlace } from "./config-file.ts";
import { ownerNames } from "./naming.ts";
import { startSession, viewOf } from "./session.ts";
import { type HonchoSettings, missingIn, readHonchoSettings } from "./settings.ts";
import { chunked, identitySeed } from "./texts.ts";
import { HonchoWire, honchoHttpOptions, type Impression, MESSAGES_PER_POST } from "./wire.ts";

/** What a command prints: with `--json` the one, else the other. */
export type Output = {
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

export async function status(place: HonchoPlace): Promise<Output> {
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

export async function showIdentity(place: HonchoPlace): Promise<Output> {
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

export async function seedIdentity(place: HonchoPlace, path: string): Promise<Output> {
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

export async function migrateFromOpenClaw(place: HonchoPlace, isYes: boolean): Promise<Output> {
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
