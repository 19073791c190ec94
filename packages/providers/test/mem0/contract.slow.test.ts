// Mem0 passes the tests of the provider contract, on the platform and self-hosted, while its server is in trouble.
import { afterAll, describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { FakeMem0 } from "../fakes/servers/mem0.ts";
import { harnessOf, KEY } from "./harness.ts";

for (const edition of ["platform", "oss"] as const) {
  const fake = await new FakeMem0({ edition }).start();
  fake.requireAuth(KEY);
  afterAll(() => fake.stop());
  memoryServerContract({ describe, it, expect }, `mem0 (${edition})`, harnessOf(fake));
}
