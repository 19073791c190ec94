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
  const said = sentence(remaining);
  return {
    kind: "forgot",
    erased,
    ...(said === "" ? {} : { remaining: said }),
  };
}

/** What a provider said of a write: nothing, that it has it, or why it does not. */
export type WriteReport =
  | { readonly kind: "unsaid" }
  | { readonly kind: "stored" }
  | { readonly kind: "refused"; readonly reason: string };

export function readWriteReport(report: unknown): WriteReport {
  const { stored, reason } = (typeof report === "object" && report !== null ? report : {}) as Record<
    string,
    unknown
  >;
  if (typeof stored !== "boolean") return { kind: "unsaid" };
  return stored ? { kind: "stored" } : { kind: "refused", reason: sentence(reason) || "It did not say why." };
}

/** On one line, short and without secrets; "" for nothing. */
function sentence(given: unknown): string {
  const said = typeof given === "string" ? given.replace(/[\s\p{Cc}]+/gu, " ").trim() : "";
  return preview(redactSecrets(said), REMAINING_CHARS);
}
