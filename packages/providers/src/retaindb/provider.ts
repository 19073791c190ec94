// RetainDB as a memory provider.

import { join } from "node:path";
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type { Service } from "../kit/networked/service.ts";
import { fileRemarks } from "../kit/networked/settings.ts";
import { RetainDbConnection } from "./connection.ts";
import { queuePath } from "./python-queue.ts";
import {
  FIELDS,
  missing,
  type RetainDbSettings,
  readSettings,
  SETTINGS_FILE,
  savedSettings,
  saveSettings,
} from "./settings.ts";

const RETAINDB: Service<RetainDbSettings> = {
  name: "retaindb",
  label: "RetainDB",
  fields: FIELDS,
  readSettings,
  remarks: (place) => fileRemarks(place, SETTINGS_FILE),
  saveSettings,
  savedSettings,
  missing,
  secrets: ({ apiKey }) => [apiKey],
  connect: (settings, context) => new RetainDbConnection(settings, context),
  backupPaths: ({ home }) => [join(home, SETTINGS_FILE), queuePath(home)],
};

export function createRetainDbProvider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider(RETAINDB, options);
}
