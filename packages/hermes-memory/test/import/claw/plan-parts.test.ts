// Single planners: settings, keys and skills; and the snapshot of a home.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { MemoryStore } from "@hermes-memory/core/internal/curated";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { openSource } from "../../../src/import/claw/discover.ts";
import type { Item, Operation, PlannedItem } from "../../../src/import/claw/operation.ts";
import { selectOptions } from "../../../src/import/claw/options.ts";
import {
  planAgentDefaults,
  planModel,
  planProviderKeys,
  planProviders,
  planSessionConfig,
} from "../../../src/import/claw/plan-config.ts";
import type { MigrationRequest, PlanContext } from "../../../src/import/claw/plan-context.ts";
import { planSharedSkills, planWorkspaceSkills } from "../../../src/import/claw/plan-skills.ts";
import { redactorFor } from "../../../src/import/claw/secrets.ts";
import { snapshotHome } from "../../../src/import/claw/snapshot.ts";

type Files = Readonly<Record<string, string>>;

async function contextFor(
  files: Files,
  {
    home: homeFiles = {},
    ...changes
  }: Partial<Omit<MigrationRequest, "home">> & { readonly home?: Files } = {},
): Promise<PlanContext> {
  const userHome = tempDirectory();
  const home = join(userHome, ".hermes");
  const root = join(userHome, ".openclaw");
  put(root, files);
  put(home, homeFiles);
  const config = await loadConfig(home);
  const selection = selectOptions({});
  if (!config.ok || !selection.ok) throw new Error("unexpected");
  const source = openSource(root, { env: {}, userHome });
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
      importSessions: async () => ({ kind: "unavailable", reason: "none" }),
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

describe("settings", () => {
  it("the model's alias is resolved; a short form in config.yaml counts", async () => {
    const openclaw = config({ agents: { defaults: { model: "fast", models: { "x/y-1": "fast" } } } });
    const context = await contextFor(openclaw);
    expect(operation(planModel(context), "set-config").changes).toEqual([
      { key: "model.default", value: "x/y-1" },
    ]);
    const same = await contextFor(openclaw, { home: { "config.yaml": "model: x/y-1\n" } });
    expect(itemsOf(planModel(same))).toMatchObject([{ status: "skipped" }]);
    const other = await contextFor(openclaw, { home: { "config.yaml": "model:\n  default: z\n" } });
    expect(itemsOf(planModel(other))).toMatchObject([{ status: "conflict" }]);
  });

  it("agent defaults and session reset are mapped, odd values left out", async () => {
    const defaults = {
      timeoutSeconds: "5000",
      thinkingDefault: "odd",
      compaction: { mode: "off", model: "m" },
      humanDelay: null,
    };
    const context = await contextFor(
      config({ agents: { defaults }, session: { resetTriggers: ["daily", "idle"] } }),
    );
    expect(operation(planAgentDefaults(context), "set-config").changes).toEqual([
      { key: "agent.max_turns", value: 200 },
      { key: "compression.enabled", value: false },
      { key: "auxiliary.compression.model", value: "m" },
    ]);
    expect(operation(planSessionConfig(context), "set-config").changes).toEqual([
      { key: "session_reset.mode", value: "both" },
    ]);
  });

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

describe("skills of one name in two folders", () => {
  const skill = (text: string): string => `---\nname: s\ndescription: d\n---\n${text}\n`;

  it("the same skill is copied once, another one conflicts or gets another name", async () => {
    const files = { "workspace/skills/s/SKILL.md": skill("one"), "skills/s/SKILL.md": skill("one") };
    const same = await contextFor(files);
    expect(itemsOf(planWorkspaceSkills(same)).map(({ kind, status }) => [kind, status])).toEqual([
      ["skill-category", "migrated"],
      ["skill", "migrated"],
    ]);
    expect(itemsOf(planSharedSkills(same))).toMatchObject([
      { status: "skipped", reason: "Target already matches source" },
    ]);
    const differing = { ...files, "skills/s/SKILL.md": skill("two") };
    const other = await contextFor(differing);
    planWorkspaceSkills(other);
    expect(itemsOf(planSharedSkills(other))).toMatchObject([{ status: "conflict" }]);
    for (const skillConflict of ["rename", "overwrite"] as const) {
      const renamed = await contextFor(differing, { skillConflict });
      planWorkspaceSkills(renamed);
      expect(itemsOf(planSharedSkills(renamed))[0]?.destination).toMatch(/s-imported$/);
    }
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
    const bytes = readFileSync(join(home, "backups", names[0] ?? "")).toString("latin1");
    expect(bytes).toContain("state.db");
    expect(bytes).toContain("skills/hermes-agent/SKILL.md");
    expect(bytes).not.toMatch(/state\.db-wal|notes\.lock|node_modules/);
  });
});
