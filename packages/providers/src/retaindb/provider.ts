// RetainDB as a memory provider.
import { join } from "node:path";
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import { RetainDbConnection } from "./connection.ts";
import { queuePath } from "./python-queue.ts";
import { missing, RETAINDB_SETTINGS, type RetainDbSettings, SETTINGS_FILE } from "./settings.ts";

export function createRetainDbProvider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider<RetainDbSettings>(
    {
      name: "retaindb",
      label: "RetainDB",
      settings: RETAINDB_SETTINGS,
      missing,
      connect: (settings, context) => new RetainDbConnection(settings, context),
      backupPaths: (home) => [join(home, SETTINGS_FILE), queuePath(home)],
    },
    options,
  );
}
