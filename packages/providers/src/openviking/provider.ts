// OpenViking: a context database with a file tree of memories, resources and skills (`viking://`). Servers 0.3 and 0.4 speak different
// wires; `server.ts` finds out which.
import { join } from "node:path";
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import { VikingConnection, type VikingTimes } from "./connection.ts";
import { missingFor, SETTINGS_FILE, VIKING_SETTINGS, type VikingSettings } from "./settings.ts";

export function createOpenVikingProvider({
  times,
  ...options
}: NetworkedOptions & { readonly times?: VikingTimes }): MemoryProvider {
  return new NetworkedProvider<VikingSettings>(
    {
      name: "openviking",
      label: "OpenViking",
      settings: VIKING_SETTINGS,
      missing: missingFor,
      connect: (settings, context) => new VikingConnection(settings, context, times),
      backupPaths: (home) => [join(home, SETTINGS_FILE)],
    },
    options,
  );
}
