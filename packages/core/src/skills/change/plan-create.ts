// A new skill. Its name must be free everywhere, and its place must not be inside of another skill.
import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { err, errnoCode, ok, type Result } from "../../lib/index.ts";
import { checkSkillText } from "../frontmatter/check.ts";
import { SKILL_FILE } from "../limits.ts";
import { pathWithin } from "../paths.ts";
import type { SkillError } from "../types.ts";
import type { SkillCall } from "./call.ts";
import type { Plan, Scene } from "./plan-types.ts";
import { screenProblem } from "./screen.ts";

export function planCreate(
  call: Extract<SkillCall, { action: "create" }>,
  scene: Scene,
): Result<Plan, SkillError> {
  const { store, contents, parse } = scene;
  const { name, content, category } = call;
  const relativePath = category === undefined ? name : `${category}/${name}`;
  const directory = join(store.directory, relativePath);
  // Names are lower case, but a directory made by hand need not be, and some file systems see no difference.
  const taken = contents.skills.find(
    (skill) => skill.directoryName.toLowerCase() === name || skill.name.toLowerCase() === name,
  );
  if (taken) {
    const message = `A skill '${name}' exists already, in ${taken.directory}. Use 'patch' or 'edit', or another name.`;
    return err({ kind: "exists", message });
  }
  const inWay = obstacle(store.directory, directory, category);
  if (inWay) return err(inWay);
  const checked = checkSkillText(content, { directoryName: name }, parse);
  if (!checked.ok) return checked;
  const blocked = screenProblem(content, scene);
  if (blocked) return err(blocked);
  const path = join(directory, SKILL_FILE);
  return ok({
    kind: "write",
    action: "create",
    place: { directoryName: name, relativePath, root: store.directory, directory, isExternal: false },
    file: SKILL_FILE,
    path,
    before: undefined,
    after: content,
    reply: {
      message: `Skill '${name}' created.`,
      path: relativePath,
      skill_md: path,
      _change: { description: checked.value.description },
      ...(category === undefined ? {} : { category }),
      hint: "Add files with action 'write_file' and a file_path under references/, templates/, scripts/ or assets/.",
    },
  });
}

function obstacle(root: string, directory: string, category: string | undefined): SkillError | undefined {
  if (category !== undefined) {
    const folder = join(root, category);
    if (exists(join(folder, SKILL_FILE))) {
      const message = `'${category}' is a skill, and skills cannot be nested. Choose another category.`;
      return { kind: "invalid", message };
    }
    if (exists(folder) && !isWithinRoot(root, folder)) {
      const message = `The category '${category}' leads out of the skills directory. Choose another.`;
      return { kind: "invalid", message };
    }
  }
  if (!exists(directory) || isAbandoned(directory)) return undefined;
  return { kind: "exists", message: `${directory} exists already. Choose another name.` };
}

/** What a writer that was killed before its first file was in place leaves behind. */
function isAbandoned(directory: string): boolean {
  if (!lstatSync(directory).isDirectory()) return false;
  return readdirSync(directory).every((name) => name.startsWith(`.${SKILL_FILE}.tmp.`));
}

function isWithinRoot(root: string, folder: string): boolean {
  return pathWithin(realpathSync(root), realpathSync(folder)) !== undefined;
}

/** Links count, also those that lead nowhere. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    if (errnoCode(cause) === "ENOTDIR") return false;
    throw cause;
  }
}
