// Honcho passes the tests of the provider contract, while its server is in trouble.
import { afterAll, describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { startServers } from "./harness.ts";

const { harness, stop } = await startServers(30);
afterAll(stop);

memoryServerContract({ describe, it, expect }, "honcho", harness);
