// What can be wrong with config.yaml, told so that the reader can repair it: the key's path, what was found, what is allowed.
import { preview } from "../lib/index.ts";

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
