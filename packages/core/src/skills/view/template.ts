// Fills in what a skill may ask for by name. Commands in a skill are never run.
export type TemplateValues = { readonly skillDirectory: string; readonly sessionId?: string | undefined };

/** Names we do not know, and values we do not have, stay as they are written. Pure. */
export function fillTemplate(text: string, { skillDirectory, sessionId }: TemplateValues): string {
  return text.replace(/\$\{(HERMES_SKILL_DIR|HERMES_SESSION_ID)\}/g, (whole, name: string) =>
    name === "HERMES_SKILL_DIR" ? skillDirectory : (sessionId ?? whole),
  );
}
