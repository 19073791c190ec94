// Requests that clients repeat, in every combination: their waits make them slow.
import { generateText } from "ai";
import { describe, expect, it } from "vitest";
import { rateLimited, serverError } from "../../../agent/test/fakes/wires/script.ts";
import { ask, clientHome, KINDS, MODES, NAMED, QUESTION } from "./client-home.ts";

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

  it.each([
    ["responses", "responses"],
    ["compatible", "chat"],
    ["anthropic", "anthropic"],
  ] as const)(
    "the AI SDK, which does not say that it tries again, stores once too (%s)",
    async (provider, kind) => {
      for (const headers of NAMED.slice(0, 2)) {
        const home = await clientHome(kind, [rateLimited(0), { text: "kiln123" }, { text: "kiln456" }]);
        const model = home.ai({ mode, headers })[provider];
        const options = { model, prompt: QUESTION, maxRetries: 1, maxOutputTokens: 100 };
        expect((await generateText(options)).text).toBe("kiln123");
        const sessions = await home.sessions();
        expect(sessions).toHaveLength(1);
        expect(await home.lines(sessions[0] ?? "")).toEqual([`user: ${QUESTION}`, "assistant: kiln123"]);
        // The same words again are a question, because the first one was answered.
        expect((await generateText(options)).text).toBe("kiln456");
        const later = await home.sessions();
        expect(later).toHaveLength("x-hermes-session-id" in headers ? 1 : 2);
        if (later.length === 1) expect(await home.lines(later[0] ?? "")).toHaveLength(4);
      }
    },
  );

  it("an Idempotency-Key is answered once", async () => {
    for (const kind of KINDS) {
      const home = await clientHome(kind, ({ index }) => ({ text: `Answer ${index}` }));
      for (const headers of NAMED) {
        const before = await home.sessions();
        const keyed = { mode, headers: { ...headers, "idempotency-key": JSON.stringify(headers) } };
        const first = await ask(home, kind, keyed);
        const again = await ask(home, kind, keyed, true);
        if (mode === "agent") expect(again).toBe(first);
        const made = (await home.sessions()).filter((id) => !before.includes(id));
        expect(made).toHaveLength(1);
        expect(await home.lines(made[0] ?? "")).toEqual([`user: ${QUESTION}`, `assistant: ${again}`]);
      }
    }
  });
});
