// Mem0 passes the tests of the provider contract, on the platform and self-hosted.
import { afterAll, describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { FakeMem0 } from "../fakes/servers/mem0.ts";
import { harnessOf, KEY } from "./harness.ts";

for (const edition of ["platform", "oss"] as const) {
  const fake = await new FakeMem0({ edition }).start();
  fake.requireAuth(KEY);
  afterAll(() => fake.stop());
  memoryProviderContract({ describe, it, expect }, `mem0 (${edition})`, harnessOf(fake));
}
