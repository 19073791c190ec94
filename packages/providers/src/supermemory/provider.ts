// Supermemory as a memory provider: https://supermemory.ai or a server of one's own.
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type { Service } from "../kit/networked/service.ts";
import { fileRemarks, fileValues } from "../kit/networked/settings.ts";
import { SupermemoryConnection } from "./connection.ts";
import { partsPath } from "./conversations.ts";
import {
  FIELDS,
  readSupermemorySettings,
  SETTINGS_FILE,
  type SupermemorySettings,
  saveSupermemorySettings,
} from "./settings.ts";

const SUPERMEMORY: Service<SupermemorySettings> = {
  name: "supermemory",
  label: "Supermemory",
  fields: FIELDS,
  readSettings: readSupermemorySettings,
  remarks: (place) => fileRemarks(place, SETTINGS_FILE),
  saveSettings: saveSupermemorySettings,
  savedSettings: (place) => fileValues(place, SETTINGS_FILE),
  missing: ({ apiKey }) =>
    apiKey === ""
      ? "SUPERMEMORY_API_KEY is not set. Get a key at https://supermemory.ai and run 'hermes memory setup supermemory'."
      : undefined,
  secrets: ({ apiKey }) => [apiKey],
  connect: (settings, context) => new SupermemoryConnection(settings, context),
  backupPaths: ({ home }) => [partsPath(home)],
};

export function createSupermemoryProvider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider(SUPERMEMORY, options);
}
