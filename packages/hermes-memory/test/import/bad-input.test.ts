// Damaged and hostile transcripts: what is bad is counted and named, everything else is imported.
import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readerNamed, type TranscriptReader } from "../../../import/src/internal.ts";
import { line, linesOf, writeClaude } from "../../../import/test/transcripts/claude-lines.ts";
import {
  contentsOf,
  importInto,
  openEmptyStore,
  temporaryFolder,
} from "../../../import/test/transcripts/import-suite.ts";

function reader(name: string): TranscriptReader {
  const found = readerNamed(name);
  if (found === undefined) throw new Error(`no reader ${name}`);
  return found;
}
const claude = reader("claude-code");

type Stored = {
  readonly id: string;
  readonly title: string | null;
  readonly messages: readonly { readonly content: string; readonly timestamp: number }[];
};

/** Imports a home of Claude Code, checks that a forced second import changes nothing, and gives what is stored. */
async function imported(write: (home: string) => Promise<unknown>) {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  await write(home);
  await using store = await openEmptyStore(folder.path);
  const report = await importInto(store, claude, home);
  const stored = (await contentsOf(store)) as Stored[];
  const again = await importInto(store, claude, home, { force: true });
  expect(again).toMatchObject({ sessionsAdded: 0, sessionsUpdated: 0, messagesAdded: 0, messagesUpdated: 0 });
  return { report, stored, texts: stored.flatMap(({ messages }) => messages.map(({ content }) => content)) };
}

describe("a damaged transcript", () => {
  it("loses only its bad lines, which are counted and named", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const call = JSON.stringify(
      line("s", 1, "", {
        message: { role: "assistant", content: [{ type: "tool_use", id: "t", name: "Run", input: 0 }] },
      }),
    ).replace('"input":0', `"input":{"a":${deep}}`);
    const { report, texts } = await imported(async (home) => {
      const path = await writeClaude(home, "s", [line("s", 0, "before"), "{bad", "12", call]);
      const rest = `${JSON.stringify(line("s", 2, "after"))}\n{"type":"user","uuid":"to`;
      await writeFile(path, rest, { flag: "a" });
    });
    expect(texts).toEqual(["before", "after"]);
    expect(report.malformedLines).toBe(3);
    expect(report.malformed.map(({ line: at, reason }) => [at, reason])).toEqual([
      [2, "not valid JSON"],
      [3, "not a JSON object"],
      [4, "nested too deeply"],
    ]);
  });

  it("may have records named like parts of JavaScript", async () => {
    const types = ["__proto__", "constructor", "toString", "__proto__"];
    const { report } = await imported((home) =>
      writeClaude(home, "s", [
        ...linesOf("s", 2),
        ...types.map((type, at) => ({ type, uuid: `x${at}`, sessionId: "s" })),
      ]),
    );
    expect(Object.entries(report.unknownTypes)).toEqual([
      ["__proto__", 2],
      ["constructor", 1],
      ["toString", 1],
    ]);
  });

  it("with impossible times keeps the possible ones and the order", async () => {
    const times = [
      "1970-01-01T00:00:00Z",
      "+040000-01-01T00:00:00Z",
      -5,
      "2026-08-01T10:00:00Z",
      "soon",
      1e300,
    ];
    const { stored } = await imported(async (home) => {
      const path = await writeClaude(
        home,
        "s",
        times.map((timestamp, at) => line("s", at * 2, `text ${at}`, { timestamp })),
      );
      await utimes(path, new Date("2090-01-01"), new Date("2090-01-01"));
    });
    const known = Date.UTC(2026, 7, 1, 10) / 1000;
    const found = stored[0]?.messages.map(({ timestamp }) => timestamp) ?? [];
    expect(found).toHaveLength(6);
    for (const time of found) expect(Math.abs(time - known)).toBeLessThan(0.001);
    expect(found).toEqual([...found].sort((a, b) => a - b));
    expect(found[3]).toBe(known);
  });

  it("masks secrets at the cut, drops data and cleans titles", async () => {
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEpAIBAAKCAQEA1234\n".repeat(90)}-----END RSA PRIVATE KEY-----`;
    const outputs = [
      `${"word ".repeat(798)}sk-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z`,
      `${"word ".repeat(780)}${key}`,
      `x AKIAIOSFODNN7EXAMPLE data:image/png;base64,${"iVBORw0KGgo".repeat(500)}`,
    ];
    const { stored, texts } = await imported((home) =>
      writeClaude(home, "s", [
        line("s", 0, "start"),
        ...outputs.map((content, at) =>
          line("s", at * 2 + 2, "", {
            message: { role: "user", content: [{ type: "tool_result", tool_use_id: `t${at}`, content }] },
          }),
        ),
        { type: "custom-title", customTitle: "a \u001b[31mred\u0007\u202e title", sessionId: "s" },
      ]),
    );
    const all = texts.join("\n");
    expect(texts).toHaveLength(4);
    for (const secret of ["aB3d", "MIIEp", "IOSFODNN7", "iVBOR"]) expect(all).not.toContain(secret);
    expect(stored[0]?.title).toBe("a [31mred title");
  });

  it("stands beside links in a circle, dead links and folders named like files", async () => {
    const { report, texts } = await imported(async (home) => {
      const path = await writeClaude(home, "s", linesOf("s", 2));
      const folder = join(path, "..");
      await symlink("..", join(folder, "circle"));
      await symlink("self.jsonl", join(folder, "self.jsonl"));
      await symlink("nowhere", join(folder, "dead.jsonl"));
      await symlink("s.jsonl", join(folder, "twice.jsonl"));
      await mkdir(join(folder, "folder.jsonl"));
      await writeFile(join(folder, "empty.jsonl"), "");
    });
    expect(texts).toHaveLength(2);
    expect(report.errors.map(({ path }) => path.split("/").at(-1))).toEqual(["self.jsonl"]);
  });
});
