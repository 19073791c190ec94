// RetainDB passes the tests of the provider contract, while its server is in trouble.
import { describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { retaindb } from "./harness.ts";

memoryServerContract({ describe, it, expect }, "retaindb", await retaindb());
