// The settings of Mem0: file, environment and defaults, and the ids that follow from them.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createMem0Provider } from "../../src/mem0/provider.ts";
import { authHeaders, MEM0_SETTINGS, missingSetting, ownerOf } from "../../src/mem0/settings.ts";

type Values = Readonly<Record<string, unknown>>;

function placeWith(file: Values | string | undefined, env: Readonly<Record<string, string>> = {}) {
  const home = tempDirectory();
  if (file !== undefined)
    writeFileSync(join(home, "mem0.json"), typeof file === "string" ? file : JSON.stringify(file));
  return { home, env };
}

const read = (file?: Values | string, env?: Readonly<Record<string, string>>) =>
  MEM0_SETTINGS.read(placeWith(file, env));

describe("reading", () => {
  it("takes the file before the environment, key by key; null and empty texts in the file do not count", () => {
    const env = {
      MEM0_API_KEY: "env-key",
      MEM0_USER_ID: "env-user",
      MEM0_AGENT_ID: "env-agent",
      MEM0_HOST: "http://env",
    };
    expect(read({ user_id: "ann", agent_id: null, host: "" }, env)).toMatchObject({
      apiKey: "env-key",
      userId: "ann",
      agentId: "env-agent",
      host: "http://env",
    });
    expect(read({ api_key: "file-key" }, env).apiKey).toBe("file-key");
  });

  it("uses the environment when the file is not JSON, and says so without its text", () => {
    const place = placeWith('{"api_key": "m0-secret', { MEM0_API_KEY: "env-key" });
    expect(MEM0_SETTINGS.read(place).apiKey).toBe("env-key");
    expect(MEM0_SETTINGS.remarks(place)).toEqual([expect.stringContaining("not valid JSON")]);
    expect(MEM0_SETTINGS.remarks(place).join()).not.toContain("m0-secret");
  });

  it("limits the timeout, and names unknown choices", () => {
    expect(read({ timeout: "0" }).timeoutS).toBe(1);
    expect(read({ timeout: 9_999 }).timeoutS).toBe(300);
    const place = placeWith({ api: "cloud", read_scope: "USER_OR_AGENT" });
    expect(MEM0_SETTINGS.read(place)).toMatchObject({ edition: "platform", readScope: "user_or_agent" });
    expect(MEM0_SETTINGS.remarks(place)).toEqual(["'api' must be one of platform, oss; 'platform' is used."]);
  });
});

describe("availability", () => {
  it.each([
    ["a key", {}, { MEM0_API_KEY: "k" }, undefined],
    ["no key", {}, {}, /API key/],
    ["a self-hosted server without an address", { api: "oss" }, { MEM0_API_KEY: "k" }, /needs its address/],
    ["a self-hosted server without a key", { api: "oss", host: "http://localhost:8888" }, {}, undefined],
    ["an address that is none", { host: "localhost:8888" }, { MEM0_API_KEY: "k" }, /http:\/\/ or https:\/\//],
  ])("with %s", (_, file, env, reason) => {
    const place = placeWith(file, env);
    const missing = missingSetting(MEM0_SETTINGS.read(place));
    if (reason === undefined) expect(missing).toBeUndefined();
    else expect(missing).toMatch(reason);
    expect(createMem0Provider(place).isAvailable()).toBe(reason === undefined);
  });
});

describe("saving", () => {
  it("keeps other keys, writes booleans and numbers as such, and lets only the owner read the file", () => {
    const place = placeWith({ api_key: "file-key", other: { a: 1 } });
    createMem0Provider(place).saveConfig?.({ rerank: "false", user_id: "ann", timeout: "12.5" }, place.home);
    const path = join(place.home, "mem0.json");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      api_key: "file-key",
      other: { a: 1 },
      rerank: false,
      user_id: "ann",
      timeout: 12.5,
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const env = { MEM0_USER_ID: "bob", MEM0_AGENT_ID: "scout" };
    expect(MEM0_SETTINGS.saved({ ...place, env })).toMatchObject({ user_id: "ann", agent_id: "scout" });
    expect(MEM0_SETTINGS.saved(place)).not.toHaveProperty("api_key");
  });
});

describe("ids", () => {
  it("are the configured ones for the owner, and derived from them for users of a gateway", () => {
    const settings = read({ user_id: "ann", agent_id: "bot" });
    expect(ownerOf(settings, undefined)).toEqual({ userId: "ann", agentId: "bot", isAgentOwn: true });
    expect(ownerOf(settings, "telegram:42")).toEqual({
      userId: "ann:telegram:42",
      agentId: "bot:telegram:42",
      isAgentOwn: true,
    });
  });

  it("have no blanks, and stay different", () => {
    const ids = ["telegram:4 2", "telegram:4-2", "telegram:4\n2", "telegram:42"].map(
      (user) => ownerOf(read(), user).userId,
    );
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^\S+$/);
  });

  it("are those of the Python edition with user_scope id", () => {
    const settings = read({ user_scope: "id" });
    expect(ownerOf(settings, "+49170-555")).toEqual({
      userId: "+49170-555",
      agentId: "hermes",
      isAgentOwn: false,
    });
    const place = placeWith({ user_scope: "id", read_scope: "user_or_agent" });
    expect(MEM0_SETTINGS.remarks(place)).toEqual([expect.stringContaining("has no effect")]);
  });

  it("come with the header that the edition wants", () => {
    expect(authHeaders(read({ api_key: "k" }))).toEqual({ authorization: "Token k" });
    const own = { api: "oss", host: "http://localhost" };
    expect(authHeaders(read({ ...own, api_key: "k" }))).toEqual({ "x-api-key": "k" });
    expect(authHeaders(read({ ...own, api_key: "eyJhbGci.eyJzdWIi.c2ln" }))).toEqual({
      authorization: "Bearer eyJhbGci.eyJzdWIi.c2ln",
    });
    expect(authHeaders(read(own))).toEqual({});
  });
});
