import type { Result } from "@hermes-memory/core/internal/lib";
import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { findHookSettings, removeHooks, setHooks } from "../../src/cli/mcp/hook-settings.ts";
import { removeServer, setServer } from "../../src/cli/mcp/server-entries.ts";
import { MARK } from "../../src/cli/mcp/toml.ts";

const NAME = "hermes-memory";
const SERVER = { command: "/opt/node", args: ["/opt/hermes.js", "mcp"], env: {} };
const WITH_HOME = { ...SERVER, env: { HERMES_HOME: "/srv/hermes" } };
const CLIENT = {
  title: "",
  format: "toml",
  configPath: () => "",
  namesTransport: false,
  afterwards: "",
} as const;
/** As 0.3.0 wrote it. */
const TABLE = '[mcp_servers.hermes-memory]\ncommand = "/opt/node"\nargs = ["/opt/hermes.js", "mcp"]\n';
const BLOCK = `${MARK}\n${TABLE}`;

/** A config as people have it: comments, odd spacing, texts that look like headers. */
const SAMPLE = `# my settings
model   = "gpt-5"   # the good one
approval_policy="on-request"
notes = """
[mcp_servers.hermes-memory]
not a table, just a text with a \\" in it
"""
path = 'C:\\Users\\me'
dotted."quoted key".x = [ 1, 2.5, 0xff,
  # a comment in a list
  true, ] # trailing comma
when = 1979-05-27 07:32:00Z

[mcp_servers.docs]
command = "docs-mcp"
env = { TOKEN = "s3cr3t", "odd key" = 'v' }

[[profiles]]
name = "one"
[profiles.more]
a = 1
[[profiles]]
name = "two"
[profiles.more]
a = 2

[tui]
notifications = false
`;

function done<T>(outcome: Result<T, unknown>): T {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.error)}`);
  return outcome.value;
}

const trySet = (text: string, name = NAME) => setServer(text, CLIENT, name, SERVER);
const set = (text: string, server: Parameters<typeof setServer>[3] = SERVER) =>
  done(setServer(text, CLIENT, NAME, server));
const tryRemove = (text: string, name = NAME) => removeServer(text, CLIENT, name);
const remove = (text: string) => done(tryRemove(text));

describe("a server in Codex's config", () => {
  it("is one block at the end; everything before it stays unchanged", () => {
    expect(set(SAMPLE)).toEqual({ text: `${SAMPLE}\n${BLOCK}`, action: "added" });
    expect(set("")).toEqual({ text: BLOCK, action: "added" });
    expect(set('a = "no line end"').text).toBe(`a = "no line end"\n\n${BLOCK.trimEnd()}`);
    expect(set("a = 1\r\n").text).toBe(`a = 1\r\n\r\n${BLOCK.replaceAll("\n", "\r\n")}`);
  });

  it("changes only command, arguments and home of its own block", () => {
    const before = `[mcp_servers.hermes-memory]\n# mine\nargs = [\n  "/old/hermes.js",\n  "mcp",\n] # kept\nstartup_timeout_sec = 20\ncommand = "/old/node"\n\n[other]\ncommand = "/old/node"\n`;
    expect(set(before, WITH_HOME)).toEqual({
      action: "updated",
      text: `[mcp_servers.hermes-memory]\nenv = { HERMES_HOME = "/srv/hermes" }\n# mine\nargs = [\n  "/opt/hermes.js",\n  "mcp",\n] # kept\nstartup_timeout_sec = 20\ncommand = "/opt/node"\n\n[other]\ncommand = "/old/node"\n`,
    });
  });

  it.each([
    [`env = { A = "b", N = 5 } # mine\n`, `env = { A = "b", N = 5, HERMES_HOME = "/srv/hermes" } # mine\n`],
    ['env = { HERMES_HOME = "/old" }\n', 'env = { HERMES_HOME = "/srv/hermes" }\n'],
  ])("adds the home to the environment: %j", (before, after) => {
    expect(set(TABLE + before, WITH_HOME).text).toBe(TABLE + after);
    expect(parse(set(TABLE + after, SERVER).text)).toEqual(
      parse(TABLE + after.replace(/(, )?HERMES_HOME = "[^"]*"/, "")),
    );
  });

  it("escapes every character a path can hold", () => {
    const server = { command: 'C:\\Program Files\\"node"', args: ["a\u007fb", "tab\t"], env: {} };
    const { text } = set("", server);
    expect(text).toContain(String.raw`command = "C:\\Program Files\\\"node\""`);
    expect(text).toContain(String.raw`args = ["a\u007fb", "tab\t"]`);
    expect(set(text, server).action).toBe("unchanged");
  });

  it.each([
    ["a = ", 1, 5],
    ["a = 1\nb = yes\n", 2, 5],
    ["[a\nb = 1", 1, 3],
    ['a = "open\nb = 1', 1, 10],
    ['a = "\\q"', 1, 7],
    ["a = 1 b = 2", 1, 7],
    ["a = 1\na = 2", 2, 1],
    ["[x]\n[y]\n[x]\n", 3, 2],
    ["x = 1\n[x.y]\n", 2, 2],
    ["a = [1, 2", 1, 10],
    ["= 1", 1, 1],
    ['a = """open', 1, 5],
    ["a = 01", 1, 5],
    [`a = ${"[".repeat(50_000)}`, 1, 1005],
  ])("is refused for text that is no TOML, with the place: %#", (text, line, column) => {
    expect(trySet(text)).toMatchObject({
      ok: false,
      error: { kind: "syntax", line, column },
    });
  });

  it("never replaces another server", () => {
    expect(trySet(SAMPLE, "docs")).toEqual({ ok: false, error: { kind: "foreign" } });
    expect(tryRemove(SAMPLE, "docs")).toEqual({ ok: false, error: { kind: "foreign" } });
  });
});

/** Whole statements, as people write them. */
const PAIRS = [
  "# a comment\n",
  "\n",
  "   \n",
  'a = "x" # "quoted"\n',
  "b = 1_000\n",
  "'odd = key' = 1979-05-27 07:32:00Z\n",
  'c = [ # one\n  "[mcp_servers.hermes-memory]", # two\n\n  [1, 2],\n]\n',
  'd = """\n[mcp_servers.hermes-memory]\ncommand = "/opt/node"\n# x\n"""\n',
  "e = '''\n[[hooks]]\n'''\n",
  '"f" . g = { h = "}", i = [ { j = 1 } ] }\n',
  `${MARK}\n`,
];
const TABLES = [
  "[one]\n",
  '  [ "two" . three ]  # with a comment\n',
  "[[list]]\n",
  "[list.of]\n",
  '[mcp_servers.docs]\ncommand = "docs" # kept\n',
  '[[hooks]]\nevent = "Stop"\ncommand = "beep"\n',
];

/** Statements in any order, behind a beginning. */
const document = (beginning = ""): fc.Arbitrary<string> => {
  const pairs = fc.uniqueArray(fc.constantFrom(...PAIRS), { maxLength: 4 });
  const tables = fc.uniqueArray(fc.tuple(fc.constantFrom(...TABLES), pairs), {
    selector: ([table]) => table,
    maxLength: 5,
  });
  return fc
    .tuple(pairs, tables)
    .map(([root, below]) => [beginning, ...root, ...below.flat(2)].join(""))
    .filter(isToml);
};

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

const kimi = findHookSettings("kimi-cli");
if (!kimi) throw new Error("Kimi has hooks");
const LAUNCH = { node: "/usr/bin/node", script: "/opt/hermes-memory/hermes.js", flags: [] };

describe.each([
  ["a server", (text: string) => set(text, WITH_HOME), remove],
  [
    "hooks",
    (text: string) => done(setHooks(text, kimi, LAUNCH, "linux")),
    (text: string) => done(removeHooks(text, kimi)),
  ],
])("in any TOML document %s", (_what, add, drop) => {
  it("can be added, found and removed, and every other byte stays", () => {
    fc.assert(
      fc.property(
        document(),
        fc.constantFrom("\n", "\r\n"),
        fc.constantFrom("", "\ufeff"),
        fc.boolean(),
        (lines, newline, byteOrderMark, isOpen) => {
          const text = byteOrderMark + lines.replaceAll("\n", newline);
          const before = isOpen ? text.replace(/\r?\n$/, "") : text;
          const { text: after, action } = add(before);
          expect(action).toBe("added");
          expect(after.startsWith(before)).toBe(true);
          expect(add(after)).toEqual({ text: after, action: "unchanged" });
          expect(drop(after)).toEqual({ text: before, action: "removed" });
        },
      ),
    );
  });

  it("can be anywhere, also without the mark, as earlier versions wrote it", () => {
    const rest = document("# behind\n[behind]\n");
    fc.assert(
      fc.property(document(), rest, fc.boolean(), fc.boolean(), (before, behind, hasMark, hasGap) => {
        fc.pre(isToml(before + behind));
        const block = add(before).text.slice(before.length);
        const own = hasMark ? block : block.replace(`${MARK}\n`, "");
        const gap = hasGap ? "\n" : "";
        const text = before + own + gap + behind;
        expect(add(text)).toEqual({ text, action: "unchanged" });
        expect(drop(text)).toEqual({ text: before + gap + behind, action: "removed" });
      }),
    );
  });
});
