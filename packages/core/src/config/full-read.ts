// The full loader: real YAML, and for each mistake the line it is on. Loaded only when it is needed.
import { type Document, isMap, isPair, LineCounter, type ParsedNode, parseDocument } from "yaml";
import { describeCause, err, isRecord, ok, type Result } from "../lib/index.ts";
import { type ConfigError, type ConfigIssue, configError, shown } from "./config-file.ts";
import type { HermesConfig, MemoryConfig } from "./keys.ts";
import { type Finding, findingText, type RawConfig, readConfig, readMemoryConfig } from "./read.ts";

export type ParsedConfig = {
  readonly document: Document.Parsed<ParsedNode>;
  readonly raw: RawConfig;
  /** Line of the key at this path, or of the nearest section above it. */
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined;
};

// Merge keys are YAML 1.1, which the reference reads; `compat` quotes what the two versions would read differently.
export const YAML_OPTIONS = { merge: true, compat: "yaml-1.1", logLevel: "error" } as const;

export function parseConfigText(text: string, path: string): Result<ParsedConfig, ConfigError> {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...YAML_OPTIONS, lineCounter: lines });
  // After another error the parser may stumble over its own state and report that too; it says nothing to anybody.
  const errors = document.errors.filter(({ code }, index) => index === 0 || code !== "RESOURCE_EXHAUSTION");
  const issues = errors.map((error): ConfigIssue => {
    // The library's message goes on with an excerpt of the file, where a secret might stand.
    const message = error.message.replace(/ at line \d+, column \d+:?[\s\S]*$/, "");
    return { key: "", message, line: lines.linePos(error.pos[0]).line };
  });
  if (issues.length > 0) return err(configError("syntax", path, issues));

  const raw = toPlain(document);
  if (!raw.ok) return err(configError("syntax", path, [{ key: "", message: raw.error }]));
  if (!isRecord(raw.value)) {
    const message = `must hold keys and values, but is ${shown(raw.value)}`;
    return err(configError("invalid", path, [{ key: "", message, line: 1 }]));
  }
  const lineOf = (wanted: readonly PropertyKey[]) => findLine(document, wanted, lines);
  return ok({ document, raw: raw.value, lineOf });
}

export function fullReadMemoryConfig(text: string, path: string): Result<MemoryConfig, ConfigError> {
  return fullRead(text, path, readMemoryConfig);
}

export function fullReadConfig(text: string, path: string): Result<HermesConfig, ConfigError> {
  return fullRead(text, path, readConfig);
}

function fullRead<T>(
  text: string,
  path: string,
  read: (raw: RawConfig) => { readonly config: T; readonly findings: readonly Finding[] },
): Result<T, ConfigError> {
  const parsed = parseConfigText(text, path);
  if (!parsed.ok) return parsed;
  const { config, findings } = read(parsed.value.raw);
  const refused = findings.filter(({ kind }) => kind === "refused");
  if (refused.length === 0) return ok(config);
  return err(
    configError(
      "invalid",
      path,
      refused.map((finding) => toIssue(finding, parsed.value)),
    ),
  );
}

export function toIssue(finding: Finding, parsed: Pick<ParsedConfig, "raw" | "lineOf">): ConfigIssue {
  const line = parsed.lineOf(finding.path);
  const message = findingText(finding, parsed.raw);
  return { key: finding.path.join("."), message, ...(line === undefined ? {} : { line }) };
}

function toPlain(document: Document.Parsed<ParsedNode>): Result<unknown, string> {
  try {
    return ok(document.toJS() ?? {});
  } catch (cause) {
    return err(describeCause(cause)); // unresolvable aliases, or so many that they only serve to exhaust memory
  }
}

function findLine(
  document: Document.Parsed<ParsedNode>,
  path: readonly PropertyKey[],
  lines: LineCounter,
): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const part of path) {
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isPair(item) && keyText(item.key) === String(part));
    if (pair === undefined) break;
    offset = rangeStart(pair.key) ?? offset;
    node = pair.value;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

export function keyText(key: unknown): string {
  const value = typeof key === "object" && key !== null && "value" in key ? key.value : key;
  return String(value);
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== "object" || node === null || !("range" in node)) return undefined;
  return Array.isArray(node.range) && typeof node.range[0] === "number" ? node.range[0] : undefined;
}
