// OpenViking 0.4 and 0.3 pass the tests of the provider contract.
import { afterAll, describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { FakeOpenViking } from "../fakes/servers/openviking.ts";
import { harnessOf } from "./harness.ts";

for (const profile of ["v04", "v03"] as const) {
  const fake = await new FakeOpenViking({ profile }).start();
  afterAll(() => fake.stop());
  memoryProviderContract({ describe, it, expect }, `openviking (${profile})`, harnessOf(fake));
}
