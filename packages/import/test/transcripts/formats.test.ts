// Every format against its fixture. `UPDATE_FIXTURES=1` writes expected.json anew: read the difference before you commit it.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { READERS } from "../../src/internal.ts";
import { makeFixtureHome } from "./fixture-home.ts";
import { readHome } from "./read-fixture.ts";

type Expected = {
  /** The mark of the format's evidence, and where the shape of this fixture comes from. */
  readonly evidence: { readonly mark: string; readonly note: string };
  /** What the fixture shows: branches, subagents, compaction, broken lines. */
  readonly shows: readonly string[];
  /** For exports that the user names, the file below the home. */
  readonly path?: string;
  readonly found: unknown;
};

// Times without a zone, as Aider writes them, are those of the machine.
const zone = process.env.TZ;
beforeAll(() => {
  process.env.TZ = "UTC";
});
afterAll(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

describe.each(READERS)("$source", (reader) => {
  const file = join(import.meta.dirname, "fixtures", reader.source, "expected.json");
  let home = "";
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "hermes-format-"));
    await makeFixtureHome(reader.source, home);
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  it("reads its fixture", async () => {
    const expected: Expected = JSON.parse(await readFile(file, "utf8"));
    const found = await readHome(reader, home, expected.path ? { path: join(home, expected.path) } : {});
    if (process.env.UPDATE_FIXTURES === "1")
      await writeFile(file, `${JSON.stringify({ ...expected, found }, undefined, 2)}\n`);
    else expect(found).toEqual(expected.found);
    expect(expected.evidence.mark).toBe(reader.evidence);
  });

  it("gives the same ids and messages when read again", async () => {
    const expected: Expected = JSON.parse(await readFile(file, "utf8"));
    const path = expected.path ? { path: join(home, expected.path) } : {};
    expect(await readHome(reader, home, path)).toEqual(await readHome(reader, home, path));
  });
});
