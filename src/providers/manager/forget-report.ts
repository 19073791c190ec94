// What a provider says about a text it erased. A plugin wrote it: only what is there counts.
import { preview } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { ProviderForgot } from "./options.ts";

const REMAINING_CHARS = 500;

export function readForgetReport(report: unknown): ProviderForgot {
  const given = typeof report === "object" && report !== null ? (report as Record<string, unknown>) : {};
  const { erased, remaining } = given;
  if (typeof erased !== "number" || !Number.isSafeInteger(erased) || erased < 0)
    return { kind: "failed", reason: "forget: it did not say how much it erased." };
  const said = typeof remaining === "string" ? remaining.replace(/[\s\p{Cc}]+/gu, " ").trim() : "";
  return {
    kind: "forgot",
    erased,
    ...(said === "" ? {} : { remaining: preview(redactSecrets(said), REMAINING_CHARS) }),
  };
}
