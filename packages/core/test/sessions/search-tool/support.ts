// A home with a session database for each test, and the tool's answers as records.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { type SessionSearchContext, sessionSearchTool } from "../../../src/sessions/search-tool/tool.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

export type Answer = Record<string, unknown> & {
  readonly results: readonly Record<string, unknown>[];
  readonly messages: readonly Record<string, unknown>[];
};

export type Home = {
  readonly home: string;
  readonly store: SessionStore;
  ask(args: unknown, context?: SessionSearchContext): Promise<Answer>;
};

export async function openHome(): Promise<Home> {
  const home = tempDirectory();
  const store = await openAt(home);
  return {
    home,
    store,
    ask: async (args, context) => asSent(await sessionSearchTool(store, args, { home, ...context })),
  };
}

/** The answer as the model gets it: as JSON, which has no undefined fields. */
function asSent(answer: object): Answer {
  return JSON.parse(JSON.stringify(answer)) as Answer;
}

export async function openProfile(home: string, name: string): Promise<SessionStore> {
  const directory = join(home, "profiles", name);
  mkdirSync(directory, { recursive: true });
  return openAt(directory);
}

/** A session with alternating turns of user and assistant, one minute apart. */
export async function talk(
  store: SessionStore,
  id: string,
  texts: readonly string[],
  options: {
    source?: string;
    startedAt?: number;
    userId?: string;
    parentSessionId?: string;
    model?: string;
  } = {},
): Promise<number[]> {
  const { startedAt = 1_700_000_000, source = "cli" } = options;
  await store.createSession(id, { ...options, source, startedAt });
  return store.appendMany(
    id,
    texts.map((content, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content,
      timestamp: startedAt + 60 * (index + 1),
    })),
  );
}

export function column(rows: readonly Record<string, unknown>[], name: string): unknown[] {
  return rows.map((row) => row[name]);
}

async function openAt(directory: string): Promise<SessionStore> {
  const store = await openSessionStore({ path: join(directory, "state.db") });
  onTestFinished(() => store.close());
  return store;
}
