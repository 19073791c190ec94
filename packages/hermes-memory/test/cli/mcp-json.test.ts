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
