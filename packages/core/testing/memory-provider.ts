// Tests that every memory provider has to pass, independent of its storage. They call the provider directly, because the manager would
// catch its mistakes.

import { isolationContract } from "./memory-provider/isolation.ts";
import { serverContract } from "./memory-provider/server.ts";
import { modesContract, selfTestContract, structureContract } from "./memory-provider/setup.ts";
import type { ProviderHarness } from "./memory-provider/support.ts";
import {
  conversationContract,
  eraseUserContract,
  forgetContract,
  hooksContract,
  recallContract,
  toolsContract,
} from "./memory-provider/use.ts";
import { suiteFor, type TestRunner } from "./runner.ts";

export type { ProviderHarness, ServerControls } from "./memory-provider/support.ts";

/** Registers the tests that every memory provider has to pass. */
export function memoryProviderContract(runner: TestRunner, name: string, harness: ProviderHarness): void {
  const suite = suiteFor(runner);
  const { describe } = suite;
  describe(`the memory provider ${name}`, () => {
    describe("before it is initialised", () => structureContract(suite, harness));
    describe("tools", () => toolsContract(suite, harness));
    describe("recall", () => recallContract(suite, harness));
    describe("hooks", () => hooksContract(suite, harness));
    describe("erasing a text", () => forgetContract(suite, harness));
    describe("erasing a user", () => eraseUserContract(suite, harness));
    describe("modes", () => modesContract(suite, harness));
    describe("users, sessions and turns", () => isolationContract(suite, harness));
    describe("sessions and the end", () => conversationContract(suite, harness));
    describe("self-test", () => selfTestContract(suite, harness));
  });
}

/** For a memory behind a server: the tests with a server that hangs, fails, or sends nonsense. They take about a minute. */
export function memoryServerContract(runner: TestRunner, name: string, harness: ProviderHarness): void {
  const suite = suiteFor(runner);
  suite.describe(`the memory provider ${name}, its server in trouble`, () => serverContract(suite, harness));
}
