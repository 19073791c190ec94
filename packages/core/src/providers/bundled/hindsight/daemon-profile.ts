// What the embedded daemon is started with: the program, its profile file in `~/.hindsight/profiles`, and its port. The file also
// belongs to hindsight-embed, so only own keys are changed; it holds a key, so only its owner may read it.
import { accessSync, constants, mkdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { errnoCode, namesIn, sha256, writeFileAtomic } from "../../../lib/index.ts";
import type { Environment } from "../../kit/networked/service.ts";

/** Of the daemon that this program starts. */
export type EmbeddedSettings = {
  readonly profile: string;
  readonly llmProvider: string;
  readonly llmModel: string;
  readonly llmBaseUrl: string;
  readonly llmApiKey: string;
  /** Seconds without requests after which the daemon stops; 0: never. */
  readonly idleTimeoutS: number;
  /** `hindsight-embed`, or `uvx` that runs it; undefined: neither is installed. */
  readonly program: Program | undefined;
  /** Holds `.hindsight/profiles`. */
  readonly userHome: string;
};

export type Program = { readonly command: string; readonly args: readonly string[] };

/** On the PATH; nothing is run. */
export function findProgram(env: Environment, version: string): Program | undefined {
  const embed = onPath("hindsight-embed", env);
  if (embed !== undefined) return { command: embed, args: [] };
  const uvx = onPath("uvx", env);
  return uvx === undefined ? undefined : { command: uvx, args: [`hindsight-embed@${version}`] };
}

function onPath(name: string, env: Environment): string | undefined {
  const directories = (env.PATH ?? env.Path ?? "").split(delimiter).filter((each) => each !== "");
  const names = process.platform === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  return directories
    .flatMap((directory) => names.map((each) => join(directory, each)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return statSync(path).isFile();
      } catch {
        return false;
      }
    });
}

// ---- The profile ----

const PORT_KEY = "HINDSIGHT_API_PORT";
export const LLM_KEY = "HINDSIGHT_API_LLM_API_KEY";
/** Taken out of the profile when it is not set: that of another vendor would stay. */
const BASE_URL_KEY = "HINDSIGHT_API_LLM_BASE_URL";
const FIRST_PORT = 8889;
const PORTS = 1000;
const OPENROUTER_URL = "https://openrouter.ai/api/v1";

/** The keys of the profile file that are ours. */
export function profileValues(settings: EmbeddedSettings): Readonly<Record<string, string>> {
  const { llmProvider, llmModel, llmBaseUrl, llmApiKey, idleTimeoutS } = settings;
  const isOpenAiLike = llmProvider === "openai_compatible" || llmProvider === "openrouter";
  const baseUrl = llmBaseUrl || (llmProvider === "openrouter" ? OPENROUTER_URL : "");
  const values = {
    HINDSIGHT_API_LLM_PROVIDER: isOpenAiLike ? "openai" : llmProvider,
    HINDSIGHT_API_LLM_MODEL: llmModel,
    [BASE_URL_KEY]: baseUrl,
    [LLM_KEY]: llmApiKey,
    HINDSIGHT_API_LOG_LEVEL: "info",
    HINDSIGHT_EMBED_DAEMON_IDLE_TIMEOUT: String(idleTimeoutS),
  };
  const lines = Object.entries(values).map(([key, value]) => [key, value.replace(/[\r\n]+/g, "")] as const);
  return Object.fromEntries(lines.filter(([, value]) => value !== ""));
}

export function profilePath({ userHome, profile }: EmbeddedSettings): string {
  return join(userHome, ".hindsight", "profiles", `${profile}.env`);
}

/** The port in the profile; else one by the profile's name that no other profile has. */
export function profilePort(settings: EmbeddedSettings): number {
  const own = portIn(readProfile(profilePath(settings)));
  if (own !== undefined) return own;
  const directory = dirname(profilePath(settings));
  const others = namesIn(directory).filter((name) => name.endsWith(".env"));
  const taken = new Set(others.map((name) => portIn(readProfile(join(directory, name)))));
  const start = Number.parseInt(sha256(settings.profile).slice(0, 8), 16) % PORTS;
  for (let step = 0; step < PORTS; step += 1) {
    const port = FIRST_PORT + ((start + step) % PORTS);
    if (!taken.has(port)) return port;
  }
  return FIRST_PORT + start;
}

/** Whether the daemon would start with other values than those in the file. */
export function hasProfileChanged(settings: EmbeddedSettings, port: number): boolean {
  const now = readProfile(profilePath(settings));
  const wanted = { ...profileValues(settings), [PORT_KEY]: String(port) };
  const hasOldUrl = now.has(BASE_URL_KEY) && !Object.hasOwn(wanted, BASE_URL_KEY);
  return hasOldUrl || Object.entries(wanted).some(([key, value]) => now.get(key) !== value);
}

/** Sets our keys and the port and keeps all other lines. Throws when the file cannot be written. */
export function writeProfile(settings: EmbeddedSettings, port: number): void {
  const path = profilePath(settings);
  const wanted = new Map(Object.entries({ ...profileValues(settings), [PORT_KEY]: String(port) }));
  const kept = profileLines(path).filter((line) => {
    const key = keyOf(line);
    return !wanted.has(key) && key !== BASE_URL_KEY;
  });
  const lines = [...kept, ...[...wanted].map(([key, value]) => `${key}=${value}`)];
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileAtomic(path, `${lines.join("\n")}\n`, { forceMode: 0o600 });
}

function profileLines(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8")
      .split(/\r?\n/)
      .filter((line) => line.trim() !== "");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    throw cause; // an unreadable file is not overwritten
  }
}

function readProfile(path: string): ReadonlyMap<string, string> {
  try {
    return new Map(profileLines(path).map((line) => [keyOf(line), textAfterEquals(line)]));
  } catch {
    return new Map(); // writing it will report the reason
  }
}

function keyOf(line: string): string {
  return line
    .slice(0, Math.max(0, line.indexOf("=")))
    .replace(/^\s*export\s+/, "")
    .trim();
}

function textAfterEquals(line: string): string {
  const value = line.slice(line.indexOf("=") + 1).trim();
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value;
}

function portIn(values: ReadonlyMap<string, string>): number | undefined {
  const port = Number(values.get(PORT_KEY));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}
