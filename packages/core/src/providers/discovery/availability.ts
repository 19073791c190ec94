// Asking a provider whether it could work now. It may throw or hang; that is an answer too.
import type { MemoryProvider } from "../contract.ts";
import { DEADLINES_MS } from "../manager/deadlines.ts";
import { type ForeignRules, oneLine, runForeign } from "./foreign-code.ts";
import type { Availability } from "./found.ts";

/** Never rejects. The deadline holds for the question and for the reason, each. */
export async function checkAvailability(
  provider: MemoryProvider,
  options: Partial<ForeignRules> = {},
): Promise<Availability> {
  const rules: ForeignRules = { timeoutMs: DEADLINES_MS.availability, ...options };
  const answer = await runForeign(rules, () => provider.isAvailable());
  if (!answer.ok) return { available: false, reason: `isAvailable() ${answer.error.message}.` };
  if (answer.value) return { available: true };
  const reason = await runForeign(rules, () => provider.unavailableReason?.() ?? "");
  if (!reason.ok) return { available: false, reason: `unavailableReason() ${reason.error.message}.` };
  const said = typeof reason.value === "string" ? oneLine(reason.value) : "";
  return said === "" ? { available: false } : { available: false, reason: `${said}.` };
}
