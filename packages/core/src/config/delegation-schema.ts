// The section `delegation`: how many children an agent may have, how deep, and how long.
import * as z from "zod";
import { AT_LEAST_0, AT_LEAST_1, SECTION, wholeNumber } from "./schema-parts.ts";

export type DelegationConfig = {
  /** Model calls of one child. */
  readonly maxIterations: number;
  readonly maxConcurrentChildren: number;
  /** 0: nobody delegates. 1: the agent the user talks to does, its children do not. */
  readonly maxSpawnDepth: number;
  /** 0: no limit. */
  readonly childTimeoutSeconds: number;
};

export const delegationSection = z
  .looseObject(
    {
      max_iterations: wholeNumber(AT_LEAST_1, 50),
      max_concurrent_children: wholeNumber(AT_LEAST_1, 3),
      max_spawn_depth: wholeNumber(AT_LEAST_0, 1),
      child_timeout_seconds: wholeNumber(AT_LEAST_0, 0),
    },
    SECTION,
  )
  .transform(
    (section): DelegationConfig => ({
      maxIterations: section.max_iterations,
      maxConcurrentChildren: section.max_concurrent_children,
      maxSpawnDepth: section.max_spawn_depth,
      childTimeoutSeconds: section.child_timeout_seconds,
    }),
  );
