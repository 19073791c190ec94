// Single planners: settings, keys and skills; and the snapshot of a home.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { MemoryStore } from "@hermes-memory/core/internal/curated";
import { err } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { openSource, readGenerated } from "../../src/openclaw/discover.ts";
import { selectOptions } from "../../src/openclaw/options.ts";
import { planProviderKeys, planProviders } from "../../src/openclaw/plan-config.ts";
import type {
  Item,
  MigrationRequest,
  Operation,
  PlanContext,
  PlannedItem,
} from "../../src/openclaw/plan-context.ts";
import { planUserProfile } from "../../src/openclaw/plan-memory.ts";
import { redactorFor } from "../../src/openclaw/secrets.ts";
import { snapshotHome } from "../../src/openclaw/snapshot.ts";
import { openZip } from "../../src/transcripts/kit/zip.ts";

type Files = Readonly<Record<string, string>>;
type Databases = Readonly<Record<string, (database: DatabaseSync) => void>>;

async function contextFor(
  files: Files,
  {
    home: homeFiles = {},
    databases = {},
    ...changes
  }: Partial<Omit<MigrationRequest, "home">> & { readonly home?: Files; readonly databases?: Databases } = {},
): Promise<PlanContext> {
  const userHome = tempDirectory();
  const home = join(userHome, ".hermes");
  const root = join(userHome, ".openclaw");
  put(root, files);
  for (const [name, fill] of Object.entries(databases)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    using database = new DatabaseSync(join(root, name));
    fill(database);
  }
  put(home, homeFiles);
  const config = await loadConfig(home);
  const selection = selectOptions({});
  if (!config.ok || !selection.ok) throw new Error("unexpected");
  const source = await openSource(root, { env: {}, userHome });
  return {
    request: {
      sourceRoot: root,
      home,
      selection: selection.value,
      isOverwriting: false,
      withSecrets: true,
      skillConflict: "skip",
      isRebranding: true,
      parser: "compat",
      ...changes,
    },
    deps: {
      env: {},
      userHome,
      store: new MemoryStore({ dir: join(home, "memories") }),
      config: config.value,
      importSessions: async () => err("none"),
      now: new Date(),
    },
    source,
    redactor: redactorFor(source),
    output: join(home, "migration/openclaw/run"),
    archives: [],
    entries: { memory: [], user: [] },
    plannedSkills: new Map(),
    isGenerated: () => false,
  };
}

function put(folder: string, files: Files): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** A table with two columns of text, in a file with a write-ahead log as OpenClaw has it. */
const stored =
  (table: string, columns: string, rows: readonly (readonly [string, string])[]) =>
  (database: DatabaseSync): void => {
    database.exec(`PRAGMA journal_mode = WAL; CREATE TABLE ${table} (${columns})`);
    const insert = database.prepare(`INSERT INTO ${table} VALUES (?, ?)`);
    for (const row of rows) insert.run(...row);
  };

const config = (value: object): Files => ({ "openclaw.json": JSON.stringify(value) });
const variable = (name: string): string => `\${${name}}`;
const itemsOf = (planned: readonly PlannedItem[]): Item[] => planned.map(({ item }) => item);
function operation<Action extends Operation["action"]>(
  planned: readonly PlannedItem[],
  action: Action,
): Extract<Operation, { action: Action }> {
  for (const { operation: found } of planned)
    if (found?.action === action) return found as Extract<Operation, { action: Action }>;
  throw new Error(`no operation ${action}`);
}

describe("keys", () => {
  it("come from the first place that has one, in every form, and only for known names", async () => {
    const context = await contextFor({
      ...config({
        env: {
          GEMINI_API_KEY: "from-env-object",
          vars: { GEMINI_API_KEY: "from-vars", ZAI_API_KEY: "zai-from-vars" },
        },
        models: {
          providers: {
            first: { baseUrl: "https://api.openai.com/v1", apiKey: "one" },
            second: { baseUrl: "https://api.openai.com/v1", apiKey: "two" },
            claude: { api: "anthropic-messages", apiKey: variable("CLAUDE") },
            gone: { baseUrl: "https://openrouter.ai", apiKey: variable("MISSING") },
            vault: { baseUrl: "https://openrouter.ai", apiKey: { source: "file", id: "/run/key" } },
          },
        },
      }),
      ".env": "# c\nexport CLAUDE='from-dotenv'\nOPENAI_API_KEY=other\nSTRIPE_KEY=never\n",
      "agents/side/agent/auth-profiles.json": '{"openrouter:x": {"apiKey": "from-profile"}}',
    });
    const planned = planProviderKeys(context);
    expect(Object.fromEntries(operation(planned, "set-env").values)).toEqual({
      OPENAI_API_KEY: "two",
      ANTHROPIC_API_KEY: "from-dotenv",
      GEMINI_API_KEY: "from-env-object",
      ZAI_API_KEY: "zai-from-vars",
      OPENROUTER_API_KEY: "from-profile",
    });
    expect(
      itemsOf(planned)
        .slice(1)
        .map(({ reason }) => reason),
    ).toEqual([
      "The key of 'gone' is not imported: its variable MISSING is not set in OpenClaw's .env or config",
      "The key of 'vault' is not imported: its key comes from a source of kind 'file', which is not read",
    ]);
  });

  it("come from OpenClaw's databases, and a server without one in the config has its profile's", async () => {
    const minimax = { baseUrl: "https://api.minimax.io/anthropic", api: "anthropic-messages" };
    const context = await contextFor(
      config({
        models: { providers: { minimax, desk: { baseUrl: "http://127.0.0.1:1", apiKey: "desk-1" } } },
      }),
      {
        databases: {
          "state/openclaw.sqlite": stored("config_machine_state", "state_key, value_json", [
            ["auth.sharedStore", '{"location":"state-db"}'],
            [
              "authProfiles.store",
              JSON.stringify({
                version: 1,
                profiles: {
                  "google:default": { type: "api_key", provider: "google", key: "shared-google-1" },
                  "minimax:global": { type: "api_key", provider: "minimax", key: "shared-minimax-1" },
                  "anthropic:default": { provider: "anthropic", keyRef: { source: "env", id: "GONE" } },
                },
              }),
            ],
          ]),
          "agents/work/agent/openclaw-agent.sqlite": stored("auth_profile_store", "store_key, store_json", [
            [
              "primary",
              '{"profiles":{"google:work":{"key":"late-google-1"},"openrouter:x":{"key":"own-openrouter-1"}}}',
            ],
          ]),
        },
      },
    );
    const planned = planProviderKeys(context);
    expect(Object.fromEntries(operation(planned, "set-env").values)).toEqual({
      GEMINI_API_KEY: "shared-google-1",
      MINIMAX_API_KEY: "shared-minimax-1",
      OPENROUTER_API_KEY: "own-openrouter-1",
    });
    expect(itemsOf(planned)[1]?.reason).toContain("its variable GONE is not set");
    expect(operation(planProviders(context), "set-config").changes[0]?.value).toMatchObject([
      { name: "minimax", api_key: "shared-minimax-1" },
      { name: "desk", api_key: "desk-1" },
    ]);
    expect(context.redactor.text("own-openrouter-1 late-google-1")).not.toMatch(/-1/);
  });

  it("a database that is damaged is reported", async () => {
    const { source } = await contextFor({ "state/openclaw.sqlite": "no database" });
    expect(source.problems).toMatchObject([{ reason: expect.stringContaining("not a database") }]);
  });

  it("are compared one by one with .env", async () => {
    const files = { ".env": "OPENAI_API_KEY=a\nZAI_API_KEY=b\n" };
    const same = await contextFor(files, { home: { ".env": "OPENAI_API_KEY=a\nZAI_API_KEY=b\n" } });
    expect(itemsOf(planProviderKeys(same))).toMatchObject([
      { status: "skipped", reason: "All env values already present" },
    ]);
    const other = await contextFor(files, { home: { ".env": "OPENAI_API_KEY=x\nZAI_API_KEY=b\n" } });
    expect(itemsOf(planProviderKeys(other))).toMatchObject([
      { status: "conflict", details: { conflicting_keys: ["OPENAI_API_KEY"] } },
    ]);
    const off = await contextFor(files, { withSecrets: false });
    expect(itemsOf(planProviderKeys(off))).toMatchObject([{ status: "skipped", details: { keys_found: 2 } }]);
    expect(JSON.stringify(itemsOf(planProviderKeys(off)))).not.toContain('"a"');
  });
});

describe("what OpenClaw put into files", () => {
  // Of the shape of its templates, in words of our own.
  const explained = [
    "# About the user",
    "",
    "Write one wish per block.",
    "",
    "```md",
    "<!-- observed: YYYY-MM-DD | status: active -->",
    "- Prefer tea.",
    "```",
    "",
    "## Wishes",
    "",
    "Replace the sample below.",
    "",
    "<!-- observed: YYYY-MM-DD | status: active -->",
    "",
    "- Prefer ...",
    "",
    "## See also",
    "",
    "- [Some page](/concepts/page)",
    "",
  ].join("\n");

  it("is known by its hash, and where a part was filled in, by its form", async () => {
    const hash = createHash("sha256").update(explained).digest("hex");
    const at = async (text: string) => {
      const databases = {
        "state/openclaw.sqlite": stored("workspace_generated_bootstrap_hashes", "filename, sha256", [
          ["USER.md", hash],
        ]),
      };
      const context = await contextFor({ "workspace/USER.md": text }, { databases });
      return planUserProfile({ ...context, isGenerated: await readGenerated(context.source.root) });
    };
    expect(itemsOf(await at(explained))).toMatchObject([
      { status: "skipped", reason: "Source file not found" },
    ]);
    const filled = [
      explained.slice(0, explained.lastIndexOf("<!--")),
      "<!-- observed: 2026-10-02 | status: active -->\n\n- Always use metric units.\n",
      "<!-- observed: 2026-09-02 | status: superseded -->\n\n- Use miles.\n",
      "Ilse lives in Graz.\n",
      explained.slice(explained.indexOf("## See")),
    ].join("\n");
    const entries = operation(await at(filled), "add-entries").entries;
    expect(entries.filter((text) => /metric|Graz/.test(text))).toHaveLength(2);
    expect(entries.filter((text) => /miles|sample|Some page|Prefer/.test(text))).toEqual([]);
    const touched = await at(
      explained.replace("- Prefer ...", "- Prefer tea over coffee.\n- Answer in Dutch."),
    );
    expect(operation(touched, "add-entries").entries).toHaveLength(2);
    // Whatever else was written into it is at hand.
    expect(
      itemsOf(await at(explained.replace("## Wishes", "Ilse lives in Graz.\n\n## Wishes"))),
    ).toMatchObject([{ status: "skipped" }, { status: "archived" }]);
  });
});

describe("settings", () => {
  it("own model servers are added to those that are there", async () => {
    const providers = {
      groq: { baseUrl: "https://x" },
      desk: { baseUrl: "http://127.0.0.1:1/v1", api: "anthropic-messages" },
    };
    const home = { "config.yaml": "custom_providers:\n  - name: shed\n    base_url: http://127.0.0.1:2\n" };
    const context = await contextFor(config({ models: { providers } }), { home });
    expect(operation(planProviders(context), "set-config").changes[0]?.value).toEqual([
      { name: "shed", base_url: "http://127.0.0.1:2" },
      { name: "desk", base_url: "http://127.0.0.1:1/v1", api_key: "", api_mode: "anthropic_messages" },
    ]);
  });
});

describe("the snapshot", () => {
  it("holds a database that is open elsewhere, keeps five, and has nothing to do in an empty home", async () => {
    const home = tempDirectory();
    expect(await snapshotHome(home, new Date())).toMatchObject({ path: undefined });
    using database = new DatabaseSync(join(home, "state.db"));
    database.exec("PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    writeFileSync(join(home, "notes.lock"), "");
    put(home, {
      "skills/hermes-agent/SKILL.md": "kept",
      "hermes-agent/x": "left out",
      "a/node_modules/x": "left out",
    });
    for (let day = 1; day <= 7; day += 1) await snapshotHome(home, new Date(2026, 0, day, 8, 0, 0));
    const names = readdirSync(join(home, "backups"));
    expect(names).toEqual([3, 4, 5, 6, 7].map((day) => `pre-migration-2026-01-0${day}-080000.zip`));
    await using zip = await openZip(join(home, "backups", names[0] ?? ""));
    expect(zip.names).toEqual(["skills/hermes-agent/SKILL.md", "state.db"]);
    const copy = join(home, "copy.db");
    for await (const bytes of zip.read("state.db")) writeFileSync(copy, bytes, { flag: "a" });
    using copied = new DatabaseSync(copy, { readOnly: true });
    expect(copied.prepare("SELECT x FROM t").all()).toMatchObject([{ x: 1 }]);
  });
});
