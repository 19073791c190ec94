// RetainDB passes the tests of the provider contract, while its server is in trouble.
import { afterAll, describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import { harnessOf, KEY } from "./harness.ts";

const fake = await new FakeRetainDb().start();
fake.requireAuth(KEY);
afterAll(() => fake.stop());

memoryServerContract({ describe, it, expect }, "retaindb", harnessOf(fake));
