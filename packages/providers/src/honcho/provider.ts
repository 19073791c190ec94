// Honcho as a memory provider.
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import { writtenPath } from "./config-file.ts";
import { HonchoConnection } from "./connection.ts";
import { type HonchoSettings, honchoSettings, missingIn } from "./settings.ts";

export type HonchoOptions = NetworkedOptions & {
  /** Default: the working directory of the process. It names the session. */
  readonly cwd?: string;
  /** Default: the home directory of the user, where other programs keep Honcho's configuration. */
  readonly userHome?: string;
};

export function createHonchoProvider({ cwd, userHome, ...options }: HonchoOptions): MemoryProvider {
  return new NetworkedProvider<HonchoSettings>(
    {
      name: "honcho",
      label: "Honcho",
      settings: honchoSettings(userHome),
      missing: missingIn,
      connect: (settings, context) => new HonchoConnection(settings, context, { cwd: cwd ?? process.cwd() }),
      backupPaths: (home) => [writtenPath(home)],
      postSetup: async (place, setup) =>
        await (await import("./setup.ts")).setUpHoncho({ userHome, ...place }, setup),
    },
    options,
  );
}
