// Supermemory passes the tests of the provider contract.
import { describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../../core/testing/index.ts";
import { supermemory } from "./harness.ts";

memoryProviderContract({ describe, it, expect }, "supermemory", await supermemory());
