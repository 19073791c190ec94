// `hermes claw migrate` on a fixture home with every kind of item.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { readVectors } from "../../../../core/test/golden/vectors.ts";
import type { Item, Report } from "../../../../import/src/internal.ts";
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
    expect(stdout).toContain("would be migrated (");
    expect(stderr).toContain("Dry run: nothing was written.");
    expect(treeOf(at.userHome)).toEqual(before);
    mkdirSync(join(at.home, "memories"), { recursive: true });
    writeFileSync(join(at.home, "memories/MEMORY.md"), "old one");
    const existing = treeOf(at.userHome);
    await run(at, ["--dry-run"]);
    await run(at, []); // nobody to ask
    expect(treeOf(at.userHome)).toEqual(existing);
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
      stdout: expect.stringContaining("migrated ("),
    });
  });
});

describe("finding things", () => {
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
