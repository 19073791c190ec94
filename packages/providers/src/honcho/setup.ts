// `hermes memory setup honcho`: asks in order, or takes everything from `--set`, saves the block of this profile and switches the provider
// on. The command that calls it then makes a real request.
import { HermesError, ok, pyStrip } from "@hermes-memory/core/internal/lib";
import { type ConfigField, checkAnswer, type PostSetupOptions } from "@hermes-memory/core/internal/providers";
import { type Asking, activate, askField } from "../kit/networked/setup.ts";
import type { HonchoPlace } from "./config-file.ts";
import {
  checkSetting,
  type HonchoSettings,
  honchoSettings,
  readHonchoSettings,
  SETTABLE_FIELDS,
  saveHonchoSettings,
  serverAddress,
} from "./settings.ts";

type Answers = Record<string, string>;

export async function setUpHoncho(place: HonchoPlace, options: PostSetupOptions): Promise<void> {
  const { ask, print } = options;
  const given = checked(options.values);
  const before = readHonchoSettings(place);
  const answers =
    ask === undefined
      ? { ...standardAnswers(place, before), ...given }
      : await askAll(place, before, { ask, print }, given);
  if (!hasServer(place, before, answers))
    throw new HermesError(
      "bad-setting",
      "Honcho needs a key for the cloud (--set apiKey=...) or the address of your server (--set baseUrl=...). Nothing was saved.",
    );
  const saved = saveHonchoSettings(place, { ...answers, enabled: "true" });
  await activate(place.home, "honcho");
  print(`The settings are in ${saved}, in the block '${before.file.hostKey}'.`);
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
    const answer = checkSetting(key, text);
    if (!answer.ok)
      throw new HermesError("bad-setting", `${given} ${answer.error}. Nothing was saved.`, {
        hint: `The settings are: ${SETTABLE_FIELDS.map((field) => field.key).join(", ")}.`,
      });
    answers[key] = answer.value;
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

const ASKED = [
  "observationMode",
  "writeFrequency",
  "mode",
  "contextTokens",
  "dialecticCadence",
  "dialecticReasoningLevel",
  "sessionStrategy",
];

async function askAll(
  place: HonchoPlace,
  before: HonchoSettings,
  asking: Asking,
  given: Answers,
): Promise<Answers> {
  const answers: Answers = { ...given };
  await askServer(before, asking, answers);
  // Only the values of the file, so that a default stays a default.
  const saved = Object.entries(honchoSettings(place.userHome).saved(place));
  const standards: Answers = {
    ...Object.fromEntries(saved.map(([key, value]) => [key, String(value)])),
    peerName: before.peerName || userName(place),
    aiPeer: before.aiPeer,
    workspace: before.file.isUsed ? before.workspace : before.file.hostKey,
  };
  const question = async (key: string): Promise<void> => {
    const field = SETTABLE_FIELDS.find((each) => each.key === key);
    if (field === undefined || answers[key] !== undefined) return;
    const standard = standards[key] ?? field.default ?? "";
    const answer = await askField(field, standard, asking, (text) => checkSetting(key, text));
    if (answer !== "" || standard !== "") answers[key] = answer;
  };
  for (const key of ["peerName", "aiPeer", "workspace"]) await question(key);
  await askMapping(place, before, asking, answers);
  for (const key of ASKED) await question(key);
  return answers;
}

async function askServer(before: HonchoSettings, asking: Asking, answers: Answers): Promise<void> {
  if (answers.baseUrl !== undefined || answers.apiKey !== undefined) return;
  const place = await choose(asking, "Honcho in the cloud, or your own server?", {
    choices: ["cloud", "local"],
    default: before.hasBaseUrl ? "local" : "cloud",
  });
  const key: ConfigField = {
    key: "apiKey",
    secret: true,
    description: "Token (JWT) of the server, if it needs one",
  };
  if (place === "local") {
    const url = { key: "baseUrl", description: "Address of the server" };
    const standard = before.hasBaseUrl ? before.publicUrl : "http://localhost:8000";
    const address = await askField(url, standard, asking, (text) => checkSetting("baseUrl", text));
    // The default is shown, so it has no password: whoever keeps it keeps the address with its password.
    const isKept = before.hasBaseUrl && address === before.publicUrl;
    answers.baseUrl = isKept ? before.baseUrl : (serverAddress(address) ?? "");
  } else {
    answers.baseUrl = "";
    Object.assign(key, { description: "API key", url: "https://app.honcho.dev" });
  }
  const token = await askField(key, "", asking, ok);
  if (token !== "") answers.apiKey = token;
}

async function choose(
  asking: Asking,
  description: string,
  field: { readonly choices: readonly string[]; readonly default: string },
): Promise<string> {
  const asked = { key: "The answer", description, ...field };
  return await askField(asked, field.default, asking, (answer) => checkAnswer(asked, answer));
}

// ---- People who write through a gateway ----

const MAPPING_KEYS = ["pinUserPeer", "userPeerAliases", "runtimePeerPrefix"];
const GATEWAY_TOKEN = /^(TELEGRAM|DISCORD|SLACK|WHATSAPP|SIGNAL|MATRIX)_.*(TOKEN|ACCOUNT|NUMBER)$/;

async function askMapping(
  { env }: HonchoPlace,
  before: HonchoSettings,
  asking: Asking,
  answers: Answers,
): Promise<void> {
  if (MAPPING_KEYS.some((key) => answers[key] !== undefined)) return;
  const { print } = asking;
  const hasGateway = Object.keys(env).some((name) => GATEWAY_TOKEN.test(name) && env[name] !== "");
  const isYes = async (question: string, standard: "y" | "n") =>
    (await choose(asking, question, { choices: ["y", "n"], default: standard })) === "y";
  if (!(await isYes("Set how people of a gateway are kept apart?", hasGateway ? "y" : "n"))) return;
  print("1  everyone who writes is you: one memory for all platforms (pin)");
  print("2  some accounts are you, everyone else is separate (aliases)");
  print("3  every account is separate");
  print("s  leave it as it is; e  type the values of the file");
  const choices = ["1", "2", "3", "s", "e"];
  const choice = await choose(asking, "Which?", { choices, default: before.isPinned ? "1" : "s" });
  if (choice === "1") answers.pinUserPeer = "true";
  if (choice === "e")
    for (const key of MAPPING_KEYS) {
      const value = before.file.host[key] ?? "";
      const standard = typeof value === "string" ? value : JSON.stringify(value);
      answers[key] = await askField({ key }, standard, asking, (text) => checkSetting(key, text));
    }
  if (choice !== "2" && choice !== "3") return;
  answers.pinUserPeer = "false";
  const isUnpinned = before.isPinned && choice === "3";
  if (isUnpinned)
    print("Until now all accounts were one person. From now on each starts with an empty memory.");
  if (choice === "2" || (isUnpinned && (await isYes("Keep your own accounts together with aliases?", "y"))))
    answers.userPeerAliases = await askAliases(before, asking, answers);
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
