// What may become a fact: not empty, not too long, nothing that could pass for an instruction. Facts reach the prompt.
import { codePointLength, err, ok, pyStrip, type Result } from "../../../lib/index.ts";
import {
  findingIds,
  gateMessage,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
} from "../../../security/index.ts";

const MOST_CONTENT_CHARS = 2000;

export type FactRefusal = {
  readonly kind: "empty" | "too-long" | "blocked" | "duplicate";
  readonly message: string;
};

const MOST_LABEL_CHARS = { category: 64, tags: 500 } as const;

/** Config `memory.allow_secrets`. */
export type FactRules = { readonly allowSecrets: boolean };

/** Category and tags come back with every hit. */
export function checkLabels(
  labels: { readonly category?: string | undefined; readonly tags?: string | undefined },
  rules: FactRules,
): Result<void, FactRefusal> {
  for (const name of ["category", "tags"] as const) {
    const text = labels[name] ?? "";
    if (codePointLength(text) > MOST_LABEL_CHARS[name])
      return err({ kind: "too-long", message: `${name} may have ${MOST_LABEL_CHARS[name]} characters` });
    const [id] = [...threatIds(text, rules), ...findingIds(secondGate(text, rules))];
    if (id !== undefined)
      return err({ kind: "blocked", message: `${name} was not stored: it matches ${id}.` });
  }
  return ok(undefined);
}

/** The text as it is stored. */
export function checkContent(text: string, rules: FactRules): Result<string, FactRefusal> {
  const content = pyStrip(text.toWellFormed());
  if (content === "") return err({ kind: "empty", message: "content must not be empty" });
  const length = codePointLength(content);
  if (length > MOST_CONTENT_CHARS) {
    const message = `content has ${length} characters; a fact may have ${MOST_CONTENT_CHARS}. Split it into single facts.`;
    return err({ kind: "too-long", message });
  }
  const ids = threatIds(content, rules);
  if (ids.length > 0) {
    const message = `content was not stored: it matches ${ids.join(", ")}. Facts become part of the prompt, so they may not carry instructions or secrets' paths. If it is harmless, reword it.`;
    return err({ kind: "blocked", message });
  }
  const found = secondGate(content, rules);
  return found.length > 0 ? err({ kind: "blocked", message: gateMessage(found) }) : ok(content);
}

function threatIds(text: string, { allowSecrets }: FactRules): string[] {
  const allow = allowSecrets ? SECRET_THREAT_IDS : [];
  return scanThreats(text, "strict", { allow }).map(({ id }) => id);
}
