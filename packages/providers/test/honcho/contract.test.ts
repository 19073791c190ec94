// Honcho passes the tests of the provider contract.
import { afterAll, describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { startServers } from "./harness.ts";

const { harness, stop } = await startServers(100);
afterAll(stop);

memoryProviderContract({ describe, it, expect }, "honcho", harness);
