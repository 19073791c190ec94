// The commands of `hermes honcho` that talk to the server: status, identity, migrate. They report failures instead of swallowing them.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { describeCause, errnoCode, HermesError, preview, pyStrip } from "../../../lib/index.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { textIn } from "../../kit/networked/answers.ts";
import type { HonchoPlace } from "./config-file.ts";
import { directWire, failureText, ownerNames, tryConnection } from "./direct.ts";
import { startSession, viewOf } from "./session.ts";
import { type HonchoSettings, missingIn, readHonchoSettings } from "./settings.ts";
import { chunked, identitySeed } from "./texts.ts";
import { MESSAGES_PER_POST } from "./wire.ts";

type Say = (line: string) => void;

const SHOWN_FACTS = 10;
const SHOWN_CHARS = 200;
const LIMIT_MS = 60_000;

// ---- status ----

export async function showStatus(
  place: HonchoPlace,
  { isJson }: { readonly isJson: boolean },
  say: Say,
): Promise<void> {
  const settings = readHonchoSettings(place);
  const missing = missingIn(settings);
  const { isUp, line: connection } =
    missing === undefined ? await tryConnection(settings) : { isUp: false, line: missing };
  const known = isUp ? await impressions(settings) : undefined;
  const rows = statusRows(settings);
  if (isJson) {
    const fields = rows.map(([name, value]) => [name.replaceAll(" ", "_"), value]);
    say(JSON.stringify({ ...Object.fromEntries(fields), connection, ...known }));
    return;
  }
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) say(`${name.padEnd(width)}  ${value}`);
  say(`${"connection".padEnd(width)}  ${connection}`);
  if (known === undefined) return;
  if (known.problem !== undefined) say(known.problem);
  if (known.user_card.length > 0) say("User card:");
  for (const fact of known.user_card) say(`  ${fact}`);
  if (known.ai_representation !== "") say(`Agent: ${known.ai_representation}`);
}

function statusRows(settings: HonchoSettings): readonly (readonly [string, string])[] {
  const { file, observation, writeFrequency, apiKey } = settings;
  const { peers, session } = ownerNames(settings, process.cwd());
  const flags = (name: "user" | "ai"): string =>
    `me ${observation[name].observeMe ? "on" : "off"}, others ${observation[name].observeOthers ? "on" : "off"}`;
  return [
    ["state", settings.isEnabled ? "on" : "off"],
    ["config", file.exists ? file.path : `${file.path} (not there)`],
    ...(file.problem === undefined ? [] : [["problem", file.problem] as const]),
    ["host", file.hostKey],
    ["server", settings.baseUrl],
    ["key", apiKey === "" ? "none" : `...${apiKey.slice(-Math.min(8, Math.floor(apiKey.length / 2)))}`],
    ["workspace", settings.workspace],
    ["user", peers.user],
    ["agent", peers.ai],
    ["session", session],
    ["strategy", settings.sessionStrategy],
    ["mode", settings.mode],
    ["writes", writeFrequency.kind === "every" ? `every ${writeFrequency.turns} turns` : writeFrequency.kind],
    ["observes user", flags("user")],
    ["observes agent", flags("ai")],
    ["recall", settings.contextTokens === undefined ? "no limit" : `${settings.contextTokens} tokens`],
    [
      "dialectic",
      `every ${settings.dialecticCadence} turn(s), level ${settings.level}, depth ${settings.depth}`,
    ],
  ];
}

type Known = {
  readonly user_card: readonly string[];
  readonly ai_representation: string;
  readonly problem?: string;
};

async function impressions(settings: HonchoSettings): Promise<Known> {
  const wire = directWire(settings);
  const { peers } = ownerNames(settings, process.cwd());
  const signal = AbortSignal.timeout(LIMIT_MS);
  try {
    const card = await wire.card(viewOf(peers.user, peers, settings.observation), signal);
    const { representation } = await wire.impression(
      viewOf(peers.ai, peers, settings.observation),
      undefined,
      signal,
    );
    return {
      user_card: card.slice(0, SHOWN_FACTS),
      ai_representation: preview(representation, SHOWN_CHARS),
    };
  } catch (cause) {
    return { user_card: [], ai_representation: "", problem: failureText(cause) };
  }
}

// ---- identity ----

export async function showIdentity(place: HonchoPlace, say: Say): Promise<void> {
  const settings = usable(place);
  const wire = directWire(settings);
  const { peers } = ownerNames(settings, process.cwd());
  const signal = AbortSignal.timeout(LIMIT_MS);
  for (const peer of [peers.user, peers.ai]) {
    const { representation, card } = await wire.impression(
      viewOf(peer, peers, settings.observation),
      undefined,
      signal,
    );
    say(`${peer}:`);
    if (card.length === 0 && pyStrip(representation) === "") say("  nothing is known yet");
    for (const fact of card) say(`  - ${fact}`);
    if (pyStrip(representation) !== "") say(representation);
  }
}

export async function seedIdentity(place: HonchoPlace, path: string, say: Say): Promise<void> {
  const settings = usable(place);
  const text = readText(path);
  if (text === undefined || pyStrip(text) === "")
    throw new HermesError("honcho-command", `${path} is missing or empty. Nothing was sent.`);
  const { wire, session, peers, signal } = await startedSession(settings);
  const seed = identitySeed(basename(path), text);
  const messages = chunked(seed, settings.messageMaxChars).map((content) => ({ peer_id: peers.ai, content }));
  for (let start = 0; start < messages.length; start += MESSAGES_PER_POST)
    await wire.addMessages(session, messages.slice(start, start + MESSAGES_PER_POST), signal);
  say(`${basename(path)} was sent to the agent '${peers.ai}' in ${messages.length} message(s).`);
}

// ---- migrate ----

const OPENCLAW_FILES = {
  user: ["USER.md", "MEMORY.md"],
  ai: ["SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "BOOTSTRAP.md"],
} as const;
/** How far back to look for files that were sent before, in pages of 100 messages. */
const TAIL_PAGES = 3;

export async function migrateFromOpenClaw(
  place: HonchoPlace,
  { isYes }: { readonly isYes: boolean },
  say: Say,
): Promise<void> {
  const settings = usable(place);
  const folders = [process.cwd(), join(place.userHome ?? homedir(), ".openclaw")];
  const found = (["user", "ai"] as const).flatMap((of) =>
    OPENCLAW_FILES[of].flatMap((name) => {
      const path = folders
        .map((folder) => join(folder, name))
        .find((each) => pyStrip(readText(each) ?? "") !== "");
      return path === undefined ? [] : [{ of, name, path }];
    }),
  );
  if (found.length === 0) {
    say(`No file of OpenClaw is in ${folders.join(" or ")}.`);
    return;
  }
  const { peers: names } = ownerNames(settings, process.cwd());
  for (const { of, path } of found) say(`${path} -> ${names[of]}`);
  if (!isYes && !(await confirmed("Send these files to Honcho? [y/N] "))) {
    say("Nothing was sent.");
    return;
  }
  const { wire, session, peers, signal } = await startedSession(settings);
  const before = await wire.newestMessages(session, TAIL_PAGES, signal);
  for (const { of, name, path } of found) {
    const isSent = before.some(
      ({ metadata }) => textIn(metadata.source) === "openclaw" && textIn(metadata.original_file) === name,
    );
    if (isSent) {
      say(`${name} was sent before.`);
      continue;
    }
    const metadata = { source: "openclaw", original_file: name, target_peer: of };
    await wire.upload(
      session,
      { peerId: peers[of], fileName: name, text: readText(path) ?? "", metadata },
      signal,
    );
    say(`${name} was sent.`);
  }
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

// ---- Shared ----

function usable(place: HonchoPlace): HonchoSettings {
  const settings = readHonchoSettings(place);
  const missing = missingIn(settings);
  if (missing !== undefined) throw new HermesError("honcho-command", missing);
  return settings;
}

async function startedSession(settings: HonchoSettings) {
  const wire = directWire(settings);
  const { peers, session } = ownerNames(settings, process.cwd());
  const signal = AbortSignal.timeout(LIMIT_MS);
  await startSession(session, { wire, peers, settings, log: silentLogger }, signal);
  return { wire, peers, session, signal };
}

/** Undefined when it cannot be read. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(resolve(path), "utf8").toWellFormed();
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "EISDIR") return undefined;
    throw new HermesError("honcho-command", `${path} cannot be read: ${describeCause(cause)}.`);
  }
}
