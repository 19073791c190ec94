// What every memory provider promises, whatever it keeps and wherever. Calls go straight to the provider: the manager
// would catch what it does wrong.
import { conversationContract } from "./memory-provider/conversation.ts";
import { forgetContract } from "./memory-provider/forget.ts";
import { hooksContract } from "./memory-provider/hooks.ts";
import { modesContract } from "./memory-provider/modes.ts";
import { recallContract } from "./memory-provider/recall.ts";
import { selfTestContract } from "./memory-provider/self-test.ts";
import { structureContract } from "./memory-provider/structure.ts";
import type { ProviderHarness } from "./memory-provider/support.ts";
import { toolsContract } from "./memory-provider/tools.ts";
import { suiteFor, type TestRunner } from "./runner.ts";

export type { ProviderHarness } from "./memory-provider/support.ts";

export function memoryProviderContract(runner: TestRunner, name: string, harness: ProviderHarness): void {
  const suite = suiteFor(runner);
  const { describe } = suite;
  describe(`the memory provider ${name}`, () => {
    describe("before it is initialised", () => structureContract(suite, harness));
    describe("tools", () => toolsContract(suite, harness));
    describe("recall", () => recallContract(suite, harness));
    describe("what it is told", () => hooksContract(suite, harness));
    describe("erasing a text", () => forgetContract(suite, harness));
    describe("modes", () => modesContract(suite, harness));
    describe("sessions and the end", () => conversationContract(suite, harness));
    describe("self-test", () => selfTestContract(suite, harness));
  });
}
