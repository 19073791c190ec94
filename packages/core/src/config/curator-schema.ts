// The section `curator`: when memory and skills are tidied, and how old a skill may get.
import * as z from "zod";
import { AT_LEAST_0, AT_LEAST_1, boolean, SECTION, wholeNumber } from "./schema-parts.ts";

export type CuratorConfig = {
  readonly enabled: boolean;
  readonly intervalHours: number;
  readonly minIdleHours: number;
  readonly staleAfterDays: number;
  readonly archiveAfterDays: number;
  readonly backup: { readonly enabled: boolean; readonly keep: number };
  /** A scheduled run looks after memory too. It only ever proposes. */
  readonly memory: boolean;
};

const backup = z
  .looseObject({ enabled: boolean(true), keep: wholeNumber(AT_LEAST_1, 5) }, SECTION)
  .nullish()
  .transform((section) => ({ enabled: section?.enabled ?? true, keep: section?.keep ?? 5 }));

export const curatorSection = z
  .looseObject(
    {
      enabled: boolean(true),
      interval_hours: wholeNumber(AT_LEAST_1, 168),
      min_idle_hours: wholeNumber(AT_LEAST_0, 2),
      stale_after_days: wholeNumber(AT_LEAST_1, 30),
      archive_after_days: wholeNumber(AT_LEAST_1, 90),
      backup,
      memory: boolean(true),
    },
    SECTION,
  )
  .transform(
    (section): CuratorConfig => ({
      enabled: section.enabled,
      intervalHours: section.interval_hours,
      minIdleHours: section.min_idle_hours,
      staleAfterDays: section.stale_after_days,
      archiveAfterDays: section.archive_after_days,
      backup: section.backup,
      memory: section.memory,
    }),
  );
