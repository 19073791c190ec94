// `hermes memory setup honcho`: asks in order, or takes everything from `--set`, saves the block of this profile and switches the provider
// on. The command that calls it then makes a real request.
import { setConfigValue } from "@hermes-memory/core/internal/config";
import { HermesError, pyStrip } from "@hermes-memory/core/internal/lib";
import type { ConfigField, PostSetupOptions } from "@hermes-memory/core/internal/providers";
import type { HonchoPlace } from "./config-file.ts";
import {
  checkSetting,
  HONCHO_FIELDS,
  type HonchoSettings,
  readHonchoSettings,
  SETTABLE_FIELDS,
  savedHonchoSettings,
  saveHonchoSettings,
  serverAddress,
} from "./settings.ts";

type Ask = NonNullable<PostSetupOptions["ask"]>;
type Answers = Record<string, string>;

export async function setUpHoncho(place: HonchoPlace, options: PostSetupOptions): Promise<void> {
  const given = checked(options.values);
  const before = readHonchoSettings(place);
  const answers =
    options.ask === undefined
      ? { ...standardAnswers(place, before), ...given }
      : await askAll(place, before, { ...options, ask: options.ask, values: given });
  if (!hasServer(place, before, answers))
    throw new HermesError(
      "bad-setting",
      "Honcho needs a key for the cloud (--set apiKey=...) or the address of your server (--set baseUrl=...). Nothing was saved.",
    );
  const saved = saveHonchoSettings(place, { ...answers, enabled: "true" });
  const activated = await setConfigValue(place.home, "memory.provider", "honcho");
  if (!activated.ok) throw new HermesError("config-not-saved", activated.error.message);
  options.print(`The settings are in ${saved}, in the block '${before.file.hostKey}'.`);
}

function hasServer({ env }: HonchoPlace, before: HonchoSettings, { apiKey, baseUrl }: Answers): boolean {
  if (pyStrip(apiKey ?? before.apiKey) !== "") return true;
  return baseUrl === undefined
    ? before.hasBaseUrl
    : serverAddress(baseUrl || (env.HONCHO_BASE_URL ?? "")) !== undefined;
}

/** Throws before anything is asked or saved. `recallMode` is the name of `mode` in the file. */
function checked(values: Readonly<Record<string, string>>): Answers {
  const answers: Answers = {};
  for (const [given, text] of Object.entries(values)) {
    const key = given === "recallMode" ? "mode" : given;
    const problem = checkSetting(key, text);
    if (problem !== undefined)
      throw new HermesError("bad-setting", `${given} ${problem}. Nothing was saved.`, {
        hint: `The settings are: ${SETTABLE_FIELDS.map((field) => field.key).join(", ")}.`,
      });
    answers[key] = text;
  }
  return answers;
}

/** Without questions: what is saved stays, and what has a default gets it. */
function standardAnswers(place: HonchoPlace, { peerName, file }: HonchoSettings): Answers {
  const isNew = Object.keys(file.host).length === 0;
  const name = peerName || userName(place);
  return {
    ...(name === "" ? {} : { peerName: name }),
    ...(isNew ? { dialecticCadence: "2" } : {}),
  };
}

function userName({ env }: HonchoPlace): string {
  return pyStrip(env.USER ?? env.USERNAME ?? "");
}

// ---- Questions ----

type Asking = PostSetupOptions & { readonly ask: Ask; readonly values: Answers };

async function askAll(place: HonchoPlace, before: HonchoSettings, options: Asking): Promise<Answers> {
  const answers: Answers = { ...options.values };
  const { hostKey } = before.file;
  await askServer(before, options, answers);
  // Only the values of the file, so that a default stays a default.
  const current = Object.fromEntries(
    Object.entries(savedHonchoSettings(place)).map(([key, value]) => [key, String(value)]),
  );
  const standards: Answers = {
    peerName: before.peerName || userName(place),
    aiPeer: before.aiPeer,
    workspace: before.file.isUsed ? before.workspace : hostKey,
    dialecticCadence: current.dialecticCadence ?? "2",
  };
  for (const key of ["peerName", "aiPeer", "workspace"]) await askField(key, standards, options, answers);
  await askMapping(place, before, options, answers);
  for (const key of [
    "observationMode",
    "writeFrequency",
    "mode",
    "contextTokens",
    "dialecticCadence",
    "dialecticReasoningLevel",
    "sessionStrategy",
  ])
    await askField(key, { ...current, ...standards }, options, answers);
  return answers;
}

async function askServer(before: HonchoSettings, options: Asking, answers: Answers): Promise<void> {
  const { ask, print } = options;
  const isGiven = answers.baseUrl !== undefined || answers.apiKey !== undefined;
  if (isGiven) return;
  const place = await choose(options, "Honcho in the cloud, or your own server? (cloud, local)", {
    choices: ["cloud", "local"],
    standard: before.hasBaseUrl ? "local" : "cloud",
  });
  if (place === "local") {
    for (;;) {
      const url = await ask("Address of the server:", {
        default: before.hasBaseUrl ? before.publicUrl : "http://localhost:8000",
      });
      // The default is shown, so it has no password: whoever keeps it keeps the address with its password.
      const address = before.hasBaseUrl && url === before.publicUrl ? before.baseUrl : serverAddress(url);
      if (address === undefined) print("An address begins with http:// or https://, or is host:port.");
      else {
        answers.baseUrl = address;
        break;
      }
    }
    const token = pyStrip(await ask("Token (JWT) of the server, empty for none:", { secret: true }));
    if (token !== "") answers.apiKey = token;
    return;
  }
  answers.baseUrl = "";
  print("A key is made at https://app.honcho.dev.");
  const aid = before.apiKey === "" ? "" : `, empty keeps the one that ends with ${before.apiKey.slice(-4)}`;
  const key = pyStrip(await ask(`API key${aid}:`, { secret: true }));
  if (key !== "") answers.apiKey = key;
}

async function askField(key: string, standards: Answers, options: Asking, answers: Answers): Promise<void> {
  if (answers[key] !== undefined) return;
  const field = HONCHO_FIELDS.find((each) => each.key === key);
  if (field === undefined) return;
  const standard = standards[key] ?? field.default ?? "";
  const answer = await askUntilValid(field, standard, options);
  if (answer !== "" || standard !== "") answers[key] = answer;
}

async function askUntilValid(field: ConfigField, standard: string, { ask, print }: Asking): Promise<string> {
  const choices = field.choices === undefined ? "" : ` (${field.choices.join(", ")})`;
  for (;;) {
    const answer = pyStrip(await ask(`${field.description ?? field.key}${choices}:`, { default: standard }));
    const problem = answer === "" ? undefined : checkSetting(field.key, answer);
    if (problem === undefined) return answer;
    print(`${field.key} ${problem}.`);
  }
}

async function choose(
  { ask, print }: Asking,
  question: string,
  { choices, standard }: { readonly choices: readonly string[]; readonly standard: string },
): Promise<string> {
  for (;;) {
    const answer = pyStrip(await ask(question, { default: standard })).toLowerCase() || standard;
    if (choices.includes(answer)) return answer;
    print(`Answer one of: ${choices.join(", ")}.`);
  }
}

// ---- People who write through a gateway ----

const MAPPING_KEYS = ["pinUserPeer", "userPeerAliases", "runtimePeerPrefix"];
const GATEWAY_TOKEN = /^(TELEGRAM|DISCORD|SLACK|WHATSAPP|SIGNAL|MATRIX)_.*(TOKEN|ACCOUNT|NUMBER)$/;

async function askMapping(
  { env }: HonchoPlace,
  before: HonchoSettings,
  options: Asking,
  answers: Answers,
): Promise<void> {
  if (MAPPING_KEYS.some((key) => answers[key] !== undefined)) return;
  const hasGateway = Object.keys(env).some((name) => GATEWAY_TOKEN.test(name) && env[name] !== "");
  const wants = await choose(options, "Set how people of a gateway are kept apart? (y, n)", {
    choices: ["y", "n"],
    standard: hasGateway ? "y" : "n",
  });
  if (wants === "n") return;
  options.print("1  everyone who writes is you: one memory for all platforms (pin)");
  options.print("2  some accounts are you, everyone else is separate (aliases)");
  options.print("3  every account is separate");
  options.print("s  leave it as it is; e  type the values of the file");
  const choice = await choose(options, "Which? (1, 2, 3, s, e)", {
    choices: ["1", "2", "3", "s", "e"],
    standard: before.isPinned ? "1" : "s",
  });
  if (choice === "1") answers.pinUserPeer = "true";
  if (choice === "e")
    for (const key of MAPPING_KEYS) {
      const field = SETTABLE_FIELDS.find((each) => each.key === key);
      const standard = rawText(before.file.host[key]);
      if (field !== undefined) answers[key] = await askUntilValid(field, standard, options);
    }
  if (choice === "2" || choice === "3") {
    answers.pinUserPeer = "false";
    const isUnpinned = before.isPinned && choice === "3";
    if (isUnpinned)
      options.print("Until now all accounts were one person. From now on each starts with an empty memory.");
    const asksAliases =
      choice === "2" ||
      (isUnpinned &&
        (await choose(options, "Keep your own accounts together with aliases? (y, n)", {
          choices: ["y", "n"],
          standard: "y",
        })) === "y");
    if (asksAliases) answers.userPeerAliases = await askAliases(before, options, answers);
  }
}

async function askAliases(
  { aliases, peerName }: HonchoSettings,
  { ask, print }: Asking,
  answers: Answers,
): Promise<string> {
  const target = answers.peerName || peerName;
  const map: Record<string, string> = { ...aliases };
  for (;;) {
    const id = pyStrip(await ask("Id of an account (platform:id, or the bare id), empty when done:"));
    if (id === "") return JSON.stringify(map);
    if (target === "") print("Without a name of yours the alias has no target; name one.");
    map[id] = pyStrip(await ask(`Whose memory is ${id}?`, { default: target })) || target;
  }
}

function rawText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
