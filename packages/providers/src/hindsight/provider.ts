// Hindsight: a memory server that extracts facts from conversations. In its cloud, on a server of the user's, or as a local daemon that
// this program starts.

import { join } from "node:path";
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type { Connection, Service } from "../kit/networked/service.ts";
import { HindsightConnection, type HindsightTimes } from "./connection.ts";
import {
  FIELDS,
  type HindsightSettings,
  missingFor,
  readHindsightSettings,
  SETTINGS_FILE,
  savedAnswers,
  saveHindsightSettings,
  settingsRemarks,
} from "./settings.ts";

export function createHindsightProvider({
  times,
  ...options
}: NetworkedOptions & { readonly times?: HindsightTimes }): MemoryProvider {
  return new NetworkedProvider(service(times), options);
}

function service(times: HindsightTimes | undefined): Service<HindsightSettings> {
  return {
    name: "hindsight",
    label: "Hindsight",
    fields: FIELDS,
    readSettings: readHindsightSettings,
    remarks: settingsRemarks,
    saveSettings: saveHindsightSettings,
    savedSettings: savedAnswers,
    missing: missingFor,
    secrets: ({ apiKey, embedded }) => [apiKey, embedded.llmApiKey].filter((secret) => secret !== ""),
    connect: (settings, context) => {
      const reason = missingFor(settings);
      return reason === undefined ? new HindsightConnection(settings, context, times) : disabled(reason);
    },
    backupPaths: ({ home }) => [join(home, SETTINGS_FILE)],
    postSetup: async (...given) => (await import("./setup.ts")).setUpHindsight(...given),
  };
}

/** Without a key or a program: no tools, no prompt, no request. What waits in the outbox stays there. */
function disabled(reason: string): Connection {
  const refuse = async (): Promise<never> => {
    throw new Error(reason);
  };
  return {
    promptBlock: () => "",
    tools: [],
    turnItems: () => [],
    mirrorItems: () => [],
    deliver: async () => ({ kind: "blocked", reason }),
    batchLimit: () => 1,
    check: refuse,
    probe: { write: refuse, finds: refuse, remove: refuse },
    cannotErase: reason,
  };
}
