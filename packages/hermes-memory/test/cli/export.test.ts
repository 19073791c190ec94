import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ExportedSession, openSessionStore } from "@hermes-memory/core/internal/sessions";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fixtureHome } from "../../../../test/fixtures/fixture-home.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { treeOf } from "../../../import/test/transcripts/tree.ts";
import type { ShownMessage } from "../../src/cli/export/exported-message.ts";
import { markdownSession } from "../../src/cli/export/formats.ts";
import { runHere } from "./run.ts";

async function exported(
  home: string,
  ...words: string[]
): Promise<{ code: number; json: Record<string, unknown> }> {
  const { stdout, code } = await runHere(["export", ...words, "--json"], { home });
  return { code, json: JSON.parse(stdout) as Record<string, unknown> };
}

async function sessionsOf(home: string): Promise<ExportedSession[]> {
  await using store = await openSessionStore({ path: join(home, "state.db") });
  const all: ExportedSession[] = [];
  for await (const { last_active: _last, ...session } of store.exportEach({ includeInactive: true }))
    all.push(session);
  return all.toSorted((a, b) => a.id.localeCompare(b.id));
}

const START = 1_790_000_000;

/** A home with a branch, tool calls, a secret and memory. */
async function smallHome(): Promise<string> {
  const home = tempDirectory();
  await using store = await openSessionStore({ path: join(home, "state.db") });
  await store.createSession("20260901_kiln", { source: "cli", model: "m1", startedAt: START });
  await store.setSessionTitle("20260901_kiln", "Kiln & <glaze>");
  const ids = await store.appendMany("20260901_kiln", [
    { role: "user", content: "# not a heading\n```\nopen fence", timestamp: START + 1 },
    {
      role: "assistant",
      content: "I look.",
      toolCalls: [
        { id: "c1", type: "function", function: { name: "terminal", arguments: '{"command":"ls"}' } },
      ],
      timestamp: START + 2,
    },
    {
      role: "tool",
      content: "a.txt\n```\n</details>",
      toolCallId: "c1",
      toolName: "terminal",
      timestamp: START + 3,
    },
    { role: "user", content: "wrong way", timestamp: START + 4 },
    { role: "assistant", content: "indeed", timestamp: START + 5 },
  ]);
  await store.rewindToMessage("20260901_kiln", ids[3] ?? 0);
  await store.appendMany("20260901_kiln", [
    { role: "user", content: `the key is ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`, timestamp: START + 6 },
    { role: "assistant", content: "noted", timestamp: START + 7 },
  ]);
  await runHere(["memory", "add", "Kilns are hot"], { home });
  await runHere(["memory", "add", "-t", "user", "Makes pots"], { home });
  return home;
}

describe("hermes export", () => {
  it("as JSON lines, all sessions of a home are the same after an import elsewhere", async () => {
    const home = fixtureHome();
    const file = join(tempDirectory(), "backup.jsonl");
    const { json } = await exported(home, file, "--format", "jsonl", "--all");
    expect(json).toMatchObject({ success: true, format: "jsonl", sessions: 24, messages: 382, files: 2 });
    const other = tempDirectory();
    expect(await runHere(["sessions", "import", file], { home: other })).toMatchObject({ code: 0 });
    expect(await sessionsOf(other)).toEqual(await sessionsOf(home));
    const lines = readFileSync(file.replace(".jsonl", ".memory.jsonl"), "utf8").trim().split("\n");
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object))[0]).toEqual([
      "target",
      "id",
      "text",
      "archived",
    ]);
  });

  it("like a ChatGPT export, the reader of such exports finds the same texts, roles, order, times and branches", async () => {
    const home = await smallHome();
    const file = join(tempDirectory(), "conversations.json");
    await exported(home, file, "--format", "chatgpt", "--all");
    const other = tempDirectory();
    const words = [
      "sessions",
      "import",
      "--from",
      "chatgpt",
      "--path",
      file,
      "--tools",
      "full",
      "--redact",
      "none",
    ];
    expect(await runHere(words, { home: other })).toMatchObject({ code: 0 });
    const [session] = await sessionsOf(other);
    expect(session).toMatchObject({ title: "Kiln & <glaze>", model: "m1" });
    const rows = session?.messages.map(({ role, content, timestamp, active }) => [
      role,
      content,
      timestamp - START,
      active,
    ]);
    expect(rows).toEqual([
      ["user", "# not a heading\n```\nopen fence", 1, 1],
      ["assistant", "I look.", 2, 1],
      ["assistant", "", 2, 1],
      ["tool", "a.txt\n```\n</details>", 3, 1],
      ["user", "wrong way", 4, 0],
      ["assistant", "indeed", 5, 0],
      ["user", expect.stringMatching(/^the key is ghp_/), 6, 1],
      ["assistant", "noted", 7, 1],
    ]);
    expect(session?.messages[2]?.tool_calls).toMatchObject([
      { function: { name: "terminal", arguments: '{"command":"ls"}' } },
    ]);
    expect(session?.messages[3]).toMatchObject({ tool_name: "terminal" });
  });

  it("as Markdown, there is a file per session in a folder per month, an index, and the memory; all private", async () => {
    const home = await smallHome();
    const out = join(tempDirectory(), "notes");
    const { json } = await exported(home, out);
    expect(json).toMatchObject({ sessions: 1, messages: 5, memory_entries: 2, files: 5 });
    const name = "2026-09/2026-09-21-kiln-glaze-20260901-kiln.md";
    expect(Object.keys(treeOf(out)).toSorted()).toEqual(
      ["index.md", "memory/MEMORY.md", "memory/USER.md", "memory/entries.jsonl", name].toSorted(),
    );
    expect(readFileSync(join(out, "index.md"), "utf8")).toContain(
      `[Kiln & \\<glaze\\>](${name}), cli, 5 messages`,
    );
    const text = readFileSync(join(out, name), "utf8");
    expect(text).toMatch(/^---\nid: "20260901_kiln"\ntitle: "Kiln & \\u003cglaze>"\nsource: "cli"\n/);
    expect(text).toContain(
      "## 1. user, 2026-09-21T14:13:21.000Z\n\n> # not a heading\n> ```\n> open fence\n",
    );
    expect(text).toContain("<details><summary>Call: terminal</summary>\n\n```text\n{\n");
    expect(text).toContain("<details><summary>Result</summary>\n\n````text\na.txt\n```\n</details>\n````\n");
    expect(text).not.toContain("wrong way");
    expect(readFileSync(join(out, "memory", "MEMORY.md"), "utf8")).toBe("Kilns are hot");
    if (process.platform !== "win32")
      for (const file of Object.keys(treeOf(out)))
        expect(statSync(join(out, file)).mode & 0o077, file).toBe(0);
    expect(readdirSync(join(out, ".."))).toEqual(["notes"]);
  });

  it("file names have at most 255 bytes, whatever the ids and titles are", async () => {
    const home = tempDirectory();
    {
      await using store = await openSessionStore({ path: join(home, "state.db") });
      for (const id of [`${"粉".repeat(90)}1`, `${"粉".repeat(90)}2`]) {
        await store.createSession(id, { source: "cli", startedAt: START });
        await store.setSessionTitle(id, `${"水".repeat(90)}${id.at(-1)}`);
      }
    }
    const out = join(tempDirectory(), "out");
    expect(await exported(home, out)).toMatchObject({ code: 0, json: { sessions: 2 } });
    expect(readdirSync(join(out, "2026-09"))).toHaveLength(2);
  });

  it("masks credentials only with --redact, in every format", async () => {
    const home = await smallHome();
    for (const format of ["markdown", "jsonl", "chatgpt"]) {
      const out = tempDirectory();
      await exported(home, join(out, "plain"), "--format", format);
      await exported(home, join(out, "masked"), "--format", format, "--redact");
      const texts = (folder: string) =>
        Object.keys(treeOf(join(out, folder)))
          .map((name) => readFileSync(join(out, folder, name), "utf8"))
          .join("\n");
      expect(texts("plain")).toContain("ghp_a1B2");
      expect(texts("masked")).not.toContain("ghp_a1B2");
      expect(texts("masked")).toContain("the key is ");
    }
  });

  it("refuses a folder that is not empty and a file that exists, unless it is forced; other files stay", async () => {
    const home = await smallHome();
    const out = join(tempDirectory(), "out");
    mkdirSync(out);
    expect(await exported(home, out)).toMatchObject({ code: 0 });
    writeFileSync(join(out, "mine.txt"), "mine");
    expect(await exported(home, out)).toMatchObject({ code: 1, json: { kind: "exists" } });
    expect(await exported(home, out, "--force")).toMatchObject({ code: 0 });
    expect(readFileSync(join(out, "mine.txt"), "utf8")).toBe("mine");
    const file = join(out, "x.jsonl");
    expect(await exported(home, file, "--format", "jsonl")).toMatchObject({ code: 0 });
    expect(await exported(home, file, "--format", "jsonl")).toMatchObject({
      code: 1,
      json: { kind: "exists" },
    });
    expect(readdirSync(out).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("an interrupted export leaves nothing", async () => {
    const home = await smallHome();
    const folder = tempDirectory();
    const stopped = await runHere(["export", join(folder, "out")], { home, isInterrupted: true });
    expect(stopped.code).toBe(130);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("Markdown has HTML and links that run something as text; code stays as it is", () => {
    const markdown = markdownOf(
      [
        "<script>a</script> <img src=x onerror=a> a < b `Map<T>`",
        "[x](javascript:a) [y](java&#115;cript:a) [z](https://a.b/c) [w](docs/a.md)",
        "",
        "1. Do",
        "   ```html",
        "   <b>x</b>",
        "   ```",
        "<b>y</b>",
        "`",
        "z `<i>`",
        "[r]:",
        "javascript:a",
      ].join("\n"),
    );
    expect(markdown.slice(markdown.indexOf("> ")).split("\n")).toEqual([
      "> &lt;script>a&lt;/script> &lt;img src=x onerror=a> a < b `Map<T>`",
      "> [x]\\(javascript:a) [y]\\(java&#115;cript:a) [z](https://a.b/c) [w](docs/a.md)",
      ">",
      "> 1. Do",
      "> ```html",
      ">    <b>x</b>",
      "> ```",
      "> &lt;b>y&lt;/b>",
      "> `",
      "> z `&lt;i>`",
      "> [r]\\:",
      "> javascript:a",
      "",
    ]);
    expect(markdown).not.toMatch(/(?<!\\)<script/);
  });

  it("every text can be read back from the Markdown, whatever it holds", () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom(
        "```",
        "~~~",
        "## 2. user, x",
        "---",
        "> quote",
        "<details>",
        "<!--",
        "",
        "````text",
        "    code",
        "</details>",
        "- a",
        "- ```html",
        "  ```",
        "`<b>`",
        "[x](javascript:y)",
      ),
    );
    const text = fc.array(line, { maxLength: 6 }).map((lines) => lines.join("\n").replaceAll("\r", ""));
    const messages = fc.array(
      fc.record({ role: fc.constantFrom("user", "assistant", "tool"), text, call: fc.option(text) }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(messages, (list) => {
        const shown = list.map(({ role, text, call }, at): ShownMessage => {
          const calls = call === null ? [] : [{ name: "terminal", arguments: `x${call}` }];
          return {
            id: at,
            role,
            text,
            at,
            calls,
            toolName: undefined,
            isActive: true,
          };
        });
        const found = readBack([...markdownSession(SESSION, shown)].join(""));
        expect(found.map(({ role, texts }) => ({ role, texts: texts.map(plain) }))).toEqual(
          list.map(({ role, text, call }) => ({
            role,
            texts: [
              ...(text === "" && role !== "tool" ? [] : [plain(text)]),
              ...(call === null ? [] : [plain(`x${call}`)]),
            ],
          })),
        );
      }),
    );
  });
});

const SESSION = {
  id: "s",
  title: "<script>",
  source: "cli",
  model: null,
  started_at: 0,
  ended_at: null,
} as ExportedSession;

function markdownOf(text: string): string {
  const ids = { id: 1, toolName: undefined };
  return [
    ...markdownSession(SESSION, [{ ...ids, role: "user", text, at: 0, calls: [], isActive: true }]),
  ].join("");
}

/** Fences may move to another line, and what would be HTML or run is escaped. */
function plain(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replace(/\]\\([(:])/g, "]$1")
    .replace(/\s+/g, "");
}

/** Roles and texts by the structure of the file alone: quotes are texts, and a fence ends with its own length. */
function readBack(markdown: string): { role: string; texts: string[] }[] {
  const found: { role: string; texts: string[] }[] = [];
  let quote: string[] | undefined;
  let fence: { readonly mark: string; readonly lines: string[] } | undefined;
  const endQuote = (): void => {
    if (quote !== undefined) found.at(-1)?.texts.push(quote.join("\n"));
    quote = undefined;
  };
  for (const line of markdown.split("\n")) {
    if (fence !== undefined) {
      if (line === fence.mark) {
        found.at(-1)?.texts.push(fence.lines.join("\n"));
        fence = undefined;
      } else fence.lines.push(line);
      continue;
    }
    if (line.startsWith(">")) {
      quote = [...(quote ?? []), line.replace(/^> ?/, "")];
      continue;
    }
    endQuote();
    const head = /^## \d+\. (\S+), /.exec(line);
    const mark = /^(`{3,})text$/.exec(line)?.[1];
    if (head !== null) found.push({ role: head[1] ?? "", texts: [] });
    else if (mark !== undefined) fence = { mark, lines: [] };
  }
  endQuote();
  return found;
}
