import type { Result } from "@hermes-memory/core/internal/lib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memberOf, parseJsonDocument } from "../../src/cli/mcp/json-document.ts";
import { removeJsonServer, setJsonServer } from "../../src/cli/mcp/json-servers.ts";

const NAME = "hermes-memory";
const SERVER = { type: "stdio", command: "/opt/node", args: ["/opt/hermes.js", "mcp"], env: {} } as const;
const WITH_HOME = { ...SERVER, env: { HERMES_HOME: "/srv/hermes" } };

function done<T>(outcome: Result<T, unknown>): T {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.error)}`);
  return outcome.value;
}

const set = (text: string, server: Parameters<typeof setJsonServer>[2] = SERVER) =>
  done(setJsonServer(text, NAME, server));

describe("a server in a JSON config", () => {
  it.each([
    [
      "two blanks",
      '{\n  "a": 1\n}\n',
      '{\n  "a": 1,\n  "mcpServers": {\n    "hermes-memory": {\n      "type": "stdio",',
    ],
    [
      "four blanks",
      '{\n    "a": 1\n}',
      '{\n    "a": 1,\n    "mcpServers": {\n        "hermes-memory": {\n            "type"',
    ],
    [
      "tabs",
      '{\n\t"a": 1\n}\n',
      '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"hermes-memory": {\n\t\t\t"type": "stdio",',
    ],
    ["CRLF", '{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "hermes-memory": {\r\n'],
    [
      "one line",
      '{"a":1}',
      '{"a":1,"mcpServers":{"hermes-memory":{"type":"stdio","command":"/opt/node","args":["',
    ],
    [
      "one airy line",
      '{"a": 1}\n',
      '{"a": 1, "mcpServers": {"hermes-memory": {"type": "stdio", "command": "/opt/node"',
    ],
    ["nothing", "", '{\n  "mcpServers": {\n    "hermes-memory": {\n      "type": "stdio",'],
    ["a mark at the start", '\ufeff{\n  "a": 1\n}', '\ufeff{\n  "a": 1,\n  "mcpServers": {\n'],
    [
      "an empty list of servers",
      '{\n  "mcpServers": {}\n}',
      '{\n  "mcpServers": {\n    "hermes-memory": {\n      "type"',
    ],
    [
      "another server",
      '{"mcpServers": {"x": {"url": "u"}}}',
      '{"mcpServers": {"x": {"url": "u"}, "hermes-memory": {"type"',
    ],
  ])("is written in the file's own way: %s", (_what, before, beginning) => {
    const { text, action } = set(before);
    expect(action).toBe("added");
    expect(text.slice(0, beginning.length)).toBe(beginning);
    expect(JSON.parse(text.replace("\ufeff", "")).mcpServers[NAME]).toMatchObject({ command: "/opt/node" });
    expect(set(text)).toEqual({ text, action: "unchanged" });
  });

  it("leaves every other byte alone, including details a parser would lose", () => {
    const before =
      '{ "big": 12345678901234567890, "x": 1.0,\n\n   "x": 2, "__proto__": {"y": 1e2},\n"z" : "\\u0041/\\/" }\n';
    const { text } = set(before);
    expect(text.startsWith(before.slice(0, before.lastIndexOf(" }")))).toBe(true);
    expect(done(removeJsonServer(text, NAME)).text.replace(', "mcpServers": {}', "")).toBe(before);
  });

  it("keeps fields the user added to our entry, and updates ours", () => {
    const first = set("", WITH_HOME).text;
    const edited = first.replace('"env": {', '"timeout": 9000,\n      "env": {\n        "TOKEN": "t",');
    const { text, action } = set(edited, { ...SERVER, command: "/new/node" });
    expect(action).toBe("updated");
    expect(JSON.parse(text).mcpServers[NAME]).toEqual({
      type: "stdio",
      command: "/new/node",
      args: SERVER.args,
      timeout: 9000,
      env: { TOKEN: "t" },
    });
  });

  it("takes the last of repeated keys, as clients do", () => {
    const { text } = set('{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}');
    expect(Object.keys(JSON.parse(text).mcpServers)).toEqual(["b", NAME]);
  });

  it.each([
    ['{\n  "a": 1,\n}', 3, 1],
    ['{\n  "a": tru\n}', 2, 8],
    ['{\n  // a comment\n  "a": 1\n}', 2, 3],
    ['{"a": "x\ny"}', 1, 9],
    ['{"a": "\\x"}', 1, 8],
    ['{"a": 01}', 1, 7],
    ['{"a": 1} {}', 1, 10],
    ['{"a": "open', 1, 12],
    ["[1, 2", 1, 6],
    [`${"[".repeat(100_000)}`, 1, 502],
  ])("is refused for text that is no JSON, with the place: %#", (text, line, column) => {
    expect(setJsonServer(text, NAME, SERVER)).toMatchObject({
      ok: false,
      error: { kind: "syntax", line, column },
    });
  });

  it.each([["[]"], ['"text"'], ['{"mcpServers": []}'], ['{"mcpServers": null}']])(
    "is refused where there is no place for it: %s",
    (text) =>
      expect(setJsonServer(text, NAME, SERVER)).toMatchObject({ ok: false, error: { kind: "shape" } }),
  );

  it("never replaces another server", () => {
    const text =
      '{"mcpServers": {"git": {"command": "git-mcp", "args": ["mcp"]}, "web": {"url": "https://x"}}}';
    for (const name of ["git", "web"]) {
      expect(setJsonServer(text, name, SERVER)).toEqual({ ok: false, error: { kind: "foreign" } });
      expect(removeJsonServer(text, name)).toEqual({ ok: false, error: { kind: "foreign" } });
    }
    const remote = '{"mcpServers": {"hermes-memory": {"url": "https://x"}}}';
    expect(setJsonServer(remote, NAME, SERVER)).toEqual({ ok: false, error: { kind: "foreign" } });
  });

  it.each(["first", "middle", "last", "only"])("goes without a trace when it is the %s one", (place) => {
    const own = `"${NAME}": ${JSON.stringify({ command: "hermes", args: ["mcp"] })}`;
    const entries = {
      first: [own, '"a": {}'],
      middle: ['"a": {}', own, '"b": {}'],
      last: ['"a": {}', own],
      only: [own],
    };
    const list = entries[place as keyof typeof entries];
    const text = `{"mcpServers": {${list.join(", ")}}}`;
    const { text: next, action } = done(removeJsonServer(text, NAME));
    expect(action).toBe("removed");
    expect(next).toBe(`{"mcpServers": {${list.filter((each) => each !== own).join(", ")}}}`);
    expect(done(removeJsonServer(next, NAME))).toEqual({ text: next, action: "absent" });
  });

  it("changes nothing but the servers of any document, in any indentation", () => {
    const object = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((value) => JSON.parse(JSON.stringify(value)));
    fc.assert(
      fc.property(object, fc.constantFrom(0, 1, 2, 4, "\t"), (value, indent) => {
        const { mcpServers: _servers, ...others } = value;
        const before = JSON.stringify(others, null, indent);
        const { text } = set(before, WITH_HOME);
        const { mcpServers, ...rest } = JSON.parse(text);
        expect(rest).toEqual(JSON.parse(before));
        expect(mcpServers).toEqual({ [NAME]: WITH_HOME });
        expect(set(text, WITH_HOME).action).toBe("unchanged");
      }),
    );
  });

  it("reads exactly what JSON.parse reads", () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", '"', "}", "\\", "0", "\n", "\u0001"))
      .map(
        ([text, at, piece]) =>
          text.slice(0, at % (text.length + 1)) + piece + text.slice((at % (text.length + 1)) + 1),
      );
    const isJson = (text: string): boolean => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(fc.oneof(fc.json(), damaged), (text) => parseJsonDocument(text).ok === isJson(text)),
    );
  });

  it("finds members by their decoded key", () => {
    const root = done(parseJsonDocument('{"\\u0061": 1}'));
    expect(memberOf(root, "a")?.value).toMatchObject({ start: 11, end: 12 });
  });
});
