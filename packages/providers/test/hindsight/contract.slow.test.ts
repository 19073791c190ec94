// Hindsight passes the tests of the provider contract, while its server is in trouble.
import { describe, expect, it } from "vitest";
import { memoryServerContract } from "../../../core/testing/index.ts";
import { hindsight } from "./harness.ts";

memoryServerContract({ describe, it, expect }, "hindsight", await hindsight());
