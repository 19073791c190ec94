import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { isSafePath, packTarGz, type TarEntry, unpackTarGz } from "../../src/curator/tar.ts";

const name = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
  .filter((text) => !/[/\0]|^\.\.?$/.test(text));
const entry: fc.Arbitrary<TarEntry> = fc
  .tuple(
    fc.array(name, { minLength: 1, maxLength: 6 }),
    fc.nat(0o777),
    fc.nat(2 ** 31),
    fc.uint8Array({ maxLength: 1200 }),
  )
  .map(([parts, mode, mtime, data]) => ({ path: parts.join("/"), mode, mtime, data: Buffer.from(data) }));

describe("an archive", () => {
  it("gives back what was packed", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 6 }), (entries) => {
        expect(unpackTarGz(packTarGz(entries))).toEqual(entries);
      }),
    );
  });

  it("is one that tar itself can read and write", () => {
    const directory = tempDirectory();
    const long = `${"d".repeat(90)}/${"e".repeat(90)}/ö.txt`;
    const packed = packTarGz([
      { path: "a", mode: 0o755, mtime: 1 },
      { path: "a/b.txt", mode: 0o644, mtime: 1, data: Buffer.from("hello") },
      { path: long, mode: 0o600, mtime: 1, data: Buffer.from("long") },
    ]);
    writeFileSync(join(directory, "ours.tar.gz"), packed);
    const out = mkdtempSync(join(directory, "out-"));
    execFileSync("tar", ["-xzf", join(directory, "ours.tar.gz"), "-C", out]);
    expect(readFileSync(join(out, "a/b.txt"), "utf8")).toBe("hello");
    expect(readFileSync(join(out, long), "utf8")).toBe("long");
    execFileSync("tar", ["-czf", join(directory, "theirs.tar.gz"), "-C", out, "."]);
    const theirs = unpackTarGz(readFileSync(join(directory, "theirs.tar.gz")));
    expect(theirs.find(({ path }) => path === long)?.data).toEqual(Buffer.from("long"));
  });

  it("that is cut short or changed is refused", () => {
    const tar = gunzipSync(packTarGz([{ path: "a", mode: 0o644, mtime: 1, data: Buffer.alloc(2000, 65) }]));
    for (const cut of [100, 512, 1500, tar.length - 1024])
      expect(() => unpackTarGz(gzipSync(tar.subarray(0, cut)))).toThrow("damaged");
    const changed = Buffer.from(tar);
    changed[0] = 66;
    expect(() => unpackTarGz(gzipSync(changed))).toThrow("checksum");
  });

  it.each(["/etc/passwd", "../up", "a/../../b", "a//b", "C:/x", "a\0b", ".", "a/./b"])(
    "%s leads elsewhere",
    (path) => {
      expect(isSafePath(path)).toBe(false);
    },
  );

  it("a backslash leads elsewhere on Windows only", () => {
    expect(isSafePath("a\\b.md", "win32")).toBe(false);
    expect(isSafePath("a\\b.md", "linux")).toBe(true);
  });
});
