import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  readBoolean,
  readNumber,
  readSettings,
  readText,
  writeSettings,
} from "../../../src/providers/kit/settings.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const FILE = "some.json";

describe("settings file", () => {
  it("reads an object, a byte order mark before it or not", () => {
    const home = tempDirectory();
    writeFileSync(join(home, FILE), '\ufeff{"mode":"tools","deep":{"a":[1]}}');
    expect(readSettings(home, FILE)).toEqual({ values: { mode: "tools", deep: { a: [1] } } });
  });

  it.each([
    ["half an object", '{"mode":'],
    ["an empty file", ""],
    ["a list", "[1]"],
    ["null", "null"],
    ["a text", '"mode"'],
  ])("reads nothing from %s and says why", (_what, text) => {
    const home = tempDirectory();
    writeFileSync(join(home, FILE), text);
    const { values, problem } = readSettings(home, FILE);
    expect(values).toEqual({});
    expect(problem).toContain(join(home, FILE));
  });

  it("does not quote a file that is no JSON: it may hold a key", () => {
    const home = tempDirectory();
    writeFileSync(join(home, FILE), '{"api_key": hunter2}');
    const { problem } = readSettings(home, FILE);
    expect(problem).toContain("JSON");
    expect(problem).not.toMatch(/hunter/);
  });

  it("writes a file only its owner can read, and leaves nothing beside it", () => {
    const home = join(tempDirectory(), "not", "there", "yet");
    expect(writeSettings(home, FILE, { mode: "tools", limit: 5 })).toEqual({
      ok: true,
      value: { path: join(home, FILE) },
    });
    expect(statSync(join(home, FILE)).mode & 0o777).toBe(0o600);
    expect(readdirSync(home)).toEqual([FILE]);
    expect(readSettings(home, FILE)).toEqual({ values: { mode: "tools", limit: 5 } });
  });

  it("keeps keys it does not know, removes the ones set to undefined, and takes rights away", () => {
    const home = tempDirectory();
    const path = join(home, FILE);
    writeFileSync(path, '{"theirs":{"x":1},"mode":"hybrid","old":true}');
    chmodSync(path, 0o644);
    writeSettings(home, FILE, { mode: "tools", old: undefined });
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ theirs: { x: 1 }, mode: "tools" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["is not JSON", "{ mode: tools, key: hunter2 }"],
    ["is a list", "[1]"],
    ["is no UTF-8", Buffer.from([0x7b, 0xff, 0xfe])],
  ])("keeps a file that %s beside the new one, for its owner only", (_what, content) => {
    const home = tempDirectory();
    const before = Buffer.from(content);
    writeFileSync(join(home, FILE), before);
    chmodSync(join(home, FILE), 0o644);
    const earliest = Math.floor(Date.now() / 1000);
    const written = writeSettings(home, FILE, { mode: "tools" });
    if (!written.ok) throw new Error(written.error);
    const { path, backup = "" } = written.value;
    expect(readSettings(home, FILE)).toEqual({ values: { mode: "tools" } });
    expect(readFileSync(backup)).toEqual(before);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    const [, seconds] = /some\.json\.bak\.(\d+)$/.exec(backup) ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(earliest);
    expect(Number(seconds)).toBeLessThanOrEqual(Date.now() / 1000);
    expect(path).toBe(join(home, FILE));
    expect(writeSettings(home, FILE, { mode: "hybrid" })).toEqual({ ok: true, value: { path } });
  });

  it("makes another backup when one of the same second exists", () => {
    const home = tempDirectory();
    const texts = ["{ first", "{ second", "{ third"];
    for (const text of texts) {
      writeFileSync(join(home, FILE), text);
      writeSettings(home, FILE, {});
    }
    const backups = readdirSync(home).filter((name) => name !== FILE);
    expect(backups.map((name) => readFileSync(join(home, name), "utf8")).sort()).toEqual(texts.sort());
  });

  it("does not write over a file it cannot read", () => {
    const home = tempDirectory();
    mkdirSync(join(home, FILE));
    const written = writeSettings(home, FILE, { mode: "tools" });
    expect(written).toMatchObject({ ok: false, error: expect.stringContaining("Nothing was saved") });
    expect(readdirSync(home)).toEqual([FILE]);
  });
});

describe("values of settings", () => {
  it.each([true, 1, -2, "true", " Yes ", "y", "Y", "ON", "1"])("reads %j as true", (value) => {
    expect(readBoolean(value, false)).toBe(true);
  });

  it.each([false, 0, "false", " No", "n", "N ", "OFF", "0"])("reads %j as false", (value) => {
    expect(readBoolean(value, true)).toBe(false);
  });

  it.each([undefined, null, "", "maybe", {}, [], Number.NaN])("leaves %j to the default", (value) => {
    expect([readBoolean(value, true), readBoolean(value, false)]).toEqual([true, false]);
  });

  it("reads numbers and texts of numbers, and keeps them within bounds", () => {
    const read = (value: unknown) => readNumber(value, 7, { min: 1, max: 50 });
    expect([3, "3", " 4.5 ", "1e1", 0, "-3", 51, "999"].map(read)).toEqual([3, 3, 4.5, 10, 1, 1, 50, 50]);
    expect([undefined, null, "", " ", "many", true, [5], {}, "Infinity", Number.NaN].map(read)).toEqual(
      Array(10).fill(7),
    );
  });

  it("reads texts without the blanks around them, and other scalars as text", () => {
    const read = (value: unknown) => readText(value, "x");
    expect([" a b ", 5, true].map(read)).toEqual(["a b", "5", "true"]);
    expect(["", "  ", undefined, null, {}, ["a"]].map(read)).toEqual(Array(6).fill("x"));
  });
});
