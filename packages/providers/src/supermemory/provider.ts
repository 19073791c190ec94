// Supermemory as a memory provider: https://supermemory.ai or a server of one's own.
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import { SupermemoryConnection } from "./connection.ts";
import { partsPath } from "./conversations.ts";
import { SUPERMEMORY_SETTINGS, type SupermemorySettings } from "./settings.ts";

export function createSupermemoryProvider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider<SupermemorySettings>(
    {
      name: "supermemory",
      label: "Supermemory",
      settings: SUPERMEMORY_SETTINGS,
      missing: ({ apiKey }) =>
        apiKey === ""
          ? "SUPERMEMORY_API_KEY is not set. Get a key at https://supermemory.ai and run 'hermes memory setup supermemory'."
          : undefined,
      connect: (settings, context) => new SupermemoryConnection(settings, context),
      backupPaths: (home) => [partsPath(home)],
    },
    options,
  );
}
