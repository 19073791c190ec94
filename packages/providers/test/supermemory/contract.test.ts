// Supermemory passes the tests of the provider contract.
import { afterAll, describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { FakeSupermemory } from "../fakes/servers/supermemory.ts";
import { harnessOf, KEY } from "./harness.ts";

const fake = await new FakeSupermemory().start();
fake.requireAuth(KEY);
afterAll(() => fake.stop());

memoryProviderContract({ describe, it, expect }, "supermemory", harnessOf(fake));
