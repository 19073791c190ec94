// For the tests of compaction: an agent with a long history, and a journal of the calls to model, store, provider and engine in
// their order.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { sessionDatabasePath } from "@hermes-memory/core/internal/home";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { onTestFinished } from "vitest";
import type { MemoryProvider } from "../../../core/src/providers/contract.ts";
import { engineMembers, writeEngine } from "../../../core/test/fakes/engine-plugins.ts";
import { HOOKS, type HookName, provider } from "../../../core/test/fakes/providers.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { AgentOptions } from "../../src/agent/index.ts";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { plugIn } from "../fakes/plugged-provider.ts";
import type { RecordedRequest, Step } from "../fakes/wires/script.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";

export type Entry = { readonly what: string; readonly args: readonly unknown[] };

export class Journal {
  readonly entries: Entry[] = [];

  note(what: string, args: readonly unknown[] = []): void {
    this.entries.push({ what, args: args.map(withoutSignal) });
  }

  /** Those of the given names, in order. */
  order(...names: readonly string[]): readonly string[] {
    return this.entries.map(({ what }) => what).filter((what) => names.includes(what));
  }

  argsOf(what: string): readonly (readonly unknown[])[] {
    return this.entries.filter((entry) => entry.what === what).map(({ args }) => args);
  }
}

export type CompactionSetting = {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly options?: Partial<AgentOptions>;
  /** Undefined: the usual answer. */
  readonly answer?: (request: RecordedRequest) => Step | undefined | Promise<Step | undefined>;
  /** Answers of the provider's hooks; absent: no provider. */
  readonly provider?: Partial<Record<HookName, unknown>> &
    Pick<MemoryProvider, "preCompressCheckpointApiVersion">;
  /** Replaced members of the store; each gets the real store. */
  readonly store?: (store: SessionStore) => Partial<SessionStore>;
  /** With the engine plugin `keeper`; members of its class beside the usual ones. */
  readonly engine?: string;
  readonly turns?: number;
  readonly home?: string;
};

export type CompactionHome = AgentHome & { readonly journal: Journal; readonly store: SessionStore };

export const SUMMARY = "## Goal\nThe harbour is to be painted.";

/** A window of 20,000 tokens (compaction from 17,000 on) and a short tail. */
export async function compactionHome(setting: CompactionSetting = {}): Promise<CompactionHome> {
  const { home = tempDirectory(), turns = 10 } = setting;
  const journal = new Journal();
  const opened = await openSessionStore({ path: sessionDatabasePath(home) });
  onTestFinished(() => opened.close());
  const store = noted(opened, journal, setting.store?.(opened) ?? {});
  if (setting.provider !== undefined) plugIn(home, notingProvider(journal, setting.provider));
  if (setting.engine !== undefined) writeNotingEngine(home, journal, setting.engine);
  const { model = {}, memory = {}, compression = {}, ...config } = setting.config ?? {};
  const made = await agentHome(
    async (request) => {
      const isSummary = isSummaryRequest(request);
      journal.note(isSummary ? "model.summary" : "model.reply");
      const answer = await setting.answer?.(request);
      if (answer !== undefined) return answer;
      return isSummary ? { text: SUMMARY } : { text: `Reply ${request.index}.` };
    },
    {
      home,
      config: {
        context: setting.engine === undefined ? undefined : { engine: "keeper" },
        ...config,
        model: { context_length: 20_000, ...(model as object) },
        compression: { target_ratio: 0.1, protect_last_n: 2, ...(compression as object) },
        memory: { provider: setting.provider === undefined ? undefined : "noting", ...(memory as object) },
      },
      options: { store, history: history(turns), ...setting.options },
    },
  );
  return { ...made, journal, store };
}

/** Turns of about 400 tokens a message, each with a word of its own: `question3`, `answer3`. */
export function history(turns: number): readonly { role: string; content: string }[] {
  return Array.from({ length: turns }, (_, at) => [
    { role: "user", content: longText(`question${at + 1}`) },
    { role: "assistant", content: longText(`answer${at + 1}`) },
  ]).flat();
}

export function longText(word: string, chars = 1_600): string {
  return `${word} ${`${word.length} boats in the harbour. `.repeat(Math.ceil(chars / 24))}`
    .slice(0, chars)
    .trim();
}

/** A store that records its calls as `store.<name>`. */
function noted(store: SessionStore, journal: Journal, changes: Partial<SessionStore>): SessionStore {
  return new Proxy(store, {
    get(target, key) {
      const changed: unknown = Reflect.get(changes, key);
      const own: unknown = Reflect.get(target, key);
      const member = changed ?? own;
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]): unknown => {
        journal.note(`store.${String(key)}`, args);
        return Reflect.apply(member, changed === undefined ? target : changes, args);
      };
    },
  });
}

/** Notes its hooks as `provider.<hook>`. */
function notingProvider(
  journal: Journal,
  { preCompressCheckpointApiVersion, ...answers }: NonNullable<CompactionSetting["provider"]>,
): MemoryProvider {
  const members = HOOKS.map((hook) => [
    hook,
    (...args: readonly unknown[]) => {
      journal.note(`provider.${hook}`, args);
      return hook === "getToolSchemas" ? (answers[hook] ?? []) : answers[hook];
    },
  ]);
  return provider({ ...Object.fromEntries(members), name: "noting", preCompressCheckpointApiVersion });
}

const ENGINE_HOOKS = ["onSessionStart", "onSessionEnd", "onSessionReset", "onCompacted", "updateModel"];

/** An engine that keeps the last message and puts a word in front. Records its calls as `engine.<name>`. */
function writeNotingEngine(home: string, journal: Journal, more: string): void {
  const key = `hermes-test-engine:${randomUUID()}`;
  Reflect.set(globalThis, key, (what: string, args: readonly unknown[]) =>
    journal.note(`engine.${what}`, args),
  );
  const hooks = ENGINE_HOOKS.map((hook) => `${hook}(...args) { note(${JSON.stringify(hook)}, args); }`);
  const members = `
    async compress(messages, options) {
      note("compress", [messages.length, options.providerText]);
      const kept = [{ role: "assistant", content: "What was said before is gone." }, ...messages.slice(-1)];
      return { kind: "compacted", messages: kept, leftOut: [], prunedResults: 0, tokensBefore: 2, tokensAfter: 1, notices: [] };
    }
    ${hooks.join("\n")}
    ${more}`;
  writeEngine(
    home,
    "keeper",
    `const note = globalThis[${JSON.stringify(key)}];
    class Keeper {${engineMembers("keeper", members)}}
    export function register(ctx) { ctx.registerContextEngine(new Keeper()); }\n`,
  );
}

export function memoryFile(home: string): string {
  return join(home, "memories", "MEMORY.md");
}

function withoutSignal(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("signal" in value)) return value;
  const { signal: _signal, ...rest } = value;
  return rest;
}
