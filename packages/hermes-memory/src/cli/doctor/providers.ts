// The external memory provider. Nothing of a user's plugin is run; what was found when it last ran has to do.
import { useEnvFile } from "@hermes-memory/core/config";
import {
  activeProviderName,
  checkAvailability,
  findProvider,
  loadProvider,
  readProviderHealth,
} from "@hermes-memory/core/providers";
import { localTime } from "../printing.ts";
import { type Finding, fine, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";

const CHECK = "provider";
const LOOK = "'hermes memory status' shows what it needs.";
const CHOOSE = "Choose one with 'hermes memory setup', or switch it off with 'hermes memory off'.";

export async function checkProvider({ home, config }: Patient): Promise<Finding[]> {
  const name = activeProviderName(config.provider);
  if (name === "")
    return [fine(CHECK, "No external memory provider is chosen; the built-in memory needs none.")];
  const found = await findProvider(home, name);
  if (found === undefined)
    return [warn(CHECK, `The memory provider '${name}' is chosen in config.yaml but not installed.`, CHOOSE)];
  if (found.problem !== undefined)
    return [warn(CHECK, `The memory provider '${name}' cannot be loaded. ${found.problem}`, CHOOSE)];
  return [found.source === "bundled" ? await askBundled(home, name) : recorded(home, name)];
}

async function askBundled(home: string, name: string): Promise<Finding> {
  useEnvFile(home);
  const loaded = await loadProvider(home, name);
  if (!loaded.ok) return warn(CHECK, loaded.error.message, LOOK);
  const { available, reason } = await checkAvailability(loaded.value.provider);
  return available
    ? fine(CHECK, `The memory provider '${name}' is available.`)
    : unavailable(name, reason, "");
}

function recorded(home: string, name: string): Finding {
  const known = readProviderHealth(home, name)?.availability;
  if (known === undefined)
    return fine(CHECK, `The memory provider '${name}' is installed. 'hermes memory test' tries it out.`);
  const when = ` when it was last asked (${localTime(known.checked_at)})`;
  return known.available
    ? fine(CHECK, `The memory provider '${name}' was available${when}.`)
    : unavailable(name, known.reason, when);
}

function unavailable(name: string, reason: string | undefined, when: string): Finding {
  const message = `The memory provider '${name}' is not available${when}. ${reason ?? "It gives no reason."}`;
  return warn(CHECK, message, LOOK);
}
