// From config to a running provider. Whatever goes wrong on the way, the agent goes on with its built-in memory.
import { type MemoryConfig, useEnvFile } from "../../config/index.ts";
import { type Clock, systemClock } from "../../lib/index.ts";
import { type Logger, silentLogger } from "../../lib/logger.ts";
import type { MemoryProvider } from "../contract.ts";
import { activeProviderName } from "../discovery/find-providers.ts";
import { describeForeign } from "../discovery/foreign-code.ts";
import { checkAvailability, isOwnFault, loadProvider } from "../discovery/load-provider.ts";
import type { Deadlines } from "./deadlines.ts";
import { recordAvailability } from "./health-file.ts";
import { MemoryManager } from "./manager.ts";
import type { InitializeAllOptions } from "./options.ts";

export type ActivationRequest = {
  readonly home: string;
  readonly config: MemoryConfig;
  readonly sessionId: string;
  /** Who the agent is and for whom it works. */
  readonly options?: InitializeAllOptions;
  readonly log?: Logger;
  readonly clock?: Clock;
  /** Told once, in words for the user, when the provider fails or does not answer in time for the first time. */
  readonly onTrouble?: (text: string) => void;
  /** Where somebody waits who has no conversation to go on with. */
  readonly deadlinesMs?: Partial<Deadlines>;
};

export type Activation =
  /** `provider` is the external one. */
  | { readonly kind: "active"; readonly manager: MemoryManager; readonly provider: MemoryProvider }
  | { readonly kind: "none" }
  | { readonly kind: "unavailable"; readonly name: string; readonly reason: string };

/** Never rejects. What `.env` of the home holds is put into the environment first, where providers look for their keys. */
export async function activateProvider(request: ActivationRequest): Promise<Activation> {
  const name = activeProviderName(request.config.provider);
  if (name === "") return { kind: "none" };
  const { log = silentLogger } = request;
  useEnvFile(request.home);
  const outcome = await attempt(name, request, log).catch((cause: unknown) => `${describeForeign(cause)}.`);
  if (typeof outcome !== "string") return outcome;
  log.warn(`The memory provider '${name}' is not used: ${outcome}`, { provider: name });
  return { kind: "unavailable", name, reason: outcome };
}

/** The reason when there is nothing to use. */
async function attempt(
  name: string,
  { home, config, sessionId, options, onTrouble, deadlinesMs, clock = systemClock }: ActivationRequest,
  log: Logger,
): Promise<Activation | string> {
  const loaded = await loadProvider(home, name);
  if (!loaded.ok) {
    const { message: reason } = loaded.error;
    if (isOwnFault(loaded.error))
      recordAvailability(home, name, { available: false, reason }, "activation", clock);
    return reason;
  }
  const { provider } = loaded.value;
  const found = await checkAvailability(provider);
  recordAvailability(home, name, found, "activation", clock);
  if (!found.available) return found.reason ?? "it says that it is not available.";
  const manager = new MemoryManager({
    home,
    selectedAs: name,
    log,
    clock,
    recallMaxChars: config.recallMaxChars,
    allowSecrets: config.allowSecrets,
    prefetchTimeoutS: config.prefetchTimeoutS,
    prefetchMaxAgeTurns: config.prefetchMaxAgeTurns,
    mirrorRemove: config.mirrorRemove,
    onTrouble,
    ...(deadlinesMs === undefined ? {} : { deadlinesMs }),
  });
  if (!manager.addProvider(provider)) return "the manager did not take it; the log says why.";
  await manager.initializeAll(sessionId, { platform: "cli", agent_context: "primary", ...options });
  return { kind: "active", manager, provider };
}
