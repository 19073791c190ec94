import { describe, expect, it } from "vitest";
import { Cleanup } from "../../src/agent/create/cleanup.ts";

describe("cleanup", () => {
  it("closes the newest first, goes on after a failure and throws the first one", async () => {
    const closed: string[] = [];
    const close = async (): Promise<void> => {
      await using cleanup = new Cleanup();
      cleanup.defer(() => closed.push("store"));
      cleanup.use({ [Symbol.asyncDispose]: () => Promise.reject(new Error("second")) });
      cleanup.defer(() => {
        closed.push("tools");
        throw new Error("first");
      });
    };
    await expect(close()).rejects.toThrow("first");
    expect(closed).toEqual(["tools", "store"]);
  });

  it("hands everything to another owner, who closes it once", async () => {
    const closed: string[] = [];
    let moved: Cleanup | undefined;
    {
      await using cleanup = new Cleanup();
      cleanup.defer(() => closed.push("store"));
      moved = cleanup.move();
    }
    expect(closed).toEqual([]);
    await moved[Symbol.asyncDispose]();
    await moved[Symbol.asyncDispose]();
    expect(closed).toEqual(["store"]);
  });
});
