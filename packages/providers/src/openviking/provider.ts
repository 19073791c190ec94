// OpenViking: a context database with a file tree of memories, resources and skills (`viking://`). Servers 0.3 and 0.4 speak different
// wires; `server.ts` finds out which.
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type { Service } from "../kit/networked/service.ts";
import { VikingConnection, type VikingTimes } from "./connection.ts";
import {
  FIELDS,
  missingFor,
  readVikingSettings,
  remarksOn,
  savedAnswers,
  saveVikingSettings,
  settingsPath,
  type VikingSettings,
} from "./settings.ts";

export function createOpenVikingProvider({
  times,
  ...options
}: NetworkedOptions & { readonly times?: VikingTimes }): MemoryProvider {
  return new NetworkedProvider(service(times), options);
}

function service(times: VikingTimes | undefined): Service<VikingSettings> {
  return {
    name: "openviking",
    label: "OpenViking",
    fields: FIELDS,
    readSettings: readVikingSettings,
    remarks: remarksOn,
    saveSettings: saveVikingSettings,
    savedSettings: savedAnswers,
    missing: missingFor,
    secrets: ({ apiKey }) => (apiKey === "" ? [] : [apiKey]),
    connect: (settings, context) => new VikingConnection(settings, context, times),
    backupPaths: ({ home }) => [settingsPath(home)],
  };
}
