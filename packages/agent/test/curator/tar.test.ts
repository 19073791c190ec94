import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { isSafePath, unpackTarGz } from "../../src/curator/tar.ts";
import { tarOf } from "./tar-of.ts";

/** Made by `tarfile` of Python 3.11, which the original uses: a long name, one that is not ASCII, a long link. */
const FROM_PYTHON = new URL("./from-python.tar.gz", import.meta.url);
const LONG = `skill/${"d".repeat(90)}/${"e".repeat(90)} ö=1.md`;

describe("an archive", () => {
  it.each(["pax", "ustar", "gnu"])("that tar writes in the format %s is read", (format) => {
    const directory = tempDirectory();
    const path = join(directory, "theirs.tar.gz");
    const long = format === "ustar" ? LONG.slice(0, 150) : LONG;
    mkdirSync(join(directory, "in", long, ".."), { recursive: true });
    writeFileSync(join(directory, "in", long), "long");
    writeFileSync(join(directory, "in/run.sh"), "x".repeat(1000));
    chmodSync(join(directory, "in/run.sh"), 0o755);
    symlinkSync("../elsewhere", join(directory, "in/link"));
    execFileSync("tar", [`--format=${format}`, "-czf", path, "-C", join(directory, "in"), "."]);
    const entries = unpackTarGz(readFileSync(path));
    const entry = (name: string) => entries.find((each) => each.path === name);
    expect(entry(long)?.data).toEqual(Buffer.from("long"));
    expect(entry("run.sh")).toMatchObject({ mode: 0o755, data: Buffer.from("x".repeat(1000)) });
    expect(entry("link")).toMatchObject({ link: "../elsewhere" });
    expect(Object.keys(entry("skill") ?? {})).toEqual(["path", "mode"]);
  });

  it("of Python is read", () => {
    const entries = unpackTarGz(readFileSync(FROM_PYTHON));
    expect(entries.map(({ path, data, link }) => [path, data && String(data), link])).toEqual([
      ["skill", undefined, undefined],
      [LONG, "long\n", undefined],
      ["skill/link", undefined, `../${"f".repeat(120)}`],
      ["skill/SKILL.md", "---\nname: skill\n---\n", undefined],
    ]);
  });

  it("that is cut short or changed is refused", () => {
    const tar = tarOf({ path: "a", data: "A".repeat(2000) });
    for (const cut of [100, 512, 1500, tar.length - 1024])
      expect(() => unpackTarGz(gzipSync(tar.subarray(0, cut)))).toThrow(/too early|end is missing/);
    const changed = Buffer.from(tar);
    changed[0] = 66;
    expect(() => unpackTarGz(gzipSync(changed))).toThrow("checksum");
  });

  it("that leads elsewhere is refused", () => {
    const throughLink = tarOf({ path: "a", link: "/etc" }, { path: "a/b", data: "x" });
    for (const tar of [tarOf({ path: "../up", data: "x" }), throughLink])
      expect(() => unpackTarGz(gzipSync(tar))).toThrow("leads elsewhere");
  });

  it.each(["/etc/passwd", "../up", "a/../../b", "a//b", "C:/x", "a\0b", ".", "a/./b", ""])(
    "%j leads elsewhere",
    (path) => {
      expect(isSafePath(path)).toBe(false);
    },
  );

  it("a backslash leads elsewhere on Windows only", () => {
    expect(isSafePath("a\\b.md", "win32")).toBe(false);
    expect(isSafePath("a\\b.md", "linux")).toBe(true);
  });
});
