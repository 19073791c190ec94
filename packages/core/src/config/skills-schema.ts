// The section `skills`: where skills are looked for, which are switched off, how they are written and shown.
import * as z from "zod";
import { AT_LEAST_0, approval, boolean, SECTION, wholeNumber } from "./schema-parts.ts";

export type SkillsConfig = {
  readonly writeApproval: boolean;
  /** Model calls with tools between two reminders to write a skill; 0 for none. */
  readonly creationNudgeInterval: number;
  /** As they stand in the file; whoever opens them fills in `~` and variables. */
  readonly externalDirs: readonly string[];
  readonly disabled: readonly string[];
  /** By platform (`cli`, `telegram`, ...); adds to `disabled`. */
  readonly platformDisabled: Readonly<Record<string, readonly string[]>>;
  readonly templateVars: boolean;
  /** Texts that look like credentials may be written. */
  readonly allowSecrets: boolean;
};

/** A single text counts as a list of one, as in the reference. */
function list(message: string) {
  return z.preprocess(
    (value) => (typeof value === "string" ? [value] : value),
    z.array(z.string(message), message).nullish(),
  );
}

const DIRECTORIES = "must be a list of directories, such as [~/team-skills]";
const NAMES = "must be a list of skill names, such as [deploy]";

export const skillsSection = z
  .looseObject(
    {
      write_approval: approval.optional(),
      creation_nudge_interval: wholeNumber(AT_LEAST_0, 10),
      external_dirs: list(DIRECTORIES).optional(),
      disabled: list(NAMES).optional(),
      platform_disabled: z.record(z.string(), list(NAMES), SECTION).nullish(),
      template_vars: boolean(true),
      allow_secrets: boolean(false),
    },
    SECTION,
  )
  .transform(
    (section): SkillsConfig => ({
      writeApproval: section.write_approval ?? false,
      creationNudgeInterval: section.creation_nudge_interval,
      externalDirs: section.external_dirs ?? [],
      disabled: section.disabled ?? [],
      platformDisabled: Object.fromEntries(
        Object.entries(section.platform_disabled ?? {}).map(([platform, names]) => [platform, names ?? []]),
      ),
      templateVars: section.template_vars,
      allowSecrets: section.allow_secrets,
    }),
  );
