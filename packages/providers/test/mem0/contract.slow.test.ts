// Mem0 passes the tests of the provider contract, on the platform and self-hosted, while its server is in trouble.
import { describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { mem0 } from "./harness.ts";

for (const edition of ["platform", "oss"] as const)
  memoryServerContract({ describe, it, expect }, `mem0 (${edition})`, await mem0(edition));
