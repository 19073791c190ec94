// A server, or something before it, that answers 200 with JSON that Honcho does not send: nothing counts as stored, and nothing as absent.
import { describe, expect, it } from "vitest";
import { FORMS } from "../fakes/servers/odd-json.ts";
import { honchoHome, until, WORKSPACE } from "./honcho-home.ts";

const FAST = { pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 }, breakerMs: 100, mirrorMs: 100 };
const OPTIONS = { session_id: "s1" };

describe.each(FORMS)("a server that answers %s", (raw) => {
  it("gets a turn and a mirrored entry again, and stores each once when it works", async () => {
    const at = await honchoHome();
    const provider = await at.start({}, { limits: FAST });
    at.server.answerWithText(raw, "application/json");
    await provider.syncTurn?.("The kiln is fired at 1240 C.", "Noted.", OPTIONS);
    expect(await provider.onMemoryWrite?.("add", "user", "Likes tea", {})).toMatchObject({ stored: false });
    at.server.recover();
    await until(() => at.server.conclusionsOf(WORKSPACE, "bot", "ann").length > 0);
    const contents = at.server.messagesOf(WORKSPACE, "kiln").map(({ content }) => content);
    expect(contents).toEqual(["The kiln is fired at 1240 C.", "Noted."]);
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "ann")).toMatchObject([{ content: "Likes tea" }]);
  });

  it("is not asked for the end of a session in vain: a turn whose post was answered that way is stored once", async () => {
    const at = await honchoHome();
    const provider = await at.start({}, { limits: FAST });
    await provider.syncTurn?.("zero", "yes", OPTIONS);
    await until(() => at.server.messagesOf(WORKSPACE, "kiln").length === 2);
    at.server.dropAnswerNext(); // stored, and its sender does not know
    at.server.replyNext(1, { status: 200, raw, headers: { "content-type": "application/json" } });
    await provider.syncTurn?.("one", "yes", OPTIONS);
    await provider.syncTurn?.("two", "yes", OPTIONS);
    await until(() => at.server.messagesOf(WORKSPACE, "kiln").some(({ content }) => content === "two"));
    const contents = at.server.messagesOf(WORKSPACE, "kiln").map(({ content }) => content);
    expect(contents).toEqual(["zero", "yes", "one", "yes", "two", "yes"]);
  });

  it("does not make 'forget' and 'erase' say that nothing is there, or delete a shared session", async () => {
    const at = await honchoHome();
    const provider = await at.start({}, { limits: FAST });
    await provider.syncTurn?.("The kiln is fired at 1240 C.", "Noted.", OPTIONS);
    await until(() => at.server.messagesOf(WORKSPACE, "kiln").length === 2);
    at.server.answerWithText(raw, "application/json");
    expect(await provider.forget?.("1240", {})).toMatchObject({
      remaining: expect.stringContaining("is not one that Honcho gives"),
    });
    expect(await provider.eraseUser?.({})).toMatchObject({
      remaining: expect.stringContaining("is not one that Honcho gives"),
    });
    expect(await provider.eraseUser?.({ dry_run: true })).toMatchObject({
      remaining: expect.stringContaining("is not one that Honcho gives"),
    });
    at.server.recover();
    expect(at.server.messagesOf(WORKSPACE, "kiln")).toHaveLength(2);
  });
});

it("a list with fewer messages than were sent is no delivery", async () => {
  const at = await honchoHome();
  const provider = await at.start({}, { limits: FAST });
  await provider.syncTurn?.("zero", "yes", OPTIONS);
  await until(() => at.server.messagesOf(WORKSPACE, "kiln").length === 2);
  at.server.replyNext(1, { status: 201, body: [{ id: "m1" }] });
  await provider.syncTurn?.("one", "yes", OPTIONS);
  await until(() => at.server.messagesOf(WORKSPACE, "kiln").length === 4);
});
