// The wiring of every command: the lines `$ hermes ...` of each file in `commands/` run one after the other in one home, and what
// `--json` prints and the exit code are stored below each. To add a row, write its line and run this file with `vitest -u`; then
// read the difference. `{key}` in a line is the newest value of that key in an earlier output; after ` < ` comes standard input.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { chance } from "../../../core/test/fakes/credentials.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { makeSource } from "../../../import/test/openclaw/source-folder.ts";
import { GROUPS } from "../../src/cli/program.ts";
import { writeVault } from "./memory-provider-plugins.ts";
import { runHere } from "./run.ts";
import { CHINESE, CRANE, homeWithSessions, PLAIN } from "./sessions-home.ts";

type Start = {
  /** The home; by default an empty one. */
  readonly home?: () => string | Promise<string>;
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: (home: string) => Readonly<Record<string, string>>;
};

const FOLDER = join(import.meta.dirname, "commands");
const CONFIG = "config.yaml";
const SKILL = "---\nname: tea\ndescription: About tea\n---\n\nBrew it.\n";
const CHAT = [
  '{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-01-05T09:00:00Z","message":{"role":"user","content":"How do we deploy?"}}',
  '{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s1","timestamp":"2026-01-05T09:00:01Z","message":{"role":"assistant","content":[{"type":"text","text":"With make ship."}]}}',
];

/** By file, where the home is not empty. */
const STARTS: Readonly<Record<string, Start>> = {
  memory: {
    files: {
      "notes.md": "# Harbour\n\n- The crane is blue\n- The quay is 300 m long\n",
      "secret.txt": `The key is ${["sk", "-ant-", "api03-"].join("")}${chance(80)}`,
    },
  },
  "memory-archive": { files: { [CONFIG]: "memory:\n  memory_char_limit: 40\n  overflow: archive\n" } },
  "memory-approval": { files: { [CONFIG]: "memory:\n  write_approval: true\n" } },
  "memory-setup": {
    home: () => {
      const home = tempDirectory();
      writeVault(home);
      return home;
    },
  },
  skills: { files: { "skills/ops/tea/SKILL.md": SKILL, "skills/ops/tea/references/pots.md": "alpha\n" } },
  curator: {
    files: {
      "memories/MEMORY.md": "The project uses pnpm\n§\nDeploys on Monday\n§\ndeploys on Monday.\n",
      "skills/tea/SKILL.md": SKILL,
      "skills/.usage.json": '{"tea":{"created_by":"agent"}}',
    },
  },
  sessions: { home: homeWithSessions, files: { "transcripts/s1.jsonl": `${CHAT.join("\n")}\n` } },
  export: { home: homeWithSessions },
  claw: {
    home: () => join(dirname(makeSource(tempDirectory())), "hermes"),
    env: (home) => ({ HOME: dirname(home) }),
  },
  model: { files: { [CONFIG]: "# mine\nmemory:\n  provider: ''\n" } },
  context: {
    files: { [CONFIG]: "model:\n  provider: openrouter\n  default: anthropic/claude-sonnet-4\n" },
    env: (home) => ({ TERMINAL_CWD: join(home, "..") }), // no context files of this repository
  },
  config: {
    files: {
      [CONFIG]: "# mine\nmemory:\n  provider: holographic # keep\nmodel:\n  api_key: key-5d1f0c77b2a94e\n",
    },
  },
  "config-broken": { files: { [CONFIG]: "memory:\n  memory_char_limit: many\n" } },
  service: { env: (home) => ({ XDG_CONFIG_HOME: join(home, "config") }) },
  mcp: { env: (home) => ({ USERPROFILE: home, CLAUDE_CONFIG_DIR: "", CODEX_HOME: "" }) },
};

const rowsOf = (file: string): string[] =>
  [...readFileSync(join(FOLDER, file), "utf8").matchAll(/^\$ hermes (.*)$/gm)].map(([, row = ""]) => row);

describe("the commands with --json", () => {
  it.skipIf(process.platform !== "linux").each(readdirSync(FOLDER))("%s", async (file) => {
    const { home: make = tempDirectory, files = {}, env }: Start = STARTS[file.replace(".txt", "")] ?? {};
    const home = await make();
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const variables = { HOME: home, TERMINAL_CWD: home, ...env?.(home) };
    const stable = stabilizer(home, variables.HOME);
    const seen: unknown[] = [{ home, secret: files["secret.txt"] }];
    const stored: string[] = [];
    for (const row of rowsOf(file)) {
      const [line = "", input] = row.split(" < ").map((part) => filled(part, seen));
      const words = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'(.*)'$/s, "$1"));
      const { stdout, code } = await runHere([...words, "--json"], { home, input, env: variables });
      seen.unshift(parsed(stdout));
      const shown = show(parsed(stable(stdout)));
      stored.push(`$ hermes ${row}\n${code === 0 ? "" : `exit ${code}\n`}${shown}\n`);
    }
    await expect(stored.join("\n")).toMatchFileSnapshot(join(FOLDER, file));
  });

  it("are all stored", async () => {
    const rows = readdirSync(FOLDER).flatMap(rowsOf);
    const specs = (await Promise.all(GROUPS.map(({ load }) => load()))).flat();
    const missing = specs.filter(
      ({ name, isHidden }) => !isHidden && !rows.some((row) => `${row} `.startsWith(`${name} `)),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});

function filled(text: string, seen: readonly unknown[]): string {
  return text.replace(
    /\{(\w+)\}/g,
    (_, key: string) => seen.map((each) => valueIn(each, key)).find(Boolean) ?? key,
  );
}

function valueIn(value: unknown, key: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const own = (value as Record<string, unknown>)[key];
  if (typeof own === "string") return own;
  return Object.values(value)
    .map((each) => valueIn(each, key))
    .find(Boolean);
}

/** JSON with as many values in a line as fit. Long texts and lists are cut. */
function show(value: unknown, indent = ""): string {
  if (typeof value === "string" && value.length > 240) return show(`${value.slice(0, 200)}...`, indent);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "nothing";
  const isList = Array.isArray(value);
  if (indent.length >= 10) return isList ? "[...]" : "{...}";
  const [open, close] = isList ? "[]" : "{}";
  const inner = `${indent}  `;
  const lines: string[] = [];
  for (const [key, each] of Object.entries(isList ? value.slice(0, 4) : value)) {
    const text = `${isList ? "" : `${key}: `}${show(each, inner)}`;
    const joined = lines.length === 0 ? text : `${lines.at(-1)}, ${text}`;
    const fits = lines.length > 0 && inner.length + joined.length <= 150 && !joined.includes("\n");
    lines.splice(fits ? -1 : lines.length, fits ? 1 : 0, fits ? joined : text);
  }
  if (isList && value.length > 4) lines.push(`... ${value.length - 4} more`);
  if (lines.length < 2 && !lines[0]?.includes("\n")) return `${open}${lines[0] ?? ""}${close}`;
  return `${open}\n${lines.map((line) => `${inner}${line},\n`).join("")}${indent}${close}`;
}

/** Takes whatever differs from run to run out of JSON: paths, times, ids, sizes, versions. */
function stabilizer(home: string, userHome: string): (text: string) => string {
  const ids: string[] = [];
  const numbered = (id: string): string => {
    if (!ids.includes(id)) ids.push(id);
    return `<id ${ids.indexOf(id) + 1}>`;
  };
  return (text) =>
    text
      .replaceAll(home, "<home>")
      .replaceAll(userHome, "<user>")
      .replaceAll(process.execPath, "<node>")
      .replaceAll(join(import.meta.dirname, "../../../.."), "<repository>")
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?/g, "<time>")
      .replace(/\b\d{8}[T_-]\d{6}(_[0-9a-f]{6}|Z)?(-\d)?\b/g, (id) =>
        [CRANE, CHINESE, PLAIN].includes(id) ? id : "<stamp>",
      )
      .replace(/\bhm_[\w-]{43}/g, "<token>")
      .replace(
        /(?<![\d.])\d+\.\d+\.\d+(?![\d.])|\b[\d.]+(?= (GB free|ms in all))|\b[\d,]+(?= characters)/g,
        "<n>",
      )
      .replace(
        /"((?:\w*(?:_at|_ms|_started|bytes\w*|seconds|size|age|time)|ms|pid|timestamp|score|last_active|chars|tokens))": -?\d[\d.]*/g,
        '"$1": "<n>"',
      )
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b|\b[0-9a-f]{8,64}\b/g, numbered);
}

const parsed = (text: string): unknown => (/^[{[]/.test(text) ? JSON.parse(text) : text);
