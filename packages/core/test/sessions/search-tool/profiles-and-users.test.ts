import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionSearchTool } from "../../../src/sessions/search-tool/tool.ts";
import { column, openHome, openProfile, talk } from "./support.ts";

async function twoProfiles() {
  const here = await openHome();
  await talk(here.store, "mine", ["the kiln"]);
  const other = await openProfile(here.home, "other");
  const ids = await talk(other, "theirs", ["their kiln", "yes"]);
  return { ...here, other, ids };
}

const ANN = { scope: { userId: "ann", userPlatform: "cli" } };

describe("another profile", () => {
  it("is browsed, read and scrolled by its name", async () => {
    const { ask, ids } = await twoProfiles();
    expect(column((await ask({ profile: "Other " })).results, "session_id")).toEqual(["theirs"]);
    expect(await ask({ session_id: "theirs", profile: "other" })).toMatchObject({
      mode: "read",
      message_count: 2,
    });
    expect(await ask({ session_id: "other/theirs" })).toMatchObject({ mode: "read", session_id: "theirs" });
    expect(await ask({ session_id: "wrong/theirs", profile: "other" })).toMatchObject({ mode: "read" });
    expect(await ask({ session_id: "@session:other/theirs", around_message_id: ids[0] })).toMatchObject({
      mode: "scroll",
      messages: [{ anchor: true }, {}],
    });
    expect(await ask({ session_id: "default/mine" })).toMatchObject({ mode: "read" });
  });

  it("is not mistaken for the current conversation", async () => {
    const { ask, ids } = await twoProfiles();
    const context = { currentSessionId: "theirs" };
    expect(await ask({ profile: "other" }, context)).toMatchObject({ count: 1 });
    expect(await ask({ session_id: "other/theirs", around_message_id: ids[0] }, context)).toMatchObject({
      success: true,
    });
  });

  it("is found by a bare id, and the answer names it", async () => {
    const { ask } = await twoProfiles();
    expect(await ask({ session_id: "theirs" })).toMatchObject({ mode: "read", profile: "other" });
    expect(await ask({ session_id: "mine", profile: "other" })).toMatchObject({
      mode: "read",
      profile: "default",
    });
    expect(await ask({ session_id: "theirs", around_message_id: 1 })).toMatchObject({
      error: "session_id not found: theirs",
    });
  });

  it("is never written to", async () => {
    const { ask, other, home } = await twoProfiles();
    await other.close();
    for (const args of [{ profile: "other" }, { session_id: "other/theirs" }]) await ask(args);
    const again = await openProfile(home, "other");
    expect(await again.listSessionIds()).toEqual(["theirs"]);
  });

  it("works when the own database cannot be opened", async () => {
    const { home } = await twoProfiles();
    expect(await sessionSearchTool(undefined, { session_id: "other/theirs" }, { home })).toMatchObject({
      mode: "read",
    });
    expect(await sessionSearchTool(undefined, {}, { home })).toEqual({
      error: expect.stringMatching(/^Session database not available/),
      success: false,
    });
  });

  it("that is missing, misnamed, empty or damaged is refused with its name", async () => {
    const { ask, home } = await twoProfiles();
    mkdirSync(join(home, "profiles", "blank"));
    mkdirSync(join(home, "profiles", "broken"));
    writeFileSync(join(home, "profiles", "broken", "state.db"), "this is no database at all ".repeat(100));
    const errors = {
      missing: "no such profile",
      "No Such!": "cannot be a profile name",
      blank: "no session database",
      broken: "",
    };
    for (const [profile, why] of Object.entries(errors)) {
      const { error, success } = await ask({ profile, query: "kiln" });
      expect(error, profile).toMatch(new RegExp(`^profile '${profile}': .*${why}`));
      expect(success).toBe(false);
    }
    // An id without a profile is found despite the damaged profile.
    expect(await ask({ session_id: "theirs" })).toMatchObject({ profile: "other" });
    expect(await ask({ session_id: "../other/theirs" })).toMatchObject({ success: false });
  });

  it("is off when config says so, when there are several users, and without a home", async () => {
    const { ask, store } = await twoProfiles();
    const off = { settings: { crossProfile: false } };
    expect((await ask({ profile: "other" }, off)).error).toBe(
      "profile 'other': other profiles are off (session_search.cross_profile is false)",
    );
    expect((await ask({ session_id: "other/theirs" }, ANN)).error).toMatch(
      /^profile 'other': other profiles are off, .*users$/,
    );
    expect(await sessionSearchTool(store, { profile: "other" })).toMatchObject({
      error: expect.stringContaining("no home directory"),
    });
    for (const context of [off, ANN])
      expect(await ask({ session_id: "theirs" }, context)).toEqual({
        error: "session_id not found: theirs",
        success: false,
      });
    expect(await sessionSearchTool(store, { session_id: "theirs" })).toMatchObject({ success: false });
    // A link with the own profile's name does not count as another profile.
    expect(await ask({ session_id: "default/mine" }, off)).toMatchObject({ mode: "read" });
  });
});

describe("one user of several", () => {
  it("sees own sessions only, in every mode", async () => {
    const { store, ask } = await openHome();
    const [annId] = await talk(store, "ann1", ["the kiln of ann"], { userId: "ann" });
    const [bobId] = await talk(store, "bob1", ["the kiln of bob"], { userId: "bob" });
    const [nobodyId] = await talk(store, "free", ["the kiln of nobody"]);
    const ann = ANN;
    expect(column((await ask({ limit: 10 }, ann)).results, "session_id")).toEqual(["ann1"]);
    expect(column((await ask({ query: "kiln", limit: 10 }, ann)).results, "session_id")).toEqual(["ann1"]);
    expect(await ask({ session_id: "ann1" }, ann)).toMatchObject({ success: true });
    expect(await ask({ session_id: "ann1", around_message_id: annId }, ann)).toMatchObject({ success: true });
    for (const [session_id, around_message_id] of [
      ["bob1", bobId],
      ["free", nobodyId],
    ]) {
      expect(await ask({ session_id }, ann)).toEqual({
        error: `session_id not found: ${session_id}`,
        success: false,
      });
      expect(await ask({ session_id, around_message_id }, ann)).toMatchObject({ success: false });
      expect(await ask({ session_id: "ann1", around_message_id }, ann)).toMatchObject({ success: false });
    }
  });

  it("is not the same id on another platform", async () => {
    const { store, ask } = await openHome();
    await talk(store, "here", ["the kiln of ann"], { source: "telegram", userId: "7" });
    await talk(store, "there", ["the kiln of bo"], { source: "discord", userId: "7" });
    const ann = { scope: { userId: "7", userPlatform: "telegram" } };
    expect(column((await ask({ query: "kiln" }, ann)).results, "session_id")).toEqual(["here"]);
    expect(column((await ask({}, ann)).results, "session_id")).toEqual(["here"]);
    expect(await ask({ session_id: "there" }, ann)).toMatchObject({ success: false });
    expect(await ask({ session_id: "here" }, ann)).toMatchObject({ success: true });
  });

  it("that a caller has lost is refused in every mode, and nobody's rows are shown", async () => {
    const { store } = await openHome();
    const [id] = await talk(store, "ann1", ["the kiln of ann"], { userId: "ann" });
    const modes = [
      {},
      { query: "kiln" },
      { session_id: "ann1" },
      { session_id: "ann1", around_message_id: id },
    ];
    for (const lost of [{ userId: undefined }, { userId: null }, { userId: "ann", userPlatform: undefined }])
      for (const args of modes) {
        const answer = await sessionSearchTool(store, args, { scope: lost } as object);
        expect(answer).toMatchObject({ success: false, error: expect.stringContaining("names no") });
        expect(JSON.stringify(answer)).not.toContain("the kiln of");
      }
  });

  it("cannot be named by the model", async () => {
    const { store, ask } = await openHome();
    await talk(store, "bob1", ["the kiln"], { userId: "bob" });
    for (const key of ["user_id", "userId"])
      expect(await ask({ query: "kiln", [key]: "bob" }, ANN)).toMatchObject({ count: 0 });
  });
});

it("nothing that a model writes makes the tool throw", async () => {
  const { ask } = await openHome();
  const hostile = [
    null,
    5,
    "text",
    [],
    { query: {} },
    { query: "\u0000'\"; DROP TABLE sessions; --" },
    { query: "(((((" },
    { session_id: "\u0000" },
    { session_id: "\ud800" },
    { session_id: "a", around_message_id: Number.MAX_VALUE },
    { profile: "../../etc" },
    { profile: "\u0000" },
    { after: [] },
    { limit: {}, window: [], sort: 5, role_filter: 7, source: {} },
    {
      get query() {
        throw new Error("getter");
      },
    },
  ];
  for (const args of hostile) expect(await ask(args)).toHaveProperty("success");
});
