// What every memory provider promises, whatever it keeps and wherever. Calls go straight to the provider: the manager
// would catch what it does wrong.
import { describe } from "vitest";
import { conversationContract } from "./memory-provider/conversation.ts";
import { forgetContract } from "./memory-provider/forget.ts";
import { hooksContract } from "./memory-provider/hooks.ts";
import { modesContract } from "./memory-provider/modes.ts";
import { recallContract } from "./memory-provider/recall.ts";
import { selfTestContract } from "./memory-provider/self-test.ts";
import { structureContract } from "./memory-provider/structure.ts";
import type { ProviderHarness } from "./memory-provider/support.ts";
import { toolsContract } from "./memory-provider/tools.ts";

export type { ProviderHarness } from "./memory-provider/support.ts";

export function memoryProviderContract(name: string, harness: ProviderHarness): void {
  describe(`the memory provider ${name}`, () => {
    describe("before it is initialised", () => structureContract(harness));
    describe("tools", () => toolsContract(harness));
    describe("recall", () => recallContract(harness));
    describe("what it is told", () => hooksContract(harness));
    describe("erasing a text", () => forgetContract(harness));
    describe("modes", () => modesContract(harness));
    describe("sessions and the end", () => conversationContract(harness));
    describe("self-test", () => selfTestContract(harness));
  });
}
