// A server, or something before it, that answers 200 with JSON that Hindsight does not send: nothing counts as stored, and nothing as absent.
import { describe, expect, it } from "vitest";
import { FORMS } from "../fakes/servers/odd-json.ts";
import { call, settleOutbox, startProvider, storedTexts } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const JSON_TYPE = { "content-type": "application/json" };

describe.each(FORMS)("a server that answers %s", (raw) => {
  it.each(["0.9.1", "0.6.2"])(
    "gets a turn again, and version %s stores it once when it works",
    async (version) => {
      const { provider, fake } = await startProvider({ version });
      await provider.syncTurn?.("zero", "yes", OPTIONS);
      await settleOutbox(provider);
      fake.replyNext(1, { status: 200, raw, headers: JSON_TYPE }); // to the retain
      await provider.syncTurn?.("one", "yes", OPTIONS);
      await expect.poll(() => storedTexts(fake), { timeout: 10_000 }).toHaveLength(4);
      expect(storedTexts(fake)).toEqual(["User: zero", "Assistant: yes", "User: one", "Assistant: yes"]);
    },
  );

  it("is not taken for an old server", async () => {
    const { provider, fake, log } = await startProvider();
    fake.answerWithText(raw, "application/json");
    await provider.syncTurn?.("one", "yes", OPTIONS);
    await settleOutbox(provider);
    fake.recover();
    await expect
      .poll(() => fake.documents("hermes"), { timeout: 10_000 })
      .toMatchObject([{ id: "session-1" }]);
    expect(log.filter(({ message }) => message.includes("cannot append"))).toEqual([]);
  });

  it("does not make 'forget' and 'erase' say that nothing is there", async () => {
    const { provider, fake } = await startProvider();
    await provider.syncTurn?.("The kiln is fired at 1240 C.", "Noted.", OPTIONS);
    await settleOutbox(provider);
    fake.answerWithText(raw, "application/json");
    for (const dry_run of [true, false]) {
      expect(await provider.forget?.("1240", { dry_run })).toMatchObject({
        remaining: expect.stringContaining("is not one that Hindsight gives"),
      });
      expect(await provider.eraseUser?.({ dry_run })).toMatchObject({
        remaining: expect.stringContaining("is not one that Hindsight gives"),
      });
    }
  });

  it("is a failure for the tools, and for the check", async () => {
    const { provider, fake } = await startProvider();
    fake.answerWithText(raw, "application/json");
    for (const [tool, args] of [
      ["hindsight_retain", { content: "The kiln is fired at 1240 C." }],
      ["hindsight_recall", { query: "kiln" }],
      ["hindsight_reflect", { query: "kiln" }],
    ] as const)
      expect((await call(provider, tool, args)).error).toContain("is not one that Hindsight gives");
    await expect(provider.checkConnection?.(AbortSignal.timeout(5_000))).rejects.toThrow(
      "is not one that Hindsight gives",
    );
  });
});
