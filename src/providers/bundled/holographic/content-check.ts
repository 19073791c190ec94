// What may become a fact: not empty, not too long, nothing that could pass for an instruction. Facts reach the prompt.
import { codePointLength, err, ok, pyStrip, type Result } from "../../../lib/index.ts";
import { scanThreats } from "../../../security/index.ts";

export const MOST_CONTENT_CHARS = 2000;

export type FactRefusal = {
  readonly kind: "empty" | "too-long" | "blocked" | "duplicate";
  readonly message: string;
};

const MOST_LABEL_CHARS = { category: 64, tags: 500 } as const;

/** Category and tags come back with every hit. */
export function checkLabels(labels: {
  readonly category?: string | undefined;
  readonly tags?: string | undefined;
}): Result<void, FactRefusal> {
  for (const name of ["category", "tags"] as const) {
    const text = labels[name] ?? "";
    if (codePointLength(text) > MOST_LABEL_CHARS[name])
      return err({ kind: "too-long", message: `${name} may have ${MOST_LABEL_CHARS[name]} characters` });
    const [finding] = scanThreats(text, "strict");
    if (finding)
      return err({ kind: "blocked", message: `${name} was not stored: it matches ${finding.id}.` });
  }
  return ok(undefined);
}

/** The text as it is stored. */
export function checkContent(text: string): Result<string, FactRefusal> {
  const content = pyStrip(text.toWellFormed());
  if (content === "") return err({ kind: "empty", message: "content must not be empty" });
  const length = codePointLength(content);
  if (length > MOST_CONTENT_CHARS) {
    const message = `content has ${length} characters; a fact may have ${MOST_CONTENT_CHARS}. Split it into single facts.`;
    return err({ kind: "too-long", message });
  }
  const findings = scanThreats(content, "strict");
  if (findings.length > 0) {
    const ids = findings.map(({ id }) => id).join(", ");
    const message = `content was not stored: it matches ${ids}. Facts become part of the prompt, so they may not carry instructions or secrets' paths. If it is harmless, reword it.`;
    return err({ kind: "blocked", message });
  }
  return ok(content);
}
