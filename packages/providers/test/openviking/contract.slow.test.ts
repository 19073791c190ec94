// OpenViking 0.4 and 0.3 pass the tests of the provider contract, while its server is in trouble.
import { describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { openViking } from "./harness.ts";

for (const profile of ["v04", "v03"] as const)
  memoryServerContract({ describe, it, expect }, `openviking (${profile})`, await openViking(profile));
