// The scan of what an agent writes into a skill: a later agent will read it as instructions.
import { scanThreats } from "../../security/index.ts";
import type { SkillError } from "../types.ts";

/** Why the text may not be stored, or nothing. Never quotes it. */
export function screenProblem(text: string): SkillError | undefined {
  const ids = scanThreats(text, "strict").map(({ id }) => id);
  if (ids.length === 0) return undefined;
  const message =
    `Blocked: the text matches ${ids.join(", ")}. A skill is followed as an instruction later, so it may not carry ` +
    "injection or exfiltration payloads. Nothing was changed. If it is harmless, reword it, or let a person write it.";
  return { kind: "blocked", message, details: { findings: ids } };
}
