// OpenViking 0.4 and 0.3 pass the tests of the provider contract, while the server is in trouble.
import { afterAll, describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { FakeOpenViking } from "../fakes/servers/openviking.ts";
import { harnessOf } from "./harness.ts";

for (const profile of ["v04", "v03"] as const) {
  const fake = await new FakeOpenViking({ profile }).start();
  afterAll(() => fake.stop());
  memoryServerContract({ describe, it, expect }, `openviking (${profile})`, harnessOf(fake));
}
