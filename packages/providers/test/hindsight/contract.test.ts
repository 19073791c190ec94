// Hindsight passes the tests of the provider contract.
import { afterAll, describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { FakeHindsight } from "../fakes/servers/hindsight.ts";
import { harnessOf, KEY } from "./harness.ts";

const fake = await new FakeHindsight().start();
fake.requireAuth(KEY);
afterAll(() => fake.stop());

memoryProviderContract({ describe, it, expect }, "hindsight", harnessOf(fake));
