import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { envFilePath, environmentOf, readEnvFile, setEnvValue, useEnvFile } from "../../src/config/index.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "env-"));
  path = envFilePath(directory);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function values(text?: string | Uint8Array): Record<string, string> {
  if (text !== undefined) writeFileSync(path, text);
  const file = readEnvFile(path);
  if (!file.ok) throw new Error(file.error.message);
  return Object.fromEntries(file.value.values);
}
const content = () => readFileSync(path, "utf8");

describe("reading .env", () => {
  it("finds nothing in a missing file", () => {
    expect(values()).toEqual({});
  });

  it("reads plain, quoted, exported and commented values", () => {
    const text = [
      ..."# comment||PLAIN=a b c|  export EXPORTED = value|HASH=a#b # comment|EMPTY=".split("|"),
      ...`NOTHING= # only a comment|TIGHT=#value|SINGLE='a "b" \\n # c' # comment`.split("|"),
      ...`DOUBLE="a\\nb \\"q\\" \\\\ \\t"|UNKNOWN="\\z"|EQUALS=a=b=c|MULTI='one|two'|export ALONE`.split("|"),
      ..."TWICE=1|TWICE=2".split("|"),
    ].join("\n");
    expect(values(text)).toEqual({
      PLAIN: "a b c",
      EXPORTED: "value",
      HASH: "a#b",
      EMPTY: "",
      NOTHING: "",
      TIGHT: "#value",
      SINGLE: 'a "b" \\n # c',
      DOUBLE: 'a\nb "q" \\ \t',
      UNKNOWN: "\\z",
      EQUALS: "a=b=c",
      MULTI: "one\ntwo",
      TWICE: "2",
    });
  });

  it("takes CRLF and a byte order mark", () => {
    expect(values('\ufeffA=1\r\nB="x y"\r\n# c\r\nC=3')).toEqual({ A: "1", B: "x y", C: "3" });
  });

  it("tells which lines nobody understands and reads the rest", () => {
    writeFileSync(path, 'A=1\nwhat is this\nB="open\nC=3\nD="x" y\n=5\n');
    const file = readEnvFile(path);
    expect(file.ok && Object.fromEntries(file.value.values)).toEqual({ A: "1", C: "3" });
    expect(file.ok && file.value.malformedLines).toEqual([2, 3, 5, 6]);
  });

  it("refuses a directory and bytes that are no text", () => {
    writeFileSync(path, Uint8Array.of(0x41, 0x3d, 0xff));
    expect(readEnvFile(path)).toMatchObject({ ok: false, error: { kind: "unreadable" } });
    expect(setEnvValue(path, "B", "1")).toMatchObject({ ok: false, error: { kind: "unreadable" } });
    rmSync(path);
    mkdirSync(path);
    expect(readEnvFile(path)).toMatchObject({ ok: false, error: { kind: "unreadable" } });
  });
});

describe("writing .env", () => {
  it("creates a private file, directory included", () => {
    path = join(directory, "new", ".env");
    expect(setEnvValue(path, "API_KEY", "abc")).toEqual({ ok: true, value: { changed: true } });
    expect(content()).toBe("API_KEY=abc\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("makes a file private that was not, even when the value stays", () => {
    writeFileSync(path, "A=1\n", { mode: 0o644 });
    expect(setEnvValue(path, "A", "1")).toEqual({ ok: true, value: { changed: false } });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("changes the value only and keeps export, spacing and comment", () => {
    writeFileSync(path, "# top\r\nexport  KEY = 'old' # why\r\nOTHER=  x  \r\nlast");
    setEnvValue(path, "KEY", "new value");
    expect(content()).toBe("# top\r\nexport  KEY = 'new value' # why\r\nOTHER=  x  \r\nlast");
    writeFileSync(path, "KEY= # note\n");
    setEnvValue(path, "KEY", "v");
    expect(content()).toBe("KEY= v # note\n");
    expect(values()).toEqual({ KEY: "v" });
  });

  it("changes the assignment that counts", () => {
    writeFileSync(path, "A=1\nB=2\nA=3\n");
    setEnvValue(path, "A", "4");
    expect(content()).toBe("A=1\nB=2\nA=4\n");
  });

  it("writes through a link", () => {
    writeFileSync(join(directory, "real"), "A=1\n");
    symlinkSync("real", path);
    setEnvValue(path, "A", "2");
    expect(readFileSync(join(directory, "real"), "utf8")).toBe("A=2\n");
  });

  it("refuses names and values that cannot work", () => {
    for (const name of ["", "1A", "A B", "A=B", "A\nB", "ä", "A-B"])
      expect(setEnvValue(path, name, "x")).toMatchObject({ error: { kind: "bad-name" } });
    for (const value of ["a\0b", "\ud800"])
      expect(setEnvValue(path, "A", value)).toMatchObject({ error: { kind: "bad-value" } });
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it("refuses to write when a quote left open further up would swallow the line", () => {
    const text = 'A="open\nB=2\n';
    writeFileSync(path, text);
    const refused = setEnvValue(path, "C", 'needs "quotes" \\');
    expect(refused).toMatchObject({ ok: false, error: { kind: "malformed" } });
    expect(!refused.ok && refused.error.message).toContain("line 1");
    expect(content()).toBe(text);
    expect(setEnvValue(path, "C", "plain").ok).toBe(true);
  });

  it("gives back every value and keeps every other line byte for byte", () => {
    const name = fc.constantFrom("KEY", "OTHER", "A_1", "_x");
    const value = fc
      .oneof(
        fc.string({ unit: "binary" }),
        fc.string({
          unit: fc.constantFrom(...`'|"|\\|\n|\r|#| |$|{|=|a|\t|\ufeff|\u2028`.split("|")),
        }),
      )
      .filter((text) => !text.includes("\0") && text.isWellFormed());
    const noise = fc.constantFrom(
      ...`# c||KEEP='x y' # z|export FOO=bar|  |odd line|LAST="a\\nb"|KEY=old # c|A_1='old'`.split("|"),
    );
    fc.assert(
      fc.property(
        fc.array(noise, { maxLength: 6 }),
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        name,
        value,
        (lines, newline, isEnded, key, text) => {
          writeFileSync(path, lines.join(newline) + (isEnded ? newline : ""));
          const before = values();
          expect(setEnvValue(path, key, text).ok).toBe(true);
          expect(values()).toEqual({ ...before, [key]: text });
          const changed = lines.findLastIndex((line) => line.startsWith(`${key}=`));
          const after = content().split(/\r?\n/);
          lines.forEach((line, i) => {
            const isOpenEnd = i === lines.length - 1 && line === ""; // where the new line goes
            if (i !== changed && !isOpenEnd) expect(after[i]).toBe(line);
          });
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("the environment of one home", () => {
  const NAME = "HERMES_TEST_KEY_OF_A_HOME";
  afterEach(() => delete process.env[NAME]);

  it("has its own .env, also after another home was opened in this process", () => {
    const other = join(directory, "other");
    mkdirSync(other);
    writeFileSync(path, `${NAME}=mine\n`);
    writeFileSync(envFilePath(other), `${NAME}=theirs\n`);
    useEnvFile(directory);
    expect(environmentOf(other)[NAME]).toBe("theirs");
    expect(environmentOf(directory)[NAME]).toBe("mine");
    expect(environmentOf(join(directory, "without a file"))[NAME]).toBeUndefined();
  });

  it("lets a variable of the process win over the file, unless it is empty", () => {
    writeFileSync(path, `${NAME}=file\n`);
    process.env[NAME] = "shell";
    expect(environmentOf(directory)[NAME]).toBe("shell");
    expect(environmentOf(directory, { [NAME]: "" })[NAME]).toBe("file");
  });
});
