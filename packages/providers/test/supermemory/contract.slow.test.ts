// Supermemory passes the tests of the provider contract, while its server is in trouble.
import { afterAll, describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { FakeSupermemory } from "../fakes/servers/supermemory.ts";
import { harnessOf, KEY } from "./harness.ts";

const fake = await new FakeSupermemory().start();
fake.requireAuth(KEY);
afterAll(() => fake.stop());

memoryServerContract({ describe, it, expect }, "supermemory", harnessOf(fake));
