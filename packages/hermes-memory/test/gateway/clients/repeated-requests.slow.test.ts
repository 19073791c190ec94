// Requests that clients repeat, in every combination: their waits make them slow.
import { describe, expect, it } from "vitest";
import { rateLimited, serverError } from "../../../../agent/test/fakes/wires/script.ts";
import { ask, clientHome, KINDS, MODES, QUESTION } from "./client-home.ts";

describe.each(MODES)("in %s mode", (mode) => {
  it.each(["429", "500"])(
    "a request that is tried again after %s is stored once, in one session",
    async (status) => {
      const fail = status === "429" ? rateLimited(0) : serverError();
      const tried = KINDS.flatMap((kind) => [
        { kind, isStream: false },
        { kind, isStream: true },
      ]);
      const checked = tried.map(async ({ kind, isStream }) => {
        const home = await clientHome(kind, [fail, { text: "kiln123" }]);
        expect(await ask(home, kind, { mode, maxRetries: 1 }, isStream)).toBe("kiln123");
        const sessions = await home.sessions();
        expect(sessions).toHaveLength(1);
        expect(await home.lines(sessions[0] ?? "")).toEqual([`user: ${QUESTION}`, "assistant: kiln123"]);
      });
      await Promise.all(checked);
    },
  );

  it("a request that the client gives up and sends again is stored once", async () => {
    const checked = KINDS.map(async (kind) => {
      const home = await clientHome(kind, [
        { text: "Too late", pauseBefore: "forever" },
        { text: "kiln123" },
      ]);
      // The first one says that it is no retry, the second that it is.
      const timed = { mode, maxRetries: 1, timeoutMs: 2000 };
      expect(await ask(home, kind, timed)).toBe("kiln123");
      const sessions = await home.sessions();
      expect(sessions).toHaveLength(1);
      expect(await home.lines(sessions[0] ?? "")).toEqual([`user: ${QUESTION}`, "assistant: kiln123"]);
    });
    await Promise.all(checked);
  });
});
