// Where config.yaml is, its text, and what can be wrong with it, told so that the reader can repair it: the key's path, what was found,
// what is allowed.
import { join } from "node:path";
import { err, preview, type Result } from "../lib/index.ts";
import { type ReadFailure, readTextFile } from "./text-file.ts";

export type ConfigIssue = {
  /** Dotted path of the key; empty when the whole file is meant. */
  readonly key: string;
  /** Reads on after the key: `must be ..., but is ...`. */
  readonly message: string;
  readonly line?: number;
};

export type ConfigError = {
  readonly kind: "unreadable" | "syntax" | "invalid";
  /** The file. */
  readonly path: string;
  readonly issues: readonly ConfigIssue[];
  /** All issues as sentences. */
  readonly message: string;
};

export function configPath(home: string): string {
  return join(home, "config.yaml");
}

/** Undefined when the file does not exist, which means the defaults. */
export function readConfigText(home: string): Result<string | undefined, ConfigError> {
  const text = readTextFile(configPath(home));
  return text.ok ? text : err(unreadable(text.error));
}

export function unreadable(failure: ReadFailure): ConfigError {
  const message = `cannot be read: ${failure.reason} (${failure.path})`;
  return configError("unreadable", failure.path, [{ key: "", message }]);
}

export function configError(
  kind: ConfigError["kind"],
  path: string,
  issues: readonly ConfigIssue[],
): ConfigError {
  const sentences = issues.map((issue) => sentence(kind, issue)).join(" ");
  return { kind, path, issues, message: `config.yaml: ${sentences}` };
}

/** A found value as a message shows it: JSON, cut short. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return "empty";
  if (typeof value === "number") return String(value);
  return preview(JSON.stringify(value) ?? String(value), 60);
}

function sentence(kind: ConfigError["kind"], issue: ConfigIssue): string {
  const where = kind === "syntax" && issue.line !== undefined ? `line ${issue.line}: ` : "";
  const what = issue.key === "" ? issue.message : `${issue.key} ${issue.message}`;
  return `${where}${what}${/[.!?]$/.test(what) ? "" : "."}`;
}
