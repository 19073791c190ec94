// The full loader: real YAML, the schema, and for each mistake the line it is on. Loaded only when it is needed.
import { type Document, isMap, isPair, LineCounter, type ParsedNode, parseDocument } from "yaml";
import type { z } from "zod";
import { describeCause, err, ok, type Result } from "../lib/index.ts";
import { withOldNames } from "./auxiliary-schema.ts";
import { type ConfigError, type ConfigIssue, configError, shown } from "./config-error.ts";
import type { MemoryConfig } from "./memory-config.ts";
import { type HermesConfig, SECTIONS } from "./schema.ts";

export type RawConfig = Readonly<Record<string, unknown>>;

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
  const parsed = parseConfigText(text, path);
  if (!parsed.ok) return parsed;
  const memory = parseSection("memory", parsed.value);
  return memory.ok ? memory : err(configError("invalid", path, memory.error));
}

export function fullReadConfig(text: string, path: string): Result<HermesConfig, ConfigError> {
  const parsed = parseConfigText(text, path);
  if (!parsed.ok) return parsed;
  const config = toHermesConfig(parsed.value);
  return config.ok ? config : err(configError("invalid", path, config.error));
}

export function toHermesConfig(
  parsed: Pick<ParsedConfig, "raw" | "lineOf">,
): Result<HermesConfig, readonly ConfigIssue[]> {
  const sections = parseSections(parsed);
  if (!sections.ok) return sections;
  const {
    context_file_max_chars: contextFileMaxChars,
    session_search: sessionSearch,
    prompt_caching: promptCaching,
    custom_providers: customProviders,
    mcp_servers: mcpServers,
    ...rest
  } = sections.value;
  return ok({
    ...rest,
    contextFileMaxChars,
    sessionSearch,
    promptCaching,
    mcpServers,
    auxiliary: withOldNames(rest.auxiliary, parsed.raw.compression),
    models: { ...rest.models, customProviders },
    raw: parsed.raw,
  });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of own keys, or undefined. */
export function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  let current = raw;
  for (const part of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return current;
}

type SectionName = keyof typeof SECTIONS;
type Sections = { readonly [K in SectionName]: z.output<(typeof SECTIONS)[K]> };

/** All of them, or everything that is wrong with any of them. */
function parseSections(
  parsed: Pick<ParsedConfig, "raw" | "lineOf">,
): Result<Sections, readonly ConfigIssue[]> {
  const values: Partial<Record<SectionName, unknown>> = {};
  const issues: ConfigIssue[] = [];
  for (const name of Object.keys(SECTIONS) as SectionName[]) {
    const section = parseSection(name, parsed);
    if (section.ok) values[name] = section.value;
    else issues.push(...section.error);
  }
  return issues.length > 0 ? err(issues) : ok(values as Sections); // without issues every section has its value
}

/** They hold no keys, so without a value they are not an empty section. */
const KEYLESS: readonly SectionName[] = ["context_file_max_chars", "timezone", "custom_providers"];

function parseSection<K extends SectionName>(
  name: K,
  parsed: Pick<ParsedConfig, "raw" | "lineOf">,
): Result<z.output<(typeof SECTIONS)[K]>, readonly ConfigIssue[]> {
  const given = Object.hasOwn(parsed.raw, name) ? parsed.raw[name] : undefined;
  const value = given ?? (KEYLESS.includes(name) ? undefined : {});
  const outcome = SECTIONS[name].safeParse(value);
  if (outcome.success) return ok(outcome.data as z.output<(typeof SECTIONS)[K]>);
  const issues = new Map<string, ConfigIssue>(); // several rules of one key say the same sentence
  for (const issue of outcome.error.issues) {
    const path = [name, ...issue.path];
    const key = path.map(String).join(".");
    const line = parsed.lineOf(path);
    const message = `${issue.message}, but is ${shown(valueAt(parsed.raw, path))}`;
    if (!issues.has(key)) issues.set(key, { key, message, ...(line === undefined ? {} : { line }) });
  }
  return err([...issues.values()]);
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
