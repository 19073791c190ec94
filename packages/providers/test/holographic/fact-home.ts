// A home with the provider, used through its tools and hooks, and helpers that read its database.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { onTestFinished } from "vitest";
import type { InitializeOptions, MemoryProvider } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHolographicProvider, type HolographicOptions } from "../../src/holographic/provider.ts";

export type Row = Record<string, unknown> & { fact_id: number; content: string; score: number };
export type Answer = Record<string, unknown> & { results?: Row[]; facts?: Row[]; error?: string };
type Settings = Record<string, unknown>;
type Args = Record<string, unknown>;

export const REFERENCE: Settings = { scoring: "reference", fts_query: "raw" };

type OpenOptions = HolographicOptions &
  Pick<InitializeOptions, "agent_context"> & { readonly home?: string; readonly settings?: Settings };

export class FactHome {
  readonly home: string;
  readonly provider: MemoryProvider;

  constructor(home: string, provider: MemoryProvider) {
    this.home = home;
    this.provider = provider;
  }

  get path(): string {
    return join(this.home, "memory_store.db");
  }

  async call(tool: string, args: Args): Promise<Answer> {
    return JSON.parse((await this.provider.handleToolCall?.(tool, args, {})) ?? "null") as Answer;
  }

  /** A call of `fact_store` that has to succeed. */
  async ask(action: string, args: Args = {}): Promise<Answer> {
    const answer = await this.call("fact_store", { action, ...args });
    if (answer.error !== undefined) throw new Error(`fact_store ${action}: ${answer.error}`);
    return answer;
  }

  async refusal(action: string, args: Args = {}): Promise<string> {
    const { error } = await this.call("fact_store", { action, ...args });
    if (error === undefined) throw new Error(`fact_store ${action} was expected to fail`);
    return error;
  }

  async add(content: string, more: Args = {}): Promise<number> {
    return (await this.ask("add", { content, ...more })).fact_id as number;
  }

  async rows(action: string, args: Args = {}): Promise<Row[]> {
    const answer = await this.ask(action, args);
    return answer.results ?? answer.facts ?? [];
  }

  async ids(action: string, args: Args = {}): Promise<number[]> {
    return (await this.rows(action, args)).map(({ fact_id }) => fact_id);
  }

  async recall(query: string): Promise<string> {
    return (await this.provider.prefetch?.(query, { session_id: "s" })) ?? "";
  }

  /** Rows as arrays of values, through a separate connection. */
  sql(text: string, ...values: SQLInputValue[]): unknown[][] {
    return queryFile(this.path, text, ...values);
  }

  /** Changes the file through another connection. */
  meddle(text: string, ...values: SQLInputValue[]): void {
    using db = new DatabaseSync(this.path, { timeout: 5000 });
    db.prepare(text).run(...values);
  }
}

export async function openFacts(options: OpenOptions = {}): Promise<FactHome> {
  const { home = tempDirectory(), settings, agent_context, ...given } = options;
  if (settings !== undefined) writeSettings(home, settings);
  const provider = createHolographicProvider(given);
  await provider.initialize("s", { hermes_home: home, ...(agent_context && { agent_context }) });
  onTestFinished(async () => provider.shutdown?.({}));
  return new FactHome(home, provider);
}

export function writeSettings(home: string, settings: Settings): void {
  const config = { plugins: { "hermes-memory-store": settings } };
  writeFileSync(join(home, "config.yaml"), JSON.stringify(config)); // JSON is YAML
}

export function queryFile(path: string, text: string, ...values: SQLInputValue[]): unknown[][] {
  if (!existsSync(path)) throw new Error(`there is no ${path}`);
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  return db
    .prepare(text)
    .all(...values)
    .map((row) => Object.values(row));
}

/** The facts of the specification, in the order of their ids. */
export const FIXTURE: readonly (readonly [content: string, category: string, tags: string])[] = [
  ["John Doe uses Rust for the backend", "project", "rust,backend"],
  ["John Doe prefers dark mode in his editor", "user_pref", "editor"],
  ["Jane Smith uses Python for data analysis", "project", "python"],
  ['The "Apollo" service is owned by Jane Smith', "project", ""],
  ['John Doe and Jane Smith work on the "Apollo" service', "project", ""],
  ["deploy process runs every friday", "tool", "deploy"],
  ["John Doe uses Go for the backend", "project", "go"],
  ["Guido aka BDFL created 'Python'", "general", ""],
];

export async function openFixture(settings: Settings = {}): Promise<FactHome> {
  const facts = await openFacts({ settings });
  for (const [content, category, tags] of FIXTURE) await facts.add(content, { category, tags });
  return facts;
}
