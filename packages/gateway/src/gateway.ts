// What every route has at hand: the opened homes, config.yaml and .env as they are now, events and metrics. One per server; nothing in it
// has to survive a restart.
import { resolve } from "node:path";
import {
  configPath,
  envFilePath,
  environmentOf,
  type HermesConfig,
  loadConfig,
} from "@hermes-memory/core/internal/config";
import { type HomeContext, parseProfileName, profileHome, rootOf } from "@hermes-memory/core/internal/home";
import { type Clock, describeCause, isDirectory } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { type Home, type Memory, memoryIn, usable } from "@hermes-memory/core/internal/memory";
import {
  type Events,
  type Gateway,
  type GatewayEvent,
  type GatewaySettings,
  type Metrics,
  refused,
} from "./types.ts";
import { watched } from "./watched.ts";

export type GatewayOptions = {
  readonly home: string;
  readonly log: Logger;
  /** Variables of the process. Those of the home's .env are added. */
  readonly env: Gateway["env"];
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** For finding profiles. */
  readonly system: HomeContext;
  /** Flags of the command line, which count more than config.yaml. */
  readonly overrides?: Partial<GatewaySettings>;
};

export type OpenedGateway = Gateway & {
  /** From now on new requests are refused. */
  beginStopping(): void;
  /** Closes the agents and layers of all opened homes. */
  close(): Promise<void>;
};

export function openGateway({
  home,
  log,
  env,
  clock,
  metrics,
  system,
  overrides,
}: GatewayOptions): OpenedGateway {
  const homes = new Map<string, Memory>();
  const root = rootOf(home, system);
  const readConfig = liveConfig(home, overrides ?? {}, log);
  const environment = watched(envFilePath(home), () => environmentOf(home, env));
  let isStopping = false;

  function open(directory: string): Memory {
    const path = resolve(directory);
    const known = homes.get(path);
    if (known !== undefined) return known;
    const opened = memoryIn({ home: path, log, clock, env: environment.current(), config: "live" });
    homes.set(path, opened);
    return opened;
  }

  return {
    home,
    clock,
    log,
    metrics,
    events: createEvents(log, clock),
    get env() {
      return environment.current();
    },
    get isStopping() {
      return isStopping;
    },
    config: readConfig,
    memory(profile) {
      return open(profile === undefined ? home : homeOfProfile(profile, root));
    },
    beginStopping() {
      isStopping = true;
    },
    async close() {
      const closed = await Promise.allSettled([...homes.values()].map((memory) => memory.close()));
      for (const outcome of closed)
        if (outcome.status === "rejected")
          log.error("A home could not be closed in good order", { cause: outcome.reason });
    },
  };
}

/** A mistake in config.yaml while the server runs leaves the settings as they were, with one warning per version of the file. */
function liveConfig(
  home: string,
  overrides: Partial<GatewaySettings>,
  log: Logger,
): () => Promise<HermesConfig> {
  let last: HermesConfig | undefined;
  const read = async (): Promise<HermesConfig> => {
    const loaded = await loadConfig(home);
    if (!loaded.ok && last !== undefined) {
      log.warn("config.yaml has a mistake; the gateway goes on with the settings from before", {
        problem: loaded.error.message,
      });
      return last;
    }
    const config = usable(loaded);
    last = { ...config, gateway: { ...config.gateway, ...overrides } };
    return last;
  };
  const reading = watched(configPath(home), read);
  return async () => {
    try {
      return await reading.current();
    } catch (cause) {
      reading.forget(); // the user may repair the file
      throw cause;
    }
  };
}

function homeOfProfile(profile: string, root: string): string {
  const name = parseProfileName(profile);
  const directory = name.ok ? profileHome(root, name.value) : undefined;
  if (directory !== undefined && isDirectory(directory)) return directory;
  throw refused(500, "unknown-profile", {
    message: "The server's settings map this user to a profile that does not exist.",
    hint: "Whoever runs the server corrects gateway.identity_profiles, or creates the profile with 'hermes profile create'.",
  });
}

/** The served home, and those of the profiles that users are mapped to. */
export async function servedHomes(gateway: Gateway): Promise<readonly Home[]> {
  const { identityProfiles } = (await gateway.config()).gateway;
  const profiles = Object.values(identityProfiles).filter((name) => typeof name === "string");
  return [undefined, ...new Set(profiles)].flatMap((profile) => {
    try {
      return [gateway.memory(profile).administration];
    } catch (cause) {
      gateway.log.warn(`Nobody can use the profile '${profile ?? "default"}': ${describeCause(cause)}`);
      return [];
    }
  });
}

function createEvents(log: Logger, clock: Clock): Events {
  const listeners = new Set<(event: GatewayEvent) => void>();
  return {
    emit(said) {
      const event = { ...said, at: clock.now().toISOString() };
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (cause) {
          log.warn("A listener of events failed", { type: event.type, cause }); // the turn that caused the event goes on
        }
      }
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
