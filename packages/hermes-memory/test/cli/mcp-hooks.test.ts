import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { checkClients } from "../../src/cli/doctor/client-checks.ts";
import { SETTABLE_CLIENTS } from "../../src/cli/hook/protocols.ts";
import { lineDiff } from "../../src/cli/mcp/config-edit.ts";
import { findHookSettings, type HookTarget, removeHooks, setHooks } from "../../src/cli/mcp/hook-settings.ts";
import { type HookLaunch, hookCommand, isOwnHook } from "../../src/cli/mcp/launch.ts";
import { MARK, withTomlHooks } from "../../src/cli/mcp/toml.ts";
import { layout, written } from "./mcp-documents.ts";

const LAUNCH: HookLaunch = { node: "/usr/bin/node", script: "/opt/hermes-memory/hermes.js", flags: [] };

function target(name: string): HookTarget {
  const found = findHookSettings(name);
  if (!found) throw new Error(`there are no hooks of ${name}`);
  return found;
}

function added(name: string, text: string, launch = LAUNCH): string {
  const outcome = setHooks(text, target(name), launch, "linux");
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
  return outcome.value.text;
}

function removed(name: string, text: string): string | undefined {
  const outcome = removeHooks(text, target(name));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
  return outcome.value.text;
}

const FOREIGN = `{
  // kept by hand
  "model": "opus",
  "hooks": {
    "Stop": [
      {
        "hooks": [{ "type": "command", "command": "notify-send done" }]
      }
    ],
    "PreToolUse": [] /* none yet */
  },
}
`;

describe("the hooks in a client's settings", () => {
  it("are written for Claude Code as its documentation shows them", () => {
    const settings = JSON.parse(added("claude-code", ""));
    expect(settings.hooks.SessionStart).toEqual([
      {
        matcher: "startup|clear|compact",
        hooks: [
          {
            type: "command",
            command: "/usr/bin/node /opt/hermes-memory/hermes.js hook claude-code SessionStart",
            timeout: 10,
          },
        ],
      },
    ]);
    expect(Object.keys(settings.hooks)).toEqual(["SessionStart", "Stop", "SessionEnd", "PreCompact"]);
    expect(settings.hooks.Stop[0]).not.toHaveProperty("matcher");
  });

  it("end a session of Codex within its 3 seconds, also where an earlier version wrote 10", () => {
    const text = added("codex", "");
    const hooks = JSON.parse(text).hooks;
    expect(hooks.SessionEnd[0].hooks[0].timeout).toBe(3);
    expect(hooks.Stop[0].hooks[0].timeout).toBe(10);
    expect(added("codex", text.replace('"timeout": 3', '"timeout": 10'))).toBe(text);
    const chosen = text.replace('"timeout": 3', '"timeout": 2');
    expect(added("codex", chosen)).toBe(chosen);
  });

  it("are reported by doctor when the program or the script that they start is gone", () => {
    const user = tempDirectory();
    const env = { HOME: user, USERPROFILE: user };
    const path = target("codex").settings.path(env);
    mkdirSync(dirname(path), { recursive: true });
    const script = join(user, "it's here", "hermes.js");
    mkdirSync(dirname(script));
    writeFileSync(script, "");
    const found = (launch: Partial<HookLaunch>) => {
      writeFileSync(path, added("codex", "", { node: process.execPath, script, flags: [], ...launch }));
      return checkClients({ env });
    };
    expect(found({})).toMatchObject([
      { status: "ok", message: expect.stringContaining("hooks of 1 client") },
    ]);
    for (const [launch, gone] of [
      [{ node: "/gone/node" }, "/gone/node"],
      [{ script: "/gone/hermes.js" }, "/gone/hermes.js"],
    ] as const)
      expect(found(launch)).toMatchObject([{ status: "warn", message: expect.stringContaining(gone) }]);
    writeFileSync(path, "{ hermes");
    expect(checkClients({ env })).toMatchObject([{ status: "warn", message: expect.stringContaining(path) }]);
  });

  it.each(["codex", "cursor", "copilot-cli", "grok"])(
    "of %s are a file of their own, which goes with them",
    (name) => {
      expect(removed(name, added(name, ""))).toBeUndefined();
    },
  );

  it("get the new path of the program, and keep the time limit that the user chose", () => {
    const old = added("claude-code", FOREIGN).replaceAll('"timeout": 10', '"timeout": 3');
    const next = added("claude-code", old, { ...LAUNCH, script: "/usr/lib/hermes-memory/hermes.js" });
    expect(next).toContain("/usr/lib/hermes-memory/hermes.js hook claude-code Stop");
    expect(next).not.toContain("/opt/");
    expect(next.match(/"timeout": 3/g)).toHaveLength(4);
  });

  it("are found again and go again in any document, which keeps every other byte", () => {
    const inJson = SETTABLE_CLIENTS.filter((name) => target(name).settings.format === "json");
    const key = fc
      .string({ minLength: 1 })
      .filter((each) => !["hooks", "__proto__", "version"].includes(each));
    const events = [...inJson.flatMap((name) => Object.keys(target(name).client.events)), "Other"];
    const foreign = fc.uniqueArray(fc.constantFrom(...events), { minLength: 1, maxLength: 5 });
    const gaps = layout(["", " ", "\t", "\n", "\r\n  ", "/* c, { */", " // d }\n"]);
    fc.assert(
      fc.property(
        fc.constantFrom(...inJson),
        fc.dictionary(key, fc.jsonValue()),
        fc.option(foreign),
        gaps,
        (name, values, lists, style) => {
          const beep = { type: "command", command: "beep" };
          const isFlat = name === "cursor" || name === "copilot-cli";
          const item = isFlat ? beep : { matcher: "*", hooks: [beep] };
          const hooks = lists ? { hooks: Object.fromEntries(lists.map((event) => [event, [item]])) } : {};
          const before = written({ version: 1, a: null, ...values, ...hooks }, style);
          const text = added(name, before);
          expect(text).not.toBe(before);
          expect(added(name, text)).toBe(text);
          expect(removed(name, text)).toBe(before);
        },
      ),
    );
  });

  it("leave the comments around them", () => {
    const text = added("claude-code", '{\n  "a": 1\n}\n')
      .replace('"hooks": {', '// ours\n  "hooks": {')
      .replace(/\n\}\n$/, ', // behind\n  "b": 2 }\n');
    expect(removed("claude-code", text)).toBe('{\n  "a": 1,\n  // ours\n  // behind\n  "b": 2 }\n');
  });
});

describe("the files around hooks", () => {
  it("stay where somebody else has settings or hooks in them", () => {
    for (const others of ['{"a": 1}', '{"version": 1, "hooks": {"stop": [{"command": "beep"}]}}'])
      expect(removed("cursor", added("cursor", others))).toContain(others.slice(1, -1));
    expect(removed("cursor", added("cursor", '{"version": 1}'))).toBeUndefined();
  });

  it("get TOML tables with event and command only, in place of older ones of ours", () => {
    const isOwn = (command: unknown): boolean => String(command).startsWith("ours");
    const before =
      '[[hooks]]\nevent = "Stop"\ncommand = "ours 1"\n\n[[hooks]]\nevent = "Stop"\ncommand = "beep"\n';
    const { text, action } = withTomlHooks(before, [{ event: "Stop", command: "ours 2" }], isOwn);
    expect(action).toBe("updated");
    expect(text.trim()).toBe(
      `[[hooks]]\nevent = "Stop"\ncommand = "beep"\n\n${MARK}\n[[hooks]]\nevent = "Stop"\ncommand = "ours 2"`,
    );
  });
});

describe("the command of a hook", () => {
  it("is quoted for the shell that runs it", () => {
    const launch = {
      node: "C:\\Program Files\\node.exe",
      script: "D:\\hermes.js",
      flags: ["--home", "C:\\My home"],
    };
    expect(hookCommand(launch, "codex", "Stop", "windows")).toBe(
      '"C:/Program Files/node.exe" "D:/hermes.js" hook --home "C:/My home" codex Stop',
    );
    expect(hookCommand(launch, "codex", "Stop", "powershell")).toMatch(/^& "C:\/Program Files/);
    const odd = { node: "/usr/bin/node", script: "/it's $HOME/hermes.js", flags: [] };
    expect(hookCommand(odd, "codex", "Stop", "sh")).toBe(
      "/usr/bin/node '/it'\\''s $HOME/hermes.js' hook codex Stop",
    );
  });

  it("is recognised by its program, client and place of client and event", () => {
    for (const shell of ["sh", "windows", "powershell"] as const)
      expect(isOwnHook(hookCommand(LAUNCH, "codex", "Stop", shell), "codex")).toBe(true);
    const others = [
      "other hook codex Stop",
      "/opt/hermes.js hook cursor stop",
      "hermes mcp",
      "",
      undefined,
      3,
    ];
    for (const command of others) expect(isOwnHook(command, "codex")).toBe(false);
  });
});

describe("the difference of a dry run", () => {
  it("has one hunk for each place", () => {
    const old = ["a", "b", "c", "d", "e", "f", "g", "h"].join("\n");
    const next = ["a", "x", "c", "d", "e", "f", "g", "h", "i"].join("\n");
    expect(lineDiff("f", old, next)).toEqual([
      ...["--- f", "+++ f", " a", "-b", "+x", " c", " d"],
      ...["@@", " g", " h", "+i"],
    ]);
    expect(lineDiff("f", undefined, "a\n")).toEqual(["--- /dev/null", "+++ f", "+a"]);
    expect(lineDiff("f", "a\n", undefined)).toEqual(["--- f", "+++ /dev/null", "-a"]);
  });
});
