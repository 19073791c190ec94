// RetainDB passes the tests of the provider contract.
import { afterAll, describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import { harnessOf, KEY } from "./harness.ts";

const fake = await new FakeRetainDb().start();
fake.requireAuth(KEY);
afterAll(() => fake.stop());

memoryProviderContract({ describe, it, expect }, "retaindb", harnessOf(fake));
