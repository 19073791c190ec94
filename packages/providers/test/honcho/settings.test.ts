import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { hostKeyOfProfile, readHonchoFile } from "../../src/honcho/config-file.ts";
import {
  checkSetting,
  type HonchoSettings,
  honchoSettings,
  missingIn,
  readHonchoSettings,
  saveHonchoSettings,
  serverAddress,
} from "../../src/honcho/settings.ts";

type Env = Record<string, string>;

function placeWith(file: unknown, env: Env = {}, home = tempDirectory()) {
  const text = typeof file === "string" ? file : JSON.stringify(file);
  if (file !== undefined) writeFileSync(join(home, "honcho.json"), text);
  return { home, env, userHome: join(home, "user") };
}

function read(file: unknown, env: Env = {}): HonchoSettings {
  return readHonchoSettings(placeWith(file, env));
}

describe("the host", () => {
  it("is named after the profile", () => {
    expect(["", "default", "custom", "work", "my project!", "__"].map(hostKeyOfProfile)).toEqual([
      "hermes",
      "hermes",
      "hermes",
      "hermes_work",
      "hermes_my_project",
      "hermes_profile",
    ]);
  });

  it("comes from the folder of a profile, and a variable overrides it", () => {
    const home = join(tempDirectory(), "profiles", "work");
    mkdirSync(home, { recursive: true });
    const place = { home, env: {}, userHome: home };
    expect(readHonchoFile(place).hostKey).toBe("hermes_work");
    expect(readHonchoFile({ ...place, env: { HERMES_HONCHO_HOST: " desk " } }).hostKey).toBe("desk");
  });

  it("may have its block under the old name with a dot", () => {
    const home = join(tempDirectory(), "profiles", "work");
    mkdirSync(home, { recursive: true });
    writeFileSync(
      join(home, "honcho.json"),
      JSON.stringify({ hosts: { "hermes.work": { peerName: "ann" } } }),
    );
    expect(readHonchoSettings({ home, env: {}, userHome: home }).peerName).toBe("ann");
    saveHonchoSettings({ home, env: {}, userHome: home }, { aiPeer: "bot" });
    const { hosts } = JSON.parse(readFileSync(join(home, "honcho.json"), "utf8"));
    expect(hosts).toEqual({ hermes_work: { peerName: "ann", aiPeer: "bot" } });
  });
});

describe("the file", () => {
  it("is that of the home, then that of the root, then the one other programs share", () => {
    const root = tempDirectory();
    const home = join(root, "profiles", "work");
    const userHome = join(root, "user");
    for (const folder of [home, join(userHome, ".honcho")]) mkdirSync(folder, { recursive: true });
    const place = { home, env: {}, userHome };
    const paths = [
      join(userHome, ".honcho", "config.json"),
      join(root, "honcho.json"),
      join(home, "honcho.json"),
    ];
    expect(readHonchoFile(place)).toMatchObject({ path: paths[0], isUsed: false });
    for (const [index, path] of paths.entries()) {
      writeFileSync(path, JSON.stringify({ peerName: `name ${index}` }));
      expect(readHonchoSettings(place)).toMatchObject({ peerName: `name ${index}`, file: { path } });
    }
  });

  it("keeps unknown keys, is private, and a damaged one is copied before it is replaced", () => {
    const place = placeWith({ mine: 1, hosts: { other: { a: 1 }, hermes: { b: 2, pinPeerName: true } } });
    saveHonchoSettings(place, {
      peerName: "Ann",
      baseUrl: "localhost:8000/v3/",
      mode: "tools",
      timeout: "5",
    });
    const path = join(place.home, "honcho.json");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      mine: 1,
      baseUrl: "http://localhost:8000",
      timeout: 5,
      hosts: {
        other: { a: 1 },
        hermes: { b: 2, pinUserPeer: true, peerName: "Ann", recallMode: "tools" },
      },
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(honchoSettings(place.userHome).saved(place)).toEqual({
      baseUrl: "http://localhost:8000",
      peerName: "Ann",
      mode: "tools",
    });
    writeFileSync(path, "{ torn");
    saveHonchoSettings(place, { peerName: "Bo" });
    const copies = readdirSync(place.home).filter((name) => name.startsWith("honcho.json.bak."));
    expect(copies.map((name) => readFileSync(join(place.home, name), "utf8"))).toEqual(["{ torn"]);
  });
});

describe("a setting", () => {
  const cases: readonly (readonly [
    key: string,
    field: keyof HonchoSettings,
    value: unknown,
    read: unknown,
  ])[] = [
    ["apiKey", "apiKey", "k", "k"],
    ["workspace", "workspace", "büro 1", "b-ro-1"],
    ["peerName", "peerName", "Ann", "Ann"],
    ["aiPeer", "aiPeer", "bot", "bot"],
    ["pinUserPeer", "isPinned", "true", true],
    ["pinPeerName", "isPinned", true, true],
    ["recallMode", "mode", "TOOLS", "tools"],
    ["recallMode", "mode", "auto", "hybrid"],
    ["initOnSessionStart", "startsEagerly", "yes", true],
    ["saveMessages", "savesMessages", "false", false],
    ["writeFrequency", "writeFrequency", "session", { kind: "session" }],
    ["writeFrequency", "writeFrequency", "3", { kind: "every", turns: 3 }],
    ["writeFrequency", "writeFrequency", "often", { kind: "async" }],
    ["sessionStrategy", "sessionStrategy", "global", "global"],
    ["sessionPeerPrefix", "hasSessionPrefix", "on", true],
    ["contextTokens", "contextTokens", "700", 700],
    ["contextTokens", "contextTokens", -1, undefined],
    ["contextCadence", "contextCadence", 4, 4],
    ["dialecticCadence", "dialecticCadence", "3", 3],
    ["injectionFrequency", "injectsFirstTurnOnly", "first-turn", true],
    ["dialecticReasoningLevel", "level", "high", "high"],
    ["dialecticReasoningLevel", "level", "huge", "low"],
    ["dialecticDynamic", "hasDynamicLevel", "off", false],
    ["dialecticMaxChars", "maxAnswerChars", 90, 90],
    ["dialecticMaxInputChars", "maxInputChars", 20_000, 10_000],
    ["dialecticDepth", "depth", 9, 3],
    ["reasoningHeuristic", "hasHeuristic", "no", false],
    ["reasoningLevelCap", "levelCap", "odd", "high"],
    ["messageMaxChars", "messageMaxChars", 50_000, 25_000],
    ["dialecticIncludeQuery", "includesQuery", false, false],
  ];

  for (const [key, field, value, wanted] of cases)
    it(`'${key}' = ${JSON.stringify(value)} is read from the host before the root`, () => {
      expect(read({ [key]: value })[field]).toEqual(wanted);
      expect(read({ [key]: null, hosts: { hermes: { [key]: value } } })[field]).toEqual(wanted);
      const other = field === "mode" ? "context" : "9";
      expect(read({ [key]: other, hosts: { hermes: { [key]: value } } })[field]).toEqual(wanted);
    });

  it("of the server's address is read from the root and the environment, never from the host block", () => {
    expect(read({ hosts: { hermes: { baseUrl: "http://host:1" } } }).hasBaseUrl).toBe(false);
    expect(read({ base_url: "http://root:1/v3/" }).baseUrl).toBe("http://root:1");
    expect(read({ baseUrl: "http://root:1/base" }, { HONCHO_BASE_URL: "http://env:1" }).baseUrl).toBe(
      "http://root:1/base",
    );
    expect(read({}, { HONCHO_BASE_URL: "http://env:1/" }).baseUrl).toBe("http://env:1");
    expect(read({ environment: "local", apiKey: "k" }).baseUrl).toBe("http://localhost:8000");
  });

  it("of the timeout is the first positive number", () => {
    expect(read({ timeout: 0, requestTimeout: "12" }, { HONCHO_TIMEOUT: "3" }).timeoutMs).toBe(12_000);
    expect(read({ timeout: "soon" }, { HONCHO_TIMEOUT: "3" }).timeoutMs).toBe(3_000);
  });

  it("of aliases and prefix in the host block replaces the root's, also when it is empty", () => {
    const root = { userPeerAliases: { 7: "ann" }, runtimePeerPrefix: "tg-" };
    expect(read(root)).toMatchObject({ aliases: { 7: "ann" }, peerPrefix: "tg-" });
    const host = { userPeerAliases: {}, runtimePeerPrefix: "" };
    expect(read({ ...root, hosts: { hermes: host } })).toMatchObject({ aliases: {}, peerPrefix: "" });
    expect(read({ userPeerAliases: { " a ": " b ", c: "", d: 4 } }).aliases).toEqual({ a: "b" });
    expect(read({ userPeerAliases: "x" }).aliases).toEqual({});
  });

  it("of observation depends on whether Honcho was configured before, and fields override the preset", () => {
    const unified = {
      user: { observeMe: true, observeOthers: false },
      ai: { observeMe: false, observeOthers: true },
    };
    expect(read({ apiKey: "k", hosts: { hermes: { peerName: "a" } } }).observation).toEqual(unified);
    expect(read({ enabled: true }).observation).toEqual(unified);
    expect(read({ observationMode: "shared" }).observation).toEqual(unified);
    for (const file of [
      { apiKey: "k" },
      { observationMode: "cross" },
      { observationMode: "odd", enabled: true },
    ])
      expect(read(file).observation.user.observeOthers).toBe(true);
    const observation = { ai: { observeMe: "true" } };
    expect(read({ observationMode: "unified", observation }).observation.ai).toEqual({
      observeMe: true,
      observeOthers: true,
    });
  });

  it("of levels per pass is cut or padded to the depth", () => {
    const levels = ["high", "odd", "max"];
    expect(read({ dialecticDepth: 2, dialecticDepthLevels: levels }).depthLevels).toEqual(["high", "low"]);
    expect(read({ dialecticDepth: 3, dialecticDepthLevels: ["max"] }).depthLevels).toEqual([
      "max",
      "low",
      "low",
    ]);
    expect(read({ dialecticDepth: 3, dialecticDepthLevels: "max" }).depthLevels).toBeUndefined();
  });
});

describe("the key that is sent", () => {
  it("is 'local' for a server on this machine, unless the host block has one or all is in the environment", () => {
    const env = { HONCHO_BASE_URL: "http://localhost:8000" };
    expect(read(undefined, env).bearer).toBe("local");
    expect(read(undefined, { ...env, HONCHO_API_KEY: "env" }).bearer).toBe("env");
    const baseUrl = "http://127.0.0.1:8000";
    expect(read({ baseUrl, apiKey: "root" }, { HONCHO_API_KEY: "env" }).bearer).toBe("local");
    expect(read({ baseUrl, hosts: { hermes: { apiKey: "jwt" } } }).bearer).toBe("jwt");
    expect(read({ baseUrl: "http://[::1]:8000", apiKey: "root" }).bearer).toBe("local");
    expect(read({ baseUrl: "https://honcho.example.com", apiKey: "root" }).bearer).toBe("root");
    expect(read({ baseUrl: "https://honcho.example.com" }).bearer).toBe("");
  });
});

describe("availability", () => {
  it("needs a key or an address, and `enabled: false` wins over both", () => {
    expect(missingIn(read(undefined))).toContain("neither an API key nor a server address");
    expect(missingIn(read(undefined, { HONCHO_API_KEY: "k" }))).toBeUndefined();
    expect(missingIn(read({ baseUrl: "http://localhost:8000" }))).toBeUndefined();
    expect(missingIn(read({ apiKey: "k", enabled: "false" }))).toContain("switched off");
    expect(missingIn(read({ apiKey: "k", hosts: { hermes: { enabled: false } } }))).toContain("switched off");
  });

  it("takes http, https and host:port for an address and nothing else", () => {
    expect(["https://a.b/v3", "http://a", "host:8000", "10.0.0.1:80/x/"].map(serverAddress)).toEqual([
      "https://a.b",
      "http://a",
      "http://host:8000",
      "http://10.0.0.1:80/x",
    ]);
    for (const text of ["true", "8000", "", "ftp://a", "file:///etc", "localhost"])
      expect(serverAddress(text)).toBeUndefined();
    expect(missingIn(read({ baseUrl: "true" }))).toContain("neither");
  });

  it("of a value is checked before it is saved", () => {
    expect(checkSetting("mode", "tools")).toEqual({ ok: true, value: "tools" });
    for (const [key, value] of [
      ["mode", "fast"],
      ["dialecticDepth", "4"],
      ["pinUserPeer", "maybe"],
      ["writeFrequency", "0"],
      ["userPeerAliases", "{"],
      ["baseUrl", "ftp://x"],
      ["nonsense", "1"],
    ] as const)
      expect(checkSetting(key, value)).toMatchObject({ ok: false });
  });
});
