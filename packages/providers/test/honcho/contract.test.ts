// Honcho passes the tests of the provider contract.
import { describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { honcho } from "./harness.ts";

memoryProviderContract({ describe, it, expect }, "honcho", await honcho());
