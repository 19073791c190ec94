// Hindsight: a memory server that extracts facts from conversations. In its cloud, on a server of the user's, or as a local daemon that
// this program starts.
import { join } from "node:path";
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import { HindsightConnection, type HindsightTimes } from "./connection.ts";
import { HINDSIGHT_SETTINGS, type HindsightSettings, missingFor, SETTINGS_FILE } from "./settings.ts";

export function createHindsightProvider({
  times,
  ...options
}: NetworkedOptions & { readonly times?: HindsightTimes }): MemoryProvider {
  return new NetworkedProvider<HindsightSettings>(
    {
      name: "hindsight",
      label: "Hindsight",
      settings: HINDSIGHT_SETTINGS,
      missing: missingFor,
      connect: (settings, context) => new HindsightConnection(settings, context, times),
      backupPaths: (home) => [join(home, SETTINGS_FILE)],
      postSetup: async (...given) => (await import("./setup.ts")).setUpHindsight(...given),
    },
    options,
  );
}
