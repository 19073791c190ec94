import type { Result } from "@hermes-memory/core/internal/lib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attempt } from "../../src/cli/mcp/config-edit.ts";
import { readJson } from "../../src/cli/mcp/json.ts";
import { removeServer, setServer } from "../../src/cli/mcp/server-entries.ts";
import { layout, written } from "./mcp-documents.ts";

const NAME = "hermes-memory";
const SERVER = { command: "/opt/node", args: ["/opt/hermes.js", "mcp"], env: {} };
const WITH_HOME = { ...SERVER, env: { HERMES_HOME: "/srv/hermes" } };
const CLIENT = {
  title: "",
  format: "json",
  configPath: () => "",
  namesTransport: true,
  afterwards: "",
} as const;

function done<T>(outcome: Result<T, unknown>): T {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.error)}`);
  return outcome.value;
}

const trySet = (text: string, name = NAME) => setServer(text, CLIENT, name, SERVER);
const set = (text: string, server: Parameters<typeof setServer>[3] = SERVER) =>
  done(setServer(text, CLIENT, NAME, server));
const tryRemove = (text: string, name = NAME) => removeServer(text, CLIENT, name);
const remove = (text: string) => done(tryRemove(text));

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
      '{"a": 1,"mcpServers":{"hermes-memory":{"type":"stdio","command":"/opt/node"',
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
      '{"mcpServers": {"x": {"url": "u"},"hermes-memory":{"type"',
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
    expect(remove(text).text.replace(',"mcpServers":{}', "")).toBe(before);
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
    ['{"a": "x\ny"}', 1, 7],
    ['{"a": "\\x"}', 1, 7],
    ['{"a": 01}', 1, 8],
    ['{"a": 1} {}', 1, 10],
    ['{"a": "open', 1, 7],
    ["[1, 2", 1, 6],
  ])("is refused for text that is no JSON, with the place: %#", (text, line, column) => {
    expect(trySet(text)).toMatchObject({
      ok: false,
      error: { kind: "syntax", line, column },
    });
  });

  it.each([["[]"], ["[".repeat(100_000)], ['"text"'], ['{"mcpServers": []}'], ['{"mcpServers": null}']])(
    "is refused where there is no place for it: %#",
    (text) => expect(trySet(text)).toMatchObject({ ok: false, error: { kind: "shape" } }),
  );

  it("never replaces another server", () => {
    const text =
      '{"mcpServers": {"git": {"command": "git-mcp", "args": ["mcp"]}, "web": {"url": "https://x"}}}';
    for (const name of ["git", "web"]) {
      expect(trySet(text, name)).toEqual({ ok: false, error: { kind: "foreign" } });
      expect(tryRemove(text, name)).toEqual({ ok: false, error: { kind: "foreign" } });
    }
    const remote = '{"mcpServers": {"hermes-memory": {"url": "https://x"}}}';
    expect(trySet(remote)).toEqual({ ok: false, error: { kind: "foreign" } });
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
    const { text: next, action } = remove(text);
    expect(action).toBe("removed");
    expect(next).toBe(`{"mcpServers": {${list.filter((each) => each !== own).join(", ")}}}`);
    expect(remove(next)).toEqual({ text: next, action: "absent" });
  });

  it("is found again and goes again in any document, which keeps every other byte", () => {
    const others = fc.dictionary(fc.string(), fc.jsonValue());
    const servers = fc.option(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), { nil: undefined });
    fc.assert(
      fc.property(
        others,
        servers,
        fc.nat(),
        layout(["", " ", "\t", "\n", "\r\n  "]),
        (values, own, at, style) => {
          const { mcpServers: _mine, ...rest } = values;
          const { [NAME]: _ours, ...foreign } = own ?? {};
          const members = Object.entries(rest);
          const isThere = Object.keys(foreign).length > 0;
          if (isThere) members.splice(at % (members.length + 1), 0, ["mcpServers", foreign]);
          const before = written(Object.fromEntries(members), { ...style, hasTrailingComma: false });
          const { text, action } = set(before, WITH_HOME);
          expect(action).toBe("added");
          const content = JSON.parse(text.replace("\ufeff", ""));
          const all = { ...foreign, [NAME]: { type: "stdio", ...WITH_HOME } };
          expect(content).toEqual({
            ...JSON.parse(JSON.stringify(rest)),
            mcpServers: JSON.parse(JSON.stringify(all)),
          });
          expect(set(text, WITH_HOME)).toEqual({ text, action: "unchanged" });
          const gone = remove(text).text;
          // The object of servers stays where it had to be made, and white space in an empty root is lost.
          if (isThere) expect(gone).toBe(before);
          else if (members.length === 0)
            expect(JSON.parse(gone.replace("\ufeff", ""))).toEqual({ mcpServers: {} });
          else expect(gone.replace(/,\s*"mcpServers": ?\{\}/, "")).toBe(before);
        },
      ),
    );
  });

  it("is updated by the members that differ; the others keep their bytes", () => {
    const before = `{"mcpServers": {"hermes-memory": {
      "timeout" : 9.50,\t"command":"\\/old\\/node", "env": { "A":"\\u0041" },
      "args" : [ "/opt/hermes.js","mcp" ] }, "b":{ } }}`;
    expect(set(before)).toEqual({
      action: "updated",
      text: before
        .replace(String.raw`"\/old\/node"`, '"/opt/node"')
        .replace('"mcp" ] }', '"mcp" ],\n      "type": "stdio" }'),
    });
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
    const isRead = (text: string): boolean => {
      const outcome = attempt(() => readJson(text, "json"));
      return outcome.ok || outcome.error.kind === "shape";
    };
    fc.assert(
      fc.property(
        fc.oneof(fc.json(), damaged),
        (text) => text.trim() === "" || isRead(text) === isJson(text),
      ),
    );
  });

  it("finds members by their decoded key", () => {
    expect(set('{"mcp\\u0053ervers": {}}').text).toContain('{"mcp\\u0053ervers": {"hermes-memory":{"type"');
  });
});
