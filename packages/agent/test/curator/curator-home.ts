// A home for one test of the curator, with short ways to run it and to fake its model.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ENTRY_DELIMITER, type Home, MemoryStore, openHome, type TextModel } from "@hermes-memory/core";
import { type HermesConfig, loadConfig } from "@hermes-memory/core/internal/config";
import type { Clock } from "@hermes-memory/core/internal/lib";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { CuratorRun } from "../../src/curator/index.ts";
import { findRollback, rollBack } from "../../src/curator/rollback.ts";
import { type CuratorOptions, runCurator } from "../../src/curator/run-curator.ts";

type RunOptions = Partial<CuratorOptions> & { readonly clock?: Clock };

export class CuratorHome {
  readonly home: string;
  readonly config: HermesConfig;

  constructor(home: string, config: HermesConfig) {
    this.home = home;
    this.config = config;
  }

  static async make(settings = ""): Promise<CuratorHome> {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), settings);
    const config = await loadConfig(home);
    if (!config.ok) throw new Error(config.error.message);
    return new CuratorHome(home, config.value);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.home, path)), { recursive: true });
    writeFileSync(join(this.home, path), text);
  }

  remember(...entries: string[]): void {
    this.write("memories/MEMORY.md", entries.join(ENTRY_DELIMITER));
  }

  get memory(): string {
    return this.read("memories/MEMORY.md");
  }

  read(path: string): string {
    return readFileSync(join(this.home, path), "utf8");
  }

  has(path: string): boolean {
    return existsSync(join(this.home, path));
  }

  async store(): Promise<MemoryStore> {
    const store = new MemoryStore({ dir: join(this.home, "memories") });
    await store.load();
    return store;
  }

  skill(name: string, body: string, usage: Readonly<Record<string, unknown>> = {}): void {
    const text = `---\nname: ${name}\ndescription: How to ${name}\n---\n\n${body}\n`;
    this.write(`skills/${name}/SKILL.md`, text);
    const path = "skills/.usage.json";
    const records = this.has(path) ? (JSON.parse(this.read(path)) as Record<string, unknown>) : {};
    const created = { created_by: "agent", created_at: "2026-01-01T00:00:00+00:00", ...usage };
    this.write(path, JSON.stringify({ ...records, [name]: created }));
  }

  /** A backup of the skills as the Python original makes it. */
  backUp(id = "20260101T000000Z"): string {
    const skills = join(this.home, "skills");
    const names = readdirSync(skills).filter((name) => name !== ".hub" && name !== ".curator_backups");
    this.write(`skills/.curator_backups/${id}/manifest.json`, JSON.stringify({ id, reason: "test" }));
    execFileSync("tar", ["-czf", `.curator_backups/${id}/skills.tar.gz`, ...names], { cwd: skills });
    return id;
  }

  opened(clock?: Clock): Home {
    return openHome({ home: this.home, config: this.config, clock });
  }

  run(options: RunOptions = {}): Promise<CuratorRun> {
    const scope = options.scope ?? "memory";
    return this.attempt({ ...options, scope });
  }

  async attempt({ clock, ...options }: RunOptions = {}): Promise<CuratorRun> {
    const done = await runCurator({
      memory: this.opened(clock),
      mode: "dry-run",
      scope: "all",
      ...options,
    });
    if (!done.ok) throw new Error(`${done.error.kind}: ${done.error.message}`);
    return done.value;
  }

  async rollBack(id?: string): Promise<Extract<Awaited<ReturnType<typeof rollBack>>, { ok: true }>["value"]> {
    const plan = await findRollback(this.opened(), id);
    if (!plan.ok) throw new Error(plan.error.message);
    const done = await rollBack(plan.value, this.opened());
    if (!done.ok) throw new Error(`${done.error.kind}: ${done.error.message}`);
    return done.value;
  }

  /** Every file below a directory of the home, with its content. */
  files(under = ""): Readonly<Record<string, string>> {
    const root = join(this.home, under);
    if (!existsSync(root)) return {};
    const names = readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
    const files = names.filter((name) => statSync(join(root, name)).isFile());
    return Object.fromEntries(files.map((name) => [name, readFileSync(join(root, name), "latin1")]));
  }
}

/** The proposals in short: `duplicate: uses pnpm`. */
export function gist(run: CuratorRun): string[] {
  return run.decided.map(({ proposal }) => {
    if (proposal.layer === "skills")
      return `${proposal.kind}: ${proposal.skills.join(", ")}${proposal.into ? ` -> ${proposal.into.name}` : ""}`;
    const { remove, text } = proposal.curation;
    return `${proposal.kind}: ${remove.join(" | ")}${text === undefined ? "" : ` => ${text}`}`;
  });
}

export type FakeModel = TextModel & { readonly prompts: string[] };

/** Answers with the given values one after the other, then with the last one again. */
export function fakeModel(...replies: readonly unknown[]): FakeModel {
  const prompts: string[] = [];
  return {
    prompts,
    async complete({ prompt }) {
      const reply = replies[Math.min(prompts.length, replies.length - 1)];
      prompts.push(prompt);
      if (reply instanceof Error) throw reply;
      return typeof reply === "string" ? reply : JSON.stringify(reply);
    },
  };
}

export function clockAt(time: string): { now: () => Date } {
  return { now: () => new Date(time) };
}
