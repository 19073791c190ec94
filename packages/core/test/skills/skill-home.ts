// A home with skills, and the three tools as an agent calls them.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type SkillManageContext,
  SkillStore,
  type SkillStoreOptions,
  skillManageTool,
  skillsListTool,
  skillViewTool,
} from "../../src/skills/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

export type Json = Record<string, unknown>;

export function skillText(name: string, description = `About ${name}`, body = "Do it well.\n"): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}`;
}

export class SkillHome {
  readonly home: string;

  constructor() {
    this.home = tempDirectory();
  }

  path(...parts: string[]): string {
    return join(this.home, "skills", ...parts);
  }

  write(path: string, text: string | Uint8Array): string {
    const full = this.path(path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  /** `path` is the skill's directory below the root. */
  skill(path: string, description?: string, body?: string): string {
    const name = path.split("/").at(-1) ?? "";
    return this.write(`${path}/SKILL.md`, skillText(name, description, body));
  }

  text(path: string): string {
    return readFileSync(this.path(path), "utf8");
  }

  open(options: Partial<SkillStoreOptions> = {}): SkillStore {
    return new SkillStore({ home: this.home, system: "linux", environments: [], env: {}, ...options });
  }

  async manage(args: Json, context: SkillManageContext = {}, store = this.open()): Promise<Json> {
    return (await skillManageTool(store, args, context)) as Json;
  }

  async view(args: Json, store = this.open()): Promise<Json> {
    return (await skillViewTool(store, args)) as Json;
  }

  async list(args: Json = {}, store = this.open()): Promise<Json> {
    return (await skillsListTool(store, args)) as Json;
  }
}

/** Everything below the skills directory with contents, except usage and lock files. */
export function tree(home: SkillHome): Record<string, string> {
  const names = readdirSync(home.path(), { recursive: true, encoding: "utf8", withFileTypes: true });
  return Object.fromEntries(
    names
      .filter((entry) => entry.isFile() && !/\.lock$/.test(entry.name))
      .map((entry) => [
        join(entry.parentPath, entry.name),
        readFileSync(join(entry.parentPath, entry.name), "utf8"),
      ]),
  );
}
