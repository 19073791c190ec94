import type { Result } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import { parseTomlDocument } from "../../src/cli/mcp/toml-document.ts";
import { removeTomlServer, setTomlServer, tomlBlock } from "../../src/cli/mcp/toml-servers.ts";

const NAME = "hermes-memory";
const SERVER = { command: "/opt/node", args: ["/opt/hermes.js", "mcp"], env: {} };
const WITH_HOME = { ...SERVER, env: { HERMES_HOME: "/srv/hermes" } };
const BLOCK = '[mcp_servers.hermes-memory]\ncommand = "/opt/node"\nargs = ["/opt/hermes.js", "mcp"]\n';

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

const set = (text: string, server = SERVER) => done(setTomlServer(text, NAME, server));
const remove = (text: string) => done(removeTomlServer(text, NAME));

describe("a server in Codex's config", () => {
  it("is one block at the end; everything before it stays unchanged", () => {
    expect(set(SAMPLE)).toEqual({ text: `${SAMPLE}\n${BLOCK}`, action: "added" });
    expect(set("")).toEqual({ text: BLOCK, action: "added" });
    expect(set('a = "no line end"').text).toBe(`a = "no line end"\n\n${BLOCK}`);
    expect(set("a = 1\r\n").text).toBe(`a = 1\r\n\r\n${BLOCK.replaceAll("\n", "\r\n")}`);
  });

  it("says unchanged the second time, however it is spelled", () => {
    const { text } = set(SAMPLE, WITH_HOME);
    expect(set(text, WITH_HOME)).toEqual({ text, action: "unchanged" });
    const other = `[ mcp_servers . "hermes-memory" ]\nargs = [\n  '/opt/hermes.js', # the script\n  "mcp",\n]\ncommand = '/opt/node'\n[mcp_servers.hermes-memory.env]\nHERMES_HOME = "/srv/hermes"\n`;
    expect(set(other, WITH_HOME)).toEqual({ text: other, action: "unchanged" });
  });

  it("is removed again, which restores the file", () => {
    expect(remove(set(SAMPLE, WITH_HOME).text)).toEqual({ text: SAMPLE, action: "removed" });
    expect(remove(SAMPLE)).toEqual({ text: SAMPLE, action: "absent" });
    const middle = `[a]\nx = 1\n\n${BLOCK}startup_timeout_sec = 20\n\n[mcp_servers.hermes-memory.env]\nA = "b"\n\n# about b\n[b]\ny = 2\n`;
    expect(remove(middle).text).toBe("[a]\nx = 1\n\n# about b\n[b]\ny = 2\n");
  });

  it("changes only command, arguments and home of its own block", () => {
    const before = `[mcp_servers.hermes-memory]\n# mine\nargs = [\n  "/old/hermes.js",\n  "mcp",\n] # kept\nstartup_timeout_sec = 20\ncommand = "/old/node"\n\n[other]\ncommand = "/old/node"\n`;
    expect(set(before, WITH_HOME)).toEqual({
      action: "updated",
      text: `[mcp_servers.hermes-memory]\nenv = { HERMES_HOME = "/srv/hermes" }\n# mine\nargs = ["/opt/hermes.js", "mcp"] # kept\nstartup_timeout_sec = 20\ncommand = "/opt/node"\n\n[other]\ncommand = "/old/node"\n`,
    });
  });

  it.each([
    [
      "an inline table",
      `env = { A = "b", N = 5 }\n`,
      `env = { A = "b", N = 5, HERMES_HOME = "/srv/hermes" }\n`,
    ],
    ["dotted keys", `env.A = "b"\n`, `env.A = "b"\nenv.HERMES_HOME = "/srv/hermes"\n`],
    [
      "its own table",
      `\n[mcp_servers.hermes-memory.env]\nA = "b"\n`,
      `\n[mcp_servers.hermes-memory.env]\nHERMES_HOME = "/srv/hermes"\nA = "b"\n`,
    ],
  ])("puts the home where the environment is: %s", (_what, before, after) => {
    const added = set(BLOCK + before, WITH_HOME).text;
    expect(added).toBe(BLOCK + after);
    expect(set(added, WITH_HOME).action).toBe("unchanged");
    expect(set(added, SERVER).text).toBe(BLOCK + before);
  });

  it("joins a table of variables that was left without its server", () => {
    const orphan = '[mcp_servers.hermes-memory.env]\nA = "b"\n';
    expect(set(orphan, WITH_HOME).text).toBe(
      `[mcp_servers.hermes-memory.env]\nHERMES_HOME = "/srv/hermes"\nA = "b"\n\n${BLOCK}`,
    );
  });

  it("escapes every character a path can hold", () => {
    const server = { command: 'C:\\Program Files\\"node"', args: ["a\u007fb", "tab\t"], env: {} };
    const text = tomlBlock(NAME, server);
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
    ["[x]\n[y]\n[x]\n", 3, 1],
    ["x = 1\n[x.y]\n", 2, 1],
    ["a = [1, 2", 1, 10],
    ["= 1", 1, 1],
    ['a = """open', 1, 12],
    ["a = 01", 1, 5],
    [`a = ${"[".repeat(50_000)}`, 1, 106],
  ])("is refused for text that is no TOML, with the place: %#", (text, line, column) => {
    expect(setTomlServer(text, NAME, SERVER)).toMatchObject({
      ok: false,
      error: { kind: "syntax", line, column },
    });
  });

  it.each([
    ['mcp_servers = { docs = { command = "x" } }\n'],
    ['mcp_servers.hermes-memory.command = "x"\n'],
    ['[mcp_servers]\nhermes-memory = { command = "x" }\n'],
    ["[[mcp_servers]]\na = 1\n"],
  ])("is refused where a block would contradict the file: %j", (text) => {
    expect(setTomlServer(text, NAME, SERVER)).toMatchObject({
      ok: false,
      error: { kind: "shape", reason: expect.stringContaining("line") },
    });
  });

  it("stands beside servers of a parent table", () => {
    const text = '[mcp_servers]\ndocs = { command = "x" }\n';
    expect(set(text).text).toBe(`${text}\n${BLOCK}`);
  });

  it("never replaces another server", () => {
    expect(setTomlServer(SAMPLE, "docs", SERVER)).toEqual({ ok: false, error: { kind: "foreign" } });
    expect(removeTomlServer(SAMPLE, "docs")).toEqual({ ok: false, error: { kind: "foreign" } });
  });

  it("reads every statement of an ordinary file", () => {
    const paths = done(parseTomlDocument(SAMPLE)).map(({ path }) => path.join("/"));
    expect(paths).toContain("dotted/quoted key/x");
    expect(paths).toContain("mcp_servers/docs/env");
    expect(paths.filter((path) => path === "profiles/more/a")).toHaveLength(2);
    expect(paths).not.toContain("mcp_servers/hermes-memory");
  });
});
