// Whether a provider's service can be reached, for `hermes doctor --network` and setup. The provider is started for inspection only, which
// creates and sends nothing, and is shut down afterwards.
import type { MemoryConfig } from "../../config/index.ts";
import { randomHex } from "../../lib/index.ts";
import { DEADLINES_MS, type MemoryProvider } from "../contract.ts";
import { oneLine, runForeign } from "../kit/foreign-code.ts";

export type ConnectionCheck =
  /** `message` is the provider's line. */
  | { readonly kind: "reached"; readonly message: string }
  /** `message` is a sentence. */
  | { readonly kind: "failed"; readonly message: string }
  /** It has no service to ask, or cannot be started for inspection. */
  | { readonly kind: "unsupported" };

export type ConnectionRequest = {
  readonly home: string;
  readonly config: Pick<MemoryConfig, "outbox" | "outboxMaxItems">;
  /** For the request alone; starting and stopping have their own deadlines. */
  readonly timeoutMs?: number;
};

const REQUEST_MS = 15_000;

/** Never rejects. */
export async function inspectConnection(
  provider: MemoryProvider,
  { home, config, timeoutMs = REQUEST_MS }: ConnectionRequest,
): Promise<ConnectionCheck> {
  if (provider.checkConnection == null || provider.initializeForInspection == null)
    return { kind: "unsupported" };
  try {
    const started = await runForeign({ timeoutMs: DEADLINES_MS.initialize }, (signal) =>
      provider.initializeForInspection?.(`inspection-${randomHex(6)}`, {
        hermes_home: home,
        platform: "cli",
        agent_context: "primary",
        outbox: config.outbox,
        outbox_max_items: config.outboxMaxItems,
        signal,
      }),
    );
    if (!started.ok)
      return { kind: "failed", message: `Starting it for inspection ${started.error.message}.` };
    const asked = await runForeign<unknown>({ timeoutMs }, (signal) => provider.checkConnection?.(signal));
    if (!asked.ok) return { kind: "failed", message: `The check of its service ${asked.error.message}.` };
    const said = typeof asked.value === "string" ? oneLine(asked.value) : "";
    return { kind: "reached", message: said === "" ? "The service answered." : said };
  } finally {
    await runForeign({ timeoutMs: DEADLINES_MS.shutdown }, (signal) => provider.shutdown?.({ signal }));
  }
}
