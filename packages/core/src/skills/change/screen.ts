// The scan of what is written into a skill: a later agent will read it as instructions.
import {
  findingIds,
  type GateFinding,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
} from "../../security/index.ts";
import type { SkillError } from "../types.ts";
import type { Scene } from "./plan-types.ts";

/**
 * Why the text may not be stored, or nothing. Never quotes it. A person's own text is not scanned for threat patterns, but the second
 * gate looks at it too: nobody sees tag characters, and few mean to store a key. `before` is the file's text up to now: a credential
 * that it has already does not keep the rest of it from being improved; `hermes doctor` lists it.
 */
export function screenProblem(
  text: string,
  { store, origin }: Pick<Scene, "store" | "origin">,
  before = "",
): SkillError | undefined {
  const { allowSecrets } = store;
  const allow = allowSecrets ? SECRET_THREAT_IDS : [];
  const ids = origin === "cli" ? [] : scanThreats(text, "strict", { allow }).map(({ id }) => id);
  if (ids.length > 0) {
    const message =
      `Blocked: the text matches ${ids.join(", ")}. A skill is followed as an instruction later, so it may not carry ` +
      "injection or exfiltration payloads. Nothing was changed. If it is harmless, reword it, or let a person write it.";
    return { kind: "blocked", message, details: { findings: ids } };
  }
  const isNews = ({ kind, start, end }: GateFinding): boolean =>
    kind === "disguised" || !before.includes(text.slice(start, end));
  const found = secondGate(text, { allowSecrets }).filter(isNews);
  if (found.length === 0) return undefined;
  const message = `${gateMessage(found)} Nothing was changed.`;
  return { kind: "blocked", message, details: { findings: findingIds(found) } };
}
