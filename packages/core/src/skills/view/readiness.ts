// What a skill needs from the machine, and what of it is missing.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { envFilePath, readEnvFile } from "../../config/index.ts";
import { textOf, textsOf } from "../frontmatter/header.ts";
import { type Fields, fieldOf } from "../frontmatter/parse.ts";
import { pathWithin } from "../paths.ts";
import type { SkillStore } from "../store.ts";

type NeededVariable = { readonly name: string; readonly prompt?: string; readonly help?: string };

export type Readiness = {
  readonly required_environment_variables: readonly NeededVariable[];
  readonly required_commands: readonly string[];
  readonly missing_required_environment_variables: readonly string[];
  readonly missing_credential_files: readonly string[];
  readonly missing_required_commands: readonly string[];
  readonly setup_needed: boolean;
  /** Nothing here asks a person for values, so nothing is ever skipped. */
  readonly setup_skipped: false;
  readonly readiness_status: "available" | "setup_needed";
  readonly setup_note?: string;
};

export function readinessOf(store: SkillStore, fields: Fields): Readiness {
  const variables = neededVariables(fields);
  const commands = textsOf(fieldOf(fieldOf(fields, "prerequisites"), "commands"));
  const credentials = listOf(fieldOf(fields, "required_credential_files")).map(pathOrText);
  const own = readEnvFile(envFilePath(store.home));
  const isSet = (name: string): boolean => Boolean(store.env[name] || (own.ok && own.value.values.get(name)));
  const missingVariables = variables.map(({ name }) => name).filter((name) => !isSet(name));
  const missingFiles = credentials.filter((path) => path !== "" && !isInHome(store.home, path));
  const missingCommands = commands.filter((command) => !isCommand(command, store.env.PATH ?? ""));
  const lacking = [...missingVariables, ...missingFiles, ...missingCommands];
  return {
    required_environment_variables: variables,
    required_commands: commands,
    missing_required_environment_variables: missingVariables,
    missing_credential_files: missingFiles,
    missing_required_commands: missingCommands,
    setup_needed: lacking.length > 0,
    setup_skipped: false,
    readiness_status: lacking.length > 0 ? "setup_needed" : "available",
    ...(lacking.length > 0 ? { setup_note: `Not set up yet: ${lacking.join(", ")}.` } : {}),
  };
}

/** `required_environment_variables`, and `prerequisites.env_vars` of older skills. */
function neededVariables(fields: Fields): NeededVariable[] {
  const listed = listOf(fieldOf(fields, "required_environment_variables")).map((each): NeededVariable => {
    const prompt = textOf(fieldOf(each, "prompt"));
    const help = textOf(fieldOf(each, "help"));
    return {
      name: textOf(fieldOf(each, "name")) || textOf(each),
      ...(prompt === "" ? {} : { prompt }),
      ...(help === "" ? {} : { help }),
    };
  });
  const older = textsOf(fieldOf(fieldOf(fields, "prerequisites"), "env_vars")).map((name) => ({ name }));
  return [...listed, ...older].filter(
    ({ name }, index, all) =>
      /^[A-Za-z_]\w*$/.test(name) && all.findIndex((other) => other.name === name) === index,
  );
}

function pathOrText(value: unknown): string {
  return textOf(fieldOf(value, "path")) || textOf(value);
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** Files elsewhere are none of a skill's business; they count as missing. */
function isInHome(home: string, path: string): boolean {
  const full = join(home, path);
  return pathWithin(home, full) !== undefined && existsSync(full);
}

function isCommand(name: string, searchPath: string): boolean {
  if (!/^[\w.+-]+$/.test(name)) return false;
  const endings = process.platform === "win32" ? [".exe", ".cmd", ".bat", ""] : [""];
  return searchPath
    .split(delimiter)
    .some((directory) =>
      endings.some((ending) => directory !== "" && isExecutable(join(directory, name + ending))),
    );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
