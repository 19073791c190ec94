// Honcho as a memory provider.
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type { Place, Service } from "../kit/networked/service.ts";
import { type HonchoPlace, readHonchoFile, writtenPath } from "./config-file.ts";
import { HonchoConnection } from "./connection.ts";
import {
  HONCHO_FIELDS,
  type HonchoSettings,
  missingIn,
  readHonchoSettings,
  savedHonchoSettings,
  saveHonchoSettings,
} from "./settings.ts";

export type HonchoOptions = NetworkedOptions & {
  /** Default: the working directory of the process. It names the session. */
  readonly cwd?: string;
  /** Default: the home directory of the user, where other programs keep Honcho's configuration. */
  readonly userHome?: string;
};

export function createHonchoProvider({ cwd, userHome, ...options }: HonchoOptions): MemoryProvider {
  const env = options.env ?? process.env;
  const placed = (place: Place): HonchoPlace => ({ ...place, userHome });
  const service: Service<HonchoSettings> = {
    name: "honcho",
    label: "Honcho",
    fields: HONCHO_FIELDS,
    readSettings: (place) => readHonchoSettings(placed(place)),
    remarks: (place) => {
      const { problem } = readHonchoFile(placed(place));
      return problem === undefined ? [] : [problem];
    },
    saveSettings: (values, home) => void saveHonchoSettings(placed({ home, env }), values),
    savedSettings: (place) => savedHonchoSettings(placed(place)),
    missing: missingIn,
    secrets: ({ apiKey }) => (apiKey === "" ? [] : [apiKey]),
    connect: (settings, context) => new HonchoConnection(settings, context, { cwd: cwd ?? process.cwd() }),
    backupPaths: ({ home }) => [writtenPath(home)],
    postSetup: async (home, setup, setupEnv) =>
      await (await import("./setup.ts")).setUpHoncho(placed({ home, env: setupEnv }), setup),
  };
  return new NetworkedProvider(service, options);
}
