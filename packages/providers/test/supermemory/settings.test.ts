// Settings of Supermemory: where they come from, their bounds, and the containers that follow from them.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { containersOf, SUPERMEMORY_SETTINGS } from "../../src/supermemory/settings.ts";

function settingsOf(file: object | string, env: Record<string, string> = {}) {
  const home = tempDirectory();
  writeFileSync(join(home, "supermemory.json"), typeof file === "string" ? file : JSON.stringify(file));
  return SUPERMEMORY_SETTINGS.read({ home, env });
}

const tagOf = (file: object, who: { identity?: string; user?: string } = {}, env = {}) =>
  containersOf(settingsOf(file, env), { identity: who.identity ?? "default", user: who.user }).primary.tag;

describe("values", () => {
  it("are kept within their bounds", () => {
    const low = { max_recall_results: 0, profile_frequency: -5, api_timeout: 0.1, capture_turns: 0 };
    expect(settingsOf(low)).toMatchObject({
      maxResults: 1,
      profileFrequency: 1,
      timeoutS: 0.5,
      captureTurns: 1,
    });
    const high = { max_recall_results: 99, profile_frequency: 9_999, api_timeout: "60", capture_turns: 999 };
    expect(settingsOf(high)).toMatchObject({
      maxResults: 20,
      profileFrequency: 500,
      timeoutS: 15,
      captureTurns: 50,
    });
    expect(settingsOf({ entity_context: "x".repeat(2_000) }).context.text).toHaveLength(1_500);
  });

  it("come from the environment first, where there is a variable", () => {
    const env = {
      SUPERMEMORY_API_KEY: " sm_key ",
      SUPERMEMORY_BASE_URL: "http://localhost:1",
      SUPERMEMORY_CONTAINER_TAG: "env-tag",
    };
    const file = { container_tag: "file", base_url: "http://file", api_key: "sm_in_the_file" };
    expect(settingsOf(file, env)).toMatchObject({
      apiKey: "sm_key",
      baseUrl: "http://localhost:1",
      containerTag: "env-tag",
    });
    expect(settingsOf(file)).toMatchObject({ apiKey: "", baseUrl: "http://file", containerTag: "file" });
  });
});

describe("containers", () => {
  it("have the profile's name in {identity}, and only legal characters", () => {
    expect(tagOf({ container_tag: "hermes-{identity}" }, { identity: "coder" })).toBe("hermes_coder");
    expect(tagOf({ container_tag: "hermes-{identity}" })).toBe("hermes_default");
    expect(tagOf({ container_tag: "--my  notes!--" })).toBe("my_notes");
    expect(tagOf({ container_tag: "!!!" })).toBe("hermes");
    expect(tagOf({ container_tag: "hermes-{identity}.x", tag_charset: "server" })).toBe("hermes-default.x");
    expect(tagOf({}, {}, { SUPERMEMORY_CONTAINER_TAG: "from env" })).toBe("from_env");
    expect(tagOf({ container_tag: "x".repeat(300) })).toHaveLength(100);
  });

  it("of two users are never the same, whatever their ids are", () => {
    const users = [
      "telegram:42",
      "discord:42",
      "telegram:4 2",
      "telegram:4_2",
      "a__b",
      "a_b",
      "a-b",
      "ab",
      "A",
      "窯",
      "x".repeat(200),
      "x".repeat(201),
    ];
    for (const container_tag of ["hermes", "hermes-{user}", "{user}", "{user}-{identity}", "y".repeat(200)]) {
      const tags = [undefined, ...users].map((user) => tagOf({ container_tag }, { user }));
      expect(new Set(tags).size).toBe(tags.length);
      for (const tag of tags) expect(tag).toMatch(/^[A-Za-z0-9_]{1,100}$/);
    }
  });

  it("hold a user's plain id where {user} stands", () => {
    expect(tagOf({ container_tag: "bot-{user}-notes" }, { user: "42" })).toBe("bot_42_notes");
    expect(tagOf({ container_tag: "bot-{user}-notes" })).toBe("bot_notes");
  });

  it("that are custom ones exist only when they are enabled, and are a user's own too", () => {
    const file = {
      enable_custom_container_tags: true,
      custom_containers: ["work notes", "work_notes", "hermes", "home"],
    };
    const owner = containersOf(settingsOf(file), { identity: "default", user: undefined });
    expect(owner.custom).toEqual([
      { name: "work_notes", tag: "work_notes" },
      { name: "home", tag: "home" },
    ]);
    const user = containersOf(settingsOf(file), { identity: "default", user: "telegram:42" });
    expect(user.custom.map(({ name }) => name)).toEqual(["work_notes", "home"]);
    for (const { tag } of user.custom) expect(tag).toMatch(/_telegram_42_[0-9a-f]{12}$/);
    const off = settingsOf({ ...file, enable_custom_container_tags: false });
    expect(containersOf(off, { identity: "default", user: undefined }).custom).toEqual([]);
  });

  it("of a user are never the owner's, whatever the user is called", () => {
    const files = [
      { user_scope: "id", container_tag: "{user}" },
      {
        user_scope: "id",
        container_tag: "notes",
        enable_custom_container_tags: true,
        custom_containers: ["notes_hermes"],
      },
    ];
    for (const file of files) {
      const of = (user: string | undefined) => {
        const { primary, custom } = containersOf(settingsOf(file), { identity: "default", user });
        return [primary, ...custom].map(({ tag }) => tag);
      };
      const owners = of(undefined);
      for (const tag of of("hermes")) expect(owners).not.toContain(tag);
    }
  });
});
