// `hermes memory setup byterover`, and its settings in `<home>/byterover.json`. It replaces the generic wizard because of the API key: brv
// reads no variable, so a key in `.env` would have no effect. The key is passed to `brv login` once, which keeps it in brv's own store;
// this program does not store it.
import { join } from "node:path";
import { envFilePath, readEnvFile, setConfigValue } from "@hermes-memory/core/internal/config";
import { HermesError, pyStrip } from "@hermes-memory/core/internal/lib";
import {
  type ConfigField,
  type PostSetupOptions,
  readSettings,
  writeSettings,
} from "@hermes-memory/core/internal/providers";
import { PROVIDER_MODES, parseMode } from "../kit/provider-mode.ts";
import { type Environment, INSTALL_HINT, loginCommand } from "./brv.ts";
import { type Call, modelLine } from "./tools.ts";

export const SETTINGS_FILE = "byterover.json";
const API_KEY_VARIABLE = "BRV_API_KEY";
const KEY_QUESTION = "ByteRover API key, only for sync with the cloud; empty for local use";
const KEY_URL = "https://app.byterover.dev";
const MODE_QUESTION = "Recall and tools (hybrid), recall only (context), or tools only (tools)";

export const CONFIG_FIELDS: readonly ConfigField[] = [
  { key: "api_key", description: KEY_QUESTION, secret: true, env_var: API_KEY_VARIABLE, url: KEY_URL },
  { key: "mode", description: MODE_QUESTION, default: "hybrid", choices: PROVIDER_MODES },
];

export async function setUpByterover(
  home: string,
  { ask, print, values }: PostSetupOptions,
  brv: { readonly env: Environment; readonly isInstalled: boolean; readonly call: Call },
): Promise<void> {
  const unknown = Object.keys(values).find((key) => !CONFIG_FIELDS.some((field) => field.key === key));
  if (unknown !== undefined) throw refusal(`${unknown} is no setting of ByteRover`);
  if (!brv.isInstalled) print(`brv CLI not found. ${INSTALL_HINT} (until then ByteRover stays silent)`);

  let mode = values.mode ?? parseMode(readSettings(home, SETTINGS_FILE).values.mode);
  if (ask !== undefined && values.mode === undefined) mode = await askForMode(ask, print, mode);
  const asked = values.api_key ?? (await askForKey(ask, print));
  const key = pyStrip(values.api_key ?? (asked || knownKey(home, brv.env)));
  saveSettings({ mode }, home);

  if (key !== "" && brv.isInstalled) {
    const login = await brv.call(loginCommand(key));
    print(
      login.ok
        ? "brv is logged in."
        : `brv login failed: ${login.error.message.replaceAll(key, "[the key]")}.`,
    );
  } else if (key !== "") print("The API key was not used. Run 'brv login' once brv is installed.");

  const activated = await setConfigValue(home, "memory.provider", "byterover");
  if (!activated.ok) throw new HermesError("config-not-saved", activated.error.message);
  print(`The settings are in ${join(home, SETTINGS_FILE)}.`);
  if (brv.isInstalled) print(await modelLine(brv.call));
}

/** For setup and `saveConfig`. Saves nothing if one of the values is refused. */
export function saveSettings(values: Readonly<Record<string, string>>, home: string): void {
  const unknown = Object.keys(values).find((key) => key !== "mode");
  if (unknown !== undefined) throw refusal(`${unknown} is no setting of ByteRover`);
  if (!isMode(values.mode ?? "")) throw refusal(`mode must be one of ${PROVIDER_MODES.join(", ")}`);
  const written = writeSettings(home, SETTINGS_FILE, { mode: parseMode(values.mode) });
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}

function isMode(text: string): boolean {
  return PROVIDER_MODES.some((mode) => mode === text.trim().toLowerCase());
}

function refusal(reason: string): HermesError {
  return new HermesError("bad-setting", `${reason}. Nothing was saved.`);
}

async function askForMode(
  ask: NonNullable<PostSetupOptions["ask"]>,
  print: PostSetupOptions["print"],
  saved: string,
): Promise<string> {
  for (;;) {
    const answer = (await ask(MODE_QUESTION, { default: saved })) || saved;
    if (isMode(answer)) return answer;
    print(`mode must be one of ${PROVIDER_MODES.join(", ")}.`);
  }
}

async function askForKey(ask: PostSetupOptions["ask"], print: PostSetupOptions["print"]): Promise<string> {
  if (ask === undefined) return "";
  print(
    `A key is made at ${KEY_URL}. It is given to 'brv login' on its command line, where other users of this`,
  );
  print("machine can see it for a moment; 'brv login' in a terminal of your own uses the browser instead.");
  return pyStrip(await ask(KEY_QUESTION, { secret: true }));
}

/** A key in the variable that the Python edition asks for. */
function knownKey(home: string, env: Environment): string {
  const file = readEnvFile(envFilePath(home));
  return env[API_KEY_VARIABLE] ?? (file.ok ? file.value.values.get(API_KEY_VARIABLE) : undefined) ?? "";
}
