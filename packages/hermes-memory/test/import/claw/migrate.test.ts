// `hermes claw migrate` on a fixture home with every kind of item.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { readVectors } from "../../../../core/test/golden/vectors.ts";
import type { Item, Report } from "../../../../import/src/internal.ts";
import { openZip } from "../../../../import/src/transcripts/kit/zip.ts";
import { makeSource, SECRETS, treeOf } from "../../../../import/test/openclaw/source-folder.ts";
import { type PlayedOptions, runHere } from "../../cli/run.ts";

type Place = { readonly userHome: string; readonly home: string; readonly source: string };

function place(): Place {
  const userHome = tempDirectory();
  return { userHome, home: join(userHome, ".hermes"), source: makeSource(userHome) };
}

/** A home folder with an OpenClaw folder that holds only these files. */
function placeWith(files: Readonly<Record<string, string>>): Place {
  const userHome = tempDirectory();
  const source = join(userHome, ".openclaw");
  mkdirSync(source);
  for (const [name, text] of Object.entries(files)) put(join(source, name), text);
  return { userHome, home: join(userHome, ".hermes"), source };
}

function put(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}

function run(at: Place, words: readonly string[], options: Partial<PlayedOptions> = {}) {
  return runHere(["claw", "migrate", ...words], {
    home: at.home,
    ...options,
    env: { HOME: at.userHome, ...options.env },
  });
}

async function report(at: Place, words: readonly string[], code = 0): Promise<Report> {
  const done = await run(at, [...words, "--json"]);
  expect(done, done.stderr).toMatchObject({ code });
  return JSON.parse(done.stdout) as Report;
}

const read = (at: Place, name: string): string => readFileSync(join(at.home, name), "utf8");
const ofKind = ({ items }: Report, kind: string): Item => {
  const item = items.find((each) => each.kind === kind);
  if (item === undefined) throw new Error(`no item of kind ${kind}`);
  return item;
};

describe("a whole OpenClaw folder", () => {
  it("a dry run writes nothing at all", async () => {
    const at = place();
    const before = treeOf(at.userHome);
    const { code, stdout, stderr } = await run(at, ["--dry-run", "--migrate-secrets"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Would migrate\n");
    expect(stderr).toContain("Dry run: nothing was written.");
    expect(treeOf(at.userHome)).toEqual(before);
    mkdirSync(join(at.home, "memories"), { recursive: true });
    writeFileSync(join(at.home, "memories/MEMORY.md"), "old one");
    const existing = treeOf(at.userHome);
    await run(at, ["--dry-run"]);
    await run(at, []); // nobody to ask
    expect(treeOf(at.userHome)).toEqual(existing);
  });

  it("a dry run over a home with conversations leaves no file beside the database", async () => {
    const at = place();
    await run(at, ["--yes", "--no-backup"]);
    for (const name of ["-wal", "-shm"]) rmSync(join(at.home, `state.db${name}`), { force: true });
    const before = treeOf(at.home);
    expect(ofKind(await report(at, ["--dry-run"]), "sessions").status).toBe("skipped");
    expect((await report(at, ["--yes"])).summary).toMatchObject({ migrated: 0, archived: 0 });
    expect(treeOf(at.home)).toEqual(before);
  });

  it("applying does exactly what the preview says, a second run nothing, and the source stays as it is", async () => {
    const at = place();
    const target = join(at.userHome, "project");
    const words = ["--workspace-target", target, "--migrate-secrets"];
    const source = treeOf(at.source);
    const preview = await report(at, [...words, "--dry-run"]);
    const done = await report(at, [...words, "--yes"]);
    const essence = (items: readonly Item[]) =>
      items.map(({ kind, source: from, destination, status, details }) => {
        const { backup: _backup, ...rest } = details;
        const stable = (text: unknown) =>
          JSON.stringify(text).replace(/openclaw\/\d{8}T\d{6}(-\d+)?/g, "openclaw/RUN");
        return { kind, from, status, destination: stable(destination), details: stable(rest) };
      });
    expect(essence(done.items)).toEqual(essence(preview.items));
    expect(done.summary).toMatchObject({ migrated: 17, conflict: 0, error: 0 });
    expect(treeOf(at.source)).toEqual(source);

    expect(read(at, "memories/MEMORY.md").split("\n§\n")).toEqual([
      "Work: Hermes posts the release notes on Fridays",
      "Work: The staging server is called heron",
      "Work > Repository: pnpm only, never npm",
      "Work > Repository: Tests run with `openclaw test --fast`",
      "People: Mira reviews the database changes. She is in Lisbon.",
      "Fired the second kiln",
      "2026-03-02: Ordered clay from Gmunden",
      "The kiln inspection is every May",
    ]);
    expect(read(at, "memories/USER.md")).toBe("Ana, product designer, Vienna\n§\nPrefers short answers");
    expect(read(at, "SOUL.md")).toContain("You are the Hermes assistant");
    expect(readFileSync(join(target, "AGENTS.md"), "utf8")).toContain("hermes never pushes to main");
    expect(readdirSync(join(at.home, "skills/openclaw-imports")).sort()).toEqual([
      "DESCRIPTION.md",
      "lint-fix",
      "release-notes",
      "standup",
      "tea-timer",
    ]);
    expect(read(at, "config.yaml")).toContain("default: anthropic/claude-opus-4-5");
    expect(read(at, "config.yaml")).toContain("max_turns: 60");

    const after = treeOf(at.userHome);
    const again = await report(at, [...words, "--yes"]);
    expect(again.summary).toMatchObject({ migrated: 0, archived: 0, conflict: 0, error: 0 });
    // SQLite makes these two beside a database that is read; they contain nothing.
    const { ".hermes/state.db-shm": _shm, ".hermes/state.db-wal": _wal, ...now } = treeOf(at.userHome);
    expect(now).toEqual(after);
  });

  it("archives the rest, quarantines hostile texts, and shows no secret anywhere but in .env and custom_providers", async () => {
    const at = place();
    const done = await run(at, ["--yes", "--migrate-secrets"]);
    const [folder = ""] = readdirSync(join(at.home, "migration/openclaw")).filter(
      (name) => !name.startsWith("."),
    );
    const archive = join(at.home, "migration/openclaw", folder, "archive");
    const settings = JSON.parse(readFileSync(join(archive, "openclaw.json"), "utf8"));
    const wanted = ["bindings", "browser", "channels", "cron", "gateway", "hooks", "logging", "mcp", "tools"];
    expect(Object.keys(settings)).toEqual(expect.arrayContaining(wanted));
    for (const name of ["IDENTITY", "TOOLS", "HEARTBEAT", "BOOTSTRAP", "BOOT", "DREAMS", "MEMORY"])
      expect(existsSync(join(archive, `workspace/${name}.md`)), name).toBe(true);
    for (const name of [
      "exec-approvals.json",
      "cron/jobs.json",
      "extensions/weather/index.js",
      "workspace/hooks/greet.js",
      "workspace/tts/hello.ogg",
      "workspace/.learnings/build.md",
      "workspace/memory/2026-03-01.md",
      "skills-for-review/skills/bad-skill/SKILL.md",
    ])
      expect(existsSync(join(archive, name)), name).toBe(true);
    expect(existsSync(join(archive, "credentials"))).toBe(false);
    expect(readFileSync(join(archive, "entries-for-review/memory.md"), "utf8")).toContain(
      "Ignore all previous",
    );
    expect(read(at, "memories/MEMORY.md")).not.toContain("Ignore all previous");
    expect(done.stdout).toContain("refused entries 2");

    expect(statSync(join(at.home, ".env")).mode & 0o777).toBe(0o600);
    const names = read(at, ".env")
      .split("\n")
      .map((line) => line.split("=")[0])
      .filter(Boolean)
      .sort();
    expect(names).toEqual([
      "ANTHROPIC_API_KEY",
      "DEEPSEEK_API_KEY",
      "ELEVENLABS_API_KEY",
      "OPENAI_API_KEY",
      "OPENROUTER_API_KEY",
      "TELEGRAM_BOT_TOKEN",
    ]);
    const leaks = Object.entries(SECRETS).filter(([, secret]) =>
      (done.stdout + done.stderr).includes(secret),
    );
    expect(leaks).toEqual([]);
    for (const name of Object.keys(treeOf(at.home)).filter(
      (each) => !each.endsWith("/") && each !== ".env",
    )) {
      const text = read(at, name);
      const isServers = (key: string): boolean => key === "STUDIO" && name === "config.yaml"; // custom_providers
      for (const [key, secret] of Object.entries(SECRETS))
        expect(text.includes(secret), `${key} in ${name}`).toBe(isServers(key));
    }
    expect(statSync(join(at.home, "config.yaml")).mode & 0o777).toBe(0o600);
  });

  it("no credential of a setting or of a JSON file gets into the archive, whatever its name", async () => {
    const secrets = {
      personal: "git-access-4471-elm",
      address: "db-login-5512-oak",
      argument: "argument-6623-fir",
      joined: "joined-7734-ash",
      query: "query-8845-yew",
      header: "header-9956-box",
      phrase: "phrase-1067-bay",
      aes: "cipher-2178-fig",
      node: "tailnet-3289-hop",
      nick: "nick-4390-sage",
      job: "job-5401-rue",
      list: "list-6512-mint",
    };
    const config = {
      mcp: {
        servers: {
          forge: {
            command: "npx",
            args: ["forge", "--token", secrets.argument, `--api-key=${secrets.joined}`, "--mode", "fast"],
            url: `https://forge.example/mcp?key=${secrets.query}&page=2`,
            env: {
              FORGE_PAT: secrets.personal,
              DATABASE: secrets.address,
              CACHE: "/srv/cache",
              PORT: "8080",
            },
            headers: { "x-team": secrets.header },
          },
        },
      },
      gateway: { tailscale: { authKey: secrets.node } },
      channels: {
        matrix: { passphrase: secrets.phrase },
        feishu: { encryptKey: secrets.aes },
        irc: { nickserv: { pass: secrets.nick } },
      },
      hooks: { compat: "mode-1234-old" },
    };
    const at = placeWith({
      "openclaw.json": JSON.stringify(config),
      "cron/jobs.json": JSON.stringify({ jobs: [{ id: 1, webhookSecret: secrets.job }] }),
      "cron/plain.json": '{"kept" :  1}',
      "extensions/mail/config.json": JSON.stringify({ accounts: [{ passwords: [secrets.list] }] }),
      "workspace/TOOLS.md": `The nick is ${secrets.nick}, the forge takes ${secrets.personal}.\n`,
    });
    const done = await report(at, ["--yes", "--migrate-secrets"]);
    const archive = join(done.output_dir ?? "", "archive");
    const texts = Object.keys(treeOf(archive))
      .filter((name) => !name.endsWith("/"))
      .map((name) => readFileSync(join(archive, name), "utf8"))
      .concat(JSON.stringify(done));
    for (const [name, secret] of Object.entries(secrets))
      expect(
        texts.filter((text) => text.includes(secret)),
        name,
      ).toEqual([]);
    const settings = JSON.parse(readFileSync(join(archive, "openclaw.json"), "utf8"));
    expect(settings.mcp.servers).toEqual({
      forge: {
        command: "npx",
        args: ["forge", "--token", "[redacted]", "--api-key=[redacted]", "--mode", "fast"],
        url: "https://forge.example/mcp?key=***&page=2",
        env: { FORGE_PAT: "[redacted]", DATABASE: "[redacted]", CACHE: "[redacted]", PORT: "[redacted]" },
        headers: { "x-team": "[redacted]" },
      },
    });
    expect(settings.hooks).toEqual(config.hooks);
    expect(readFileSync(join(archive, "cron/plain.json"), "utf8")).toBe('{"kept" :  1}');
  });

  it("an imported entry can be undone, and does not come back", async () => {
    const at = place();
    await run(at, ["--yes", "--no-backup"]);
    const env = { HOME: at.userHome };
    const history = await runHere(["memory", "history", "--json", "--limit", "50"], { home: at.home, env });
    const lines = JSON.parse(history.stdout) as {
      id: string;
      origin: string;
      changes: { after: string }[];
    }[];
    expect(new Set(lines.map(({ origin }) => origin))).toEqual(new Set(["migration"]));
    const heron = lines.find(({ changes }) => changes[0]?.after.includes("heron"));
    const undone = await runHere(["memory", "undo", heron?.id ?? ""], { home: at.home, env });
    expect(undone.code).toBe(0);
    expect(read(at, "memories/MEMORY.md")).not.toContain("heron");
    const again = await report(at, ["--yes"]);
    expect(ofKind(again, "memory")).toMatchObject({
      status: "skipped",
      details: { removed_since_last_import: 1 },
    });
    expect(read(at, "memories/MEMORY.md")).not.toContain("heron");
  });

  it("writes a report with all fields, in JSON and Markdown, and a snapshot of what was there", async () => {
    const at = place();
    put(join(at.home, "memories/MEMORY.md"), "old one");
    const done = await report(at, ["--yes", "--preset", "user-data", "--exclude", "skills, Sessions"]);
    expect(done).toMatchObject({
      mode: "execute",
      state: "finished",
      preset: "user-data",
      migrate_secrets: false,
    });
    const folder = done.output_dir ?? "";
    expect(JSON.parse(readFileSync(join(folder, "report.json"), "utf8"))).toEqual(done);
    expect(ofKind(done, "skills")).toMatchObject({
      status: "skipped",
      reason: "Not selected for this run",
      details: { option_label: "Workspace skills" },
    });
    expect(ofKind(done, "provider-keys").reason).toBe("Not selected for this run");
    const summary = readFileSync(join(folder, "summary.md"), "utf8");
    const headings = summary.split("\n").filter((line) => line.startsWith("#"));
    expect(headings).toEqual([
      "# Migration from OpenClaw",
      "## Summary",
      "## What Was Not Fully Brought Over",
      "## Next Steps",
    ]);
    expect(readFileSync(join(folder, "MIGRATION_NOTES.md"), "utf8")).toContain("Cron jobs were archived");
    const backup = String(ofKind(done, "memory").details.backup);
    expect(readFileSync(backup, "utf8")).toBe("old one");
    await using zip = await openZip(done.snapshot ?? "");
    expect(zip.names).toEqual(["memories/MEMORY.md"]);
    expect(await text(zip.read("memories/MEMORY.md"))).toBe("old one");
  });
});

describe("conflicts and questions", () => {
  it("skips conflicts and says so; --overwrite replaces with a backup; --on-conflict refuse does nothing", async () => {
    const at = place();
    put(join(at.home, "SOUL.md"), "My own identity.\n");
    put(join(at.home, "config.yaml"), "# mine\nmodel: gpt-5.2 # chosen\n");
    put(join(at.home, ".env"), "# keys\nOPENROUTER_API_KEY=mine\n");
    put(join(at.home, "skills/openclaw-imports/standup/SKILL.md"), "---\nname: standup\n---\nother\n");
    const before = treeOf(at.userHome);
    const refused = await run(at, ["--yes", "--on-conflict", "refuse", "--migrate-secrets"]);
    expect(refused).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("Refused: 4 items would conflict"), // one key of provider-keys too
    });
    expect(treeOf(at.userHome)).toEqual(before);
    const partly = ["--yes", "--migrate-secrets", "--include", "provider-keys"];
    expect((await run(at, [...partly, "--on-conflict", "refuse"])).code).toBe(3);
    expect(treeOf(at.userHome)).toEqual(before);
    expect((await report(at, [...partly, "--dry-run"])).warnings[0]).toContain("--overwrite");

    const done = await report(at, ["--yes", "--migrate-secrets"]);
    expect(done.items.filter(({ status }) => status === "conflict").map(({ kind }) => kind)).toEqual([
      "soul",
      "model-config",
      "shared-skills",
    ]);
    expect(ofKind(done, "provider-keys").details).toMatchObject({ conflicting_keys: ["OPENROUTER_API_KEY"] });
    expect(done.warnings[0]).toContain("--overwrite");
    expect(read(at, "SOUL.md")).toBe("My own identity.\n");
    expect(read(at, "config.yaml")).toContain("# mine\nmodel: gpt-5.2 # chosen\n");
    expect(read(at, ".env")).toContain("# keys\nOPENROUTER_API_KEY=mine\n");

    const replaced = await report(at, [
      "--yes",
      "--migrate-secrets",
      "--overwrite",
      "--skill-conflict",
      "overwrite",
    ]);
    expect(replaced.summary).toMatchObject({ conflict: 0, error: 0 });
    expect(read(at, "SOUL.md")).toContain("Hermes assistant");
    expect(readFileSync(String(ofKind(replaced, "soul").details.backup), "utf8")).toBe("My own identity.\n");
    expect(read(at, "skills/openclaw-imports/standup/SKILL.md")).toContain("Prepare the standup");
    expect(read(at, ".env")).toContain(SECRETS.OPENROUTER);
    expect((await report(at, ["--yes", "--migrate-secrets"])).summary).toMatchObject({
      migrated: 0,
      archived: 0,
    });
  });

  it("names the flag that settles a conflict", async () => {
    const at = place();
    put(join(at.home, "skills/openclaw-imports/standup/SKILL.md"), "---\nname: standup\n---\nother\n");
    const left = await report(at, ["--yes", "--include", "shared-skills", "--skill-conflict", "skip"]);
    expect(left.next_steps.at(-1)).toBe(
      "Run the command again with --skill-conflict to settle what conflicts.",
    );
    const again = await report(at, ["--yes", "--include", "shared-skills"], 3);
    expect(again.next_steps).toEqual([
      "Run the command again with --skill-conflict to settle what conflicts.",
    ]);
  });

  it("gives a skill another name with --skill-conflict rename, once", async () => {
    const at = place();
    put(join(at.home, "skills/openclaw-imports/standup/SKILL.md"), "---\nname: standup\n---\nother\n");
    const words = ["--yes", "--include", "shared-skills", "--skill-conflict", "rename"];
    expect(ofKind(await report(at, words), "shared-skills")).toMatchObject({
      status: "migrated",
      destination: join(at.home, "skills/openclaw-imports/standup-imported"),
      details: { renamed_from: "standup" },
    });
    expect((await report(at, words)).summary.migrated).toBe(0);
  });

  it("two skills of one name do not take turns with --skill-conflict overwrite", async () => {
    const skill = (text: string): string => `---\nname: same\ndescription: x\n---\n${text}\n`;
    const at = placeWith({
      "workspace/skills/same/SKILL.md": skill("of the workspace"),
      "skills/same/SKILL.md": skill("shared"),
    });
    put(join(at.home, "skills/openclaw-imports/same/SKILL.md"), skill("older"));
    const words = ["--yes", "--skill-conflict", "overwrite"];
    expect((await report(at, words)).summary).toMatchObject({ migrated: 3, conflict: 0 });
    expect((await report(at, words)).summary).toMatchObject({ migrated: 0, conflict: 0 });
    expect(read(at, "skills/openclaw-imports/same/SKILL.md")).toContain("of the workspace");
    expect(read(at, "skills/openclaw-imports/same-imported/SKILL.md")).toContain("shared");
  });

  it("treats the seeded SOUL.md as absent", async () => {
    const at = place();
    const { DEFAULT_IDENTITY } = await import("@hermes-memory/core/internal/prompt");
    put(join(at.home, "SOUL.md"), `${DEFAULT_IDENTITY}\n`);
    expect(ofKind(await report(at, ["--dry-run"]), "soul").status).toBe("migrated");
  });

  it("asks, and writes nothing without a yes", async () => {
    const at = place();
    const before = treeOf(at.userHome);
    const declined = await run(at, [], { answers: [false] });
    expect(declined).toMatchObject({
      code: 3,
      stdout: "Cancelled. Nothing was written.\n",
      questions: ["Migrate this?"],
    });
    const alone = await run(at, []);
    expect(alone).toMatchObject({ code: 3, stderr: expect.stringContaining("Pass --yes") });
    expect(treeOf(at.userHome)).toEqual(before);
    expect(await run(at, [], { answers: [true] })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Migrated\n"),
    });
  });

  it("names wrong arguments and a missing source", async () => {
    const at = place();
    for (const words of [
      ["--include", "memory,nonsense"],
      ["--exclude", "NONSENSE"],
      ["--preset", "most"],
      ["--agent", "nobody"],
    ])
      expect(await run(at, words), words.join(" ")).toMatchObject({ code: 2 });
    expect((await run(at, ["--include", "nonsense"])).stderr).toContain("user-profile");
    rmSync(at.source, { recursive: true });
    writeFileSync(at.source, "a file");
    expect(await run(at, [])).toMatchObject({ code: 1, stderr: expect.stringContaining(".openclaw") });
    expect((await run(at, ["--exclude", "all", "--source", at.userHome, "--json"])).code).toBe(0);
    const { stdout } = await runHere(["claw"], { home: at.home });
    expect(stdout).toMatch(/migrate[\s\S]*cleanup/);
  });
});

describe("finding things", () => {
  it("looks for the folder: --source with ~, variables, older names", async () => {
    const at = place();
    const older = join(at.userHome, ".moldbot");
    renameSync(at.source, older);
    expect((await report(at, ["--dry-run"])).source_root).toBe(older);
    renameSync(older, join(at.userHome, "elsewhere"));
    expect((await report(at, ["--dry-run", "--source", "~/elsewhere"])).source_root).toBe(
      join(at.userHome, "elsewhere"),
    );
    const env = { OPENCLAW_STATE_DIR: "~/elsewhere" };
    const { stdout } = await run(at, ["--dry-run", "--json"], { env });
    expect((JSON.parse(stdout) as Report).summary.migrated).toBe(14);
  });

  it("takes each file from the first workspace that has it, and names the others", async () => {
    const outside = tempDirectory();
    put(join(outside, "USER.md"), "- from outside\n");
    put(join(outside, "MEMORY.md"), "- outside\n");
    const at = placeWith({
      "openclaw.json": JSON.stringify({
        agents: { defaults: { workspace: outside }, list: [{ id: "zoe" }] },
      }),
      "workspace.default/MEMORY.md": "- default\n",
      "workspace-main/MEMORY.md": "- main\n",
      "workspace-zoe/SOUL.md": "Zoe.\n",
      "workspace-amy/SOUL.md": "Amy.\n",
      "workspace-zoe/MEMORY.md": "- zoe\n",
    });
    const found = await report(at, ["--dry-run"]);
    expect(ofKind(found, "memory").source).toBe(join(at.source, "workspace-main/MEMORY.md"));
    expect(ofKind(found, "soul").source).toBe(join(at.source, "workspace-zoe/SOUL.md"));
    expect(ofKind(found, "user-profile").source).toBe(join(outside, "USER.md"));
    const others = found.items.filter(
      ({ kind, reason }) => kind === "memory" && reason.startsWith("Another workspace"),
    );
    expect(others.map(({ source }) => source)).toEqual([
      join(at.source, "workspace-zoe/MEMORY.md"),
      join(at.source, "workspace.default/MEMORY.md"),
      join(outside, "MEMORY.md"),
    ]);
    expect(ofKind(await report(at, ["--dry-run", "--agent", "zoe"]), "memory").source).toContain(
      "workspace-zoe",
    );
  });

  it("reports a config that is not JSON5, and goes on with the rest", async () => {
    const at = placeWith({
      "openclaw.json": "{ agents: oops",
      "workspace/MEMORY.md": "- a fact\n",
      "workspace/USER.md": "",
    });
    writeFileSync(join(at.source, "workspace/USER.md"), Buffer.from([0x2d, 0x20, 0xff, 0xfe]));
    const done = await report(at, ["--yes"], 1);
    expect(ofKind(done, "source")).toMatchObject({
      status: "error",
      reason: "It is not JSON5: invalid character 'o' at 1:11",
    });
    expect(ofKind(done, "user-profile")).toMatchObject({
      status: "error",
      reason: "It is not valid UTF-8 text",
    });
    expect(read(at, "memories/MEMORY.md")).toBe("a fact");
  });

  it("reads comments and bare keys in a config, and refuses one with thousands of levels", async () => {
    const deep = (levels: number) => `{ // c\n a: ${"[".repeat(levels)}${"]".repeat(levels)},}`;
    const done = (levels: number, code: number) =>
      report(placeWith({ "openclaw.json": deep(levels), "workspace/USER.md": "" }), ["--dry-run"], code);
    expect((await done(9, 0)).items.map(({ kind }) => kind)).not.toContain("source");
    expect(ofKind(await done(9000, 1), "source").reason).toBe("It has too many levels");
  });

  it("survives settings of wrong types", async () => {
    const config = {
      agents: null,
      models: [],
      channels: "x",
      session: 3,
      messages: { tts: [] },
      memory: { search: { extraPaths: [1] } },
    };
    const at = placeWith({ "openclaw.json": JSON.stringify(config), "workspace/USER.md": "- a fact\n" });
    expect((await report(at, ["--dry-run", "--migrate-secrets"])).summary).toMatchObject({
      migrated: 1,
      error: 0,
    });
  });
});

describe("hostile input", () => {
  it("follows no link out of a folder and opens no credentials", async () => {
    const at = placeWith({
      "workspace/USER.md": "- a fact\n",
      "workspace/skills/linked/SKILL.md": "---\nname: linked\ndescription: x\n---\nText.\n",
      "workspace/memory/2026-01-01.md": "- noted\n",
      "credentials/oauth.json": '{"refresh":"verysecret-123456"}',
    });
    const secret = join(at.userHome, ".ssh/id_ed25519");
    put(secret, "TOP SECRET KEY");
    symlinkSync(secret, join(at.source, "workspace/MEMORY.md"));
    symlinkSync(secret, join(at.source, "workspace/TOOLS.md"));
    symlinkSync(secret, join(at.source, "workspace/skills/linked/key.txt"));
    symlinkSync(join(at.userHome, ".ssh"), join(at.source, "workspace/.learnings"));
    symlinkSync(join(at.source, "credentials/oauth.json"), join(at.source, "workspace/memory/2026-01-02.md"));
    symlinkSync(join(at.source, "credentials"), join(at.source, "workspace/tts"));
    symlinkSync(join(at.source, "workspace"), join(at.source, "workspace/memory/loop"));
    symlinkSync("nowhere", join(at.source, "workspace/SOUL.md"));
    const done = await report(at, ["--yes"], 1);
    expect(ofKind(done, "memory")).toMatchObject({
      status: "error",
      reason: expect.stringContaining("link"),
    });
    expect(ofKind(done, "skill").details).toMatchObject({ links_not_followed: ["key.txt"] });
    expect(ofKind(done, "daily-memory")).toMatchObject({ status: "migrated", details: { source_files: 1 } });
    for (const name of Object.keys(treeOf(at.home)).filter((each) => !each.endsWith("/")))
      expect(read(at, name)).not.toMatch(/TOP SECRET|verysecret/);
  });

  it("shows no control characters of file names, and finds a name for odd skills", async () => {
    const at = placeWith({
      "workspace/skills/My Skill\u001b[2J/SKILL.md": "---\nname: x\ndescription: y\n---\nText.\n",
      "workspace/skills/___/SKILL.md": "---\nname: z\ndescription: y\n---\nText.\n",
      "workspace/memory/a\u001b]0;x\u0007.md": "- noted\n",
    });
    const { stdout, code } = await run(at, ["--yes"]);
    expect(code).toBe(0);
    expect(stdout).not.toContain("\u001b");
    expect(readdirSync(join(at.home, "skills/openclaw-imports"))).toContain("my-skill-2j");
    expect(stdout).toContain("unusable_name");
  });

  it("keeps entries without room in the archive of memory, once", async () => {
    const notes = Array.from(
      { length: 40 },
      (_, index) => `- Fact number ${index} about the glazes of the studio\n`,
    );
    const at = placeWith({ "workspace/MEMORY.md": notes.join("") });
    put(join(at.home, "config.yaml"), "memory:\n  memory_char_limit: 500\n");
    const done = await report(at, ["--yes"]);
    expect(ofKind(done, "memory")).toMatchObject({
      status: "migrated",
      details: { partial: true, char_limit: 500 },
    });
    const {
      added_entries: added,
      overflowed_entries: over,
      overflow_file: file,
    } = ofKind(done, "memory").details;
    expect(Number(added) + Number(over)).toBe(40);
    expect(readFileSync(String(file), "utf8").trim().split("\n")).toHaveLength(Number(over));
    const list = await runHere(["memory", "archive", "list", "--json"], { home: at.home });
    expect(JSON.stringify(JSON.parse(list.stdout))).toContain("Fact number 39");
    const before = treeOf(at.home);
    expect(ofKind(await report(at, ["--yes"]), "memory")).toMatchObject({
      status: "skipped",
      reason: "No new entries to import",
    });
    expect(treeOf(at.home)).toEqual(before);
  });

  it("one item that fails does not stop the others", async () => {
    const at = place();
    put(join(at.home, "skills/openclaw-imports"), "a file where a folder should be");
    const done = await report(at, ["--yes"], 1);
    expect(ofKind(done, "skill-category").status).toBe("error");
    expect(ofKind(done, "archive").status).toBe("archived");
    expect(read(at, "memories/USER.md")).toContain("Ana");
  });

  it("a document or a skill that cannot be read does not keep the others from the archive", async () => {
    const at = placeWith({
      "workspace/IDENTITY.md": "",
      "workspace/TOOLS.md": "tools\n",
      "workspace/.learnings/a.md": "learned\n",
      "workspace/.learnings/huge.bin": "",
      "workspace/skills/heavy/SKILL.md": "---\nname: heavy\ndescription: x\n---\nText.\n",
      "workspace/skills/heavy/huge.bin": "",
    });
    const tooLarge = 65 * 1024 * 1024;
    for (const name of ["IDENTITY.md", ".learnings/huge.bin", "skills/heavy/huge.bin"])
      truncateSync(join(at.source, "workspace", name), tooLarge);
    const preview = await report(at, ["--dry-run"]);
    const done = await report(at, ["--yes"], 1);
    const found = ({ items }: Report) =>
      items
        .filter(({ kind }) => kind === "archive" || kind === "skill")
        .map(({ source, status }) => [source?.slice(at.source.length + 11), status]);
    expect(found(done)).toEqual([
      ["skills/heavy", "error"],
      ["", "error"],
    ]);
    expect(found(preview)).toEqual(found(done));
    expect(ofKind(done, "archive").reason).toMatch(/IDENTITY\.md: .*huge\.bin: /);
    const archive = join(done.output_dir ?? "", "archive/workspace");
    expect(readdirSync(archive).sort()).toEqual([".learnings", "TOOLS.md"]);
    expect(readdirSync(join(archive, ".learnings"))).toEqual(["a.md"]);
  });

  it("leaves the folder of a run of Hermes' own migration alone", async () => {
    const at = placeWith({ "workspace/USER.md": "- a fact\n" });
    const earlier = join(at.home, "migration/openclaw/20250101T120000");
    const reference = { mode: "execute", source_root: at.source, summary: { error: 0 }, items: [] };
    put(join(earlier, "report.json"), JSON.stringify(reference)); // it has no `state`
    const before = treeOf(earlier);
    const done = await report(at, ["--yes"]);
    expect(done.output_dir).not.toBe(earlier);
    expect(done.warnings).toEqual([]);
    expect(treeOf(earlier)).toEqual(before);
  });

  it("a run with --output-dir counts for the next run", async () => {
    const at = place();
    await report(at, ["--yes", "--output-dir", join(at.userHome, "elsewhere")]);
    expect((await report(at, ["--yes"])).summary).toMatchObject({ migrated: 0, archived: 0 });
    const cleaned = await runHere(["claw", "cleanup", "--yes"], {
      home: at.home,
      env: { HOME: at.userHome },
    });
    expect(cleaned.stdout).toMatch(/ renamed\n/);
  });

  it("stops when the snapshot cannot be written", async () => {
    const at = place();
    put(join(at.home, "memories/MEMORY.md"), "old one");
    put(join(at.home, "backups"), "a file where a folder should be");
    expect(await run(at, ["--yes"])).toMatchObject({ code: 1 });
    expect(existsSync(join(at.home, "SOUL.md"))).toBe(false);
    expect((await run(at, ["--yes", "--no-backup"])).code).toBe(0);
  });
});

type RunVector = {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
  readonly source: Readonly<Record<string, string>>;
  readonly target: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, number>> | null;
  readonly execute: boolean;
  readonly items: readonly {
    readonly kind: string;
    readonly status: string;
    readonly reason: string;
    readonly details: Readonly<Record<string, unknown>>;
  }[];
  readonly files_after: Readonly<Record<string, string | null>>;
  readonly overflow_files: Readonly<Record<string, string>>;
};
const runs = (readVectors<RunVector>("openclaw-entries.jsonl") ?? []).filter(({ kind }) => kind === "run");

describe.skipIf(runs.length === 0)("golden runs of Hermes' own migration", () => {
  it.each(runs)("$id: $title", async (vector) => {
    const at = placeWith(vector.source);
    for (const [name, text] of Object.entries(vector.target)) put(join(at.home, name), text);
    const limits = Object.entries(vector.limits ?? {}).map(([key, value]) => `  ${key}: ${value}\n`);
    if (limits.length > 0) put(join(at.home, "config.yaml"), `memory:\n${limits.join("")}`);
    const options = ["--include", "memory,user-profile,daily-memory", vector.execute ? "--yes" : "--dry-run"];
    const done = await report(at, options);
    for (const expected of vector.items) {
      const item = ofKind(done, expected.kind);
      const { backup, overflow_file: file, ...details } = expected.details;
      expect(item).toMatchObject({ status: expected.status, reason: expected.reason, details });
      if (backup !== undefined) expect(item.details.backup !== null).toBe(backup);
      if (file !== undefined) expect(existsSync(String(item.details.overflow_file))).toBe(file);
    }
    for (const [name, text] of Object.entries(vector.files_after)) {
      const path = join(at.home, name);
      expect(existsSync(path) ? readFileSync(path, "utf8").trimEnd() : null).toBe(text?.trimEnd() ?? null);
    }
    for (const [name, text] of Object.entries(vector.overflow_files))
      expect(readFileSync(join(done.output_dir ?? "", "overflow", name), "utf8")).toBe(text);
  });
});
