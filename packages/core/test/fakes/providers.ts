// Memory providers for tests: well-behaved ones that record their calls, and bad ones of every kind.
import type { Logger } from "../../src/lib/logger.ts";
import type { MemoryProvider } from "../../src/providers/contract.ts";
import type { MemoryManager } from "../../src/providers/manager/manager.ts";
import type { ToolDefinition } from "../../src/tools/index.ts";

export const TOOL = "notes_find";

/** Makes the manager call each hook, and waits for it. */
export const DRIVE = {
  initialize: (manager) => manager.initializeAll("s1", { hermes_home: "/nowhere" }),
  getToolSchemas: (manager) => manager.initializeAll("s1", { hermes_home: "/nowhere" }),
  systemPromptBlock: (manager) => manager.buildSystemPrompt(),
  onTurnStart: (manager) => manager.onTurnStart(1, "which tea?"),
  prefetch: (manager) => manager.prefetchAll("which tea?", { session_id: "s1" }),
  queuePrefetch: (manager) =>
    flushed(manager, () => manager.queuePrefetchAll("which tea?", { session_id: "s1" })),
  syncTurn: (manager) => flushed(manager, () => manager.syncAll("which tea?", "green", { session_id: "s1" })),
  handleToolCall: (manager) => manager.handleToolCall(TOOL, {}),
  onSessionEnd: (manager) => manager.onSessionEnd([]),
  onSessionSwitch: (manager) => manager.onSessionSwitch("s2"),
  onPreCompress: (manager) => manager.onPreCompress([]),
  onMemoryWrite: (manager) => flushed(manager, () => manager.onMemoryWrite("add", "memory", "a fact")),
  onDelegation: (manager) => flushed(manager, () => manager.onDelegation("a task", "a result")),
  shutdown: (manager) => manager.shutdownAll(),
} satisfies Partial<Record<keyof MemoryProvider, (manager: MemoryManager) => Promise<unknown>>>;

export type HookName = keyof typeof DRIVE;

export type HookCall = { readonly hook: HookName; readonly args: readonly unknown[] };

export const HOOKS = Object.keys(DRIVE) as readonly HookName[];

async function flushed(manager: MemoryManager, queue: () => void): Promise<unknown> {
  queue();
  return manager.flushPending(3_600_000);
}

export function toolSchema(name = TOOL): ToolDefinition {
  return { name, description: `What ${name} does.`, parameters: { type: "object", properties: {} } };
}

/** Available, without any hooks. */
export function provider(members: Partial<MemoryProvider> = {}): MemoryProvider {
  return { name: "notes", isAvailable: () => true, initialize() {}, getToolSchemas: () => [], ...members };
}

const ANSWERS: Partial<Record<HookName, unknown>> = { handleToolCall: '{"found":[]}' };

/** Has every hook; `answers` are their results. */
export function recordingProvider(
  name = "notes",
  answers: Partial<Record<HookName, unknown>> = {},
): { readonly provider: MemoryProvider; readonly calls: HookCall[]; argsOf(hook: HookName): unknown[][] } {
  const calls: HookCall[] = [];
  const known: Partial<Record<HookName, unknown>> = {
    ...ANSWERS,
    getToolSchemas: [toolSchema(`${name}_find`)],
    ...answers,
  };
  const members = HOOKS.map((hook) => [
    hook,
    (...args: readonly unknown[]) => {
      calls.push({ hook, args });
      return known[hook];
    },
  ]);
  return {
    provider: provider({ ...Object.fromEntries(members), name }),
    calls,
    argsOf: (hook) => calls.filter((call) => call.hook === hook).map((call) => [...call.args]),
  };
}

/** Runs `misdeed` in these hooks. Offers one tool, unless `getToolSchemas` is among them. */
export function badProvider(hooks: readonly HookName[], misdeed: () => unknown): MemoryProvider {
  const members = hooks.map((hook) => [hook, () => misdeed()]);
  return provider({
    getToolSchemas: () => [toolSchema()],
    handleToolCall: () => "{}",
    ...Object.fromEntries(members),
  });
}

/** Never answers. */
export function hangingProvider(hooks: readonly HookName[]): MemoryProvider {
  return badProvider(hooks, () => new Promise(() => {}));
}

/** The getters of these members throw. */
export function unreadableProvider(members: readonly (keyof MemoryProvider)[]): MemoryProvider {
  const bad = badProvider([], () => {});
  for (const member of members)
    Object.defineProperty(bad, member, {
      get() {
        throw new Error(`no ${member} for you`);
      },
    });
  return bad;
}

/** Values that JavaScript can throw, from errors to values that cannot be converted to text. */
export const THROWN: Readonly<Record<string, () => unknown>> = {
  "an error": () => new Error("the store is closed"),
  "an error without a message": () => new Error(),
  text: () => "the store is closed",
  null: () => null,
  undefined: () => undefined,
  "an object without a prototype": () => Object.create(null),
  "an object that cannot become text": () => ({
    toString() {
      throw new Error("no text for you");
    },
  }),
  "an error whose message throws": () =>
    Object.defineProperty(new Error(), "message", {
      get() {
        throw new Error("no message for you");
      },
    }),
  "an error whose message is no text": () => Object.assign(new Error(), { message: { deep: true } }),
  "a proxy that refuses everything": () =>
    new Proxy(
      {},
      {
        get() {
          throw new Error("nothing for you");
        },
        getPrototypeOf() {
          throw new Error("nothing for you");
        },
      },
    ),
  "a symbol": () => Symbol("odd"),
};

type LogLevel = Exclude<keyof Logger, "dropped">;
type LogLine = {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

export type RecordingLogger = Logger & {
  readonly lines: readonly LogLine[];
  /** Messages of one level. */
  at(level: LogLevel): string[];
};

export function recordingLogger(): RecordingLogger {
  const lines: LogLine[] = [];
  const keep =
    (level: LogLevel): Logger["info"] =>
    (message, fields = {}) => {
      lines.push({ level, message, fields });
    };
  return {
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
    dropped: 0,
    lines,
    at: (level) => lines.filter((line) => line.level === level).map((line) => line.message),
  };
}

/** A promise and the function that resolves it. */
export function pause(): { readonly over: Promise<void>; end(): void } {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  return { over, end: resolve };
}

/** A thenable, as other promise libraries return. `first` runs when it is awaited. */
export function thenable<T>(value: T, first: () => void = () => {}): Promise<T> {
  const then = (give: (value: T) => void): void => {
    first();
    give(value);
  };
  return { then } as Promise<T>;
}
