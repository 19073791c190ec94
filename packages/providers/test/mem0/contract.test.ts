// Mem0 passes the tests of the provider contract, on the platform and self-hosted.
import { describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { mem0 } from "./harness.ts";

for (const edition of ["platform", "oss"] as const)
  memoryProviderContract({ describe, it, expect }, `mem0 (${edition})`, await mem0(edition));
