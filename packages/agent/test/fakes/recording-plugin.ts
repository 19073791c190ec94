// A memory provider as a plugin in a home, which notes every call of its hooks in this process.
import { randomUUID } from "node:crypto";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { HOOKS, type HookCall, type HookName } from "../../../core/test/fakes/providers.ts";

export const RECORDER = "recorder";

export type Recorder = {
  /** Without the signals, which nobody compares. */
  readonly calls: readonly HookCall[];
  /** Calls of these hooks, oldest first; from now on they are not given again. */
  take(...hooks: readonly HookName[]): readonly HookCall[];
};

/** Named by `memory.provider: recorder`. `answers` says what a hook gives back. */
export function writeRecorder(home: string, answers: Partial<Record<HookName, unknown>> = {}): Recorder {
  const key = `hermes-test-recorder:${randomUUID()}`;
  const calls: HookCall[] = [];
  Reflect.set(globalThis, key, (hook: HookName, args: readonly unknown[]) => {
    calls.push({ hook, args: args.map(withoutSignal) });
    return hook === "getToolSchemas" ? (answers[hook] ?? []) : answers[hook];
  });
  const members = HOOKS.map((hook) => `${hook}(...args) { return note(${JSON.stringify(hook)}, args); },`);
  writePlugin(home, RECORDER, {
    "plugin.yaml": `name: ${RECORDER}\nversion: 1\ndescription: "Notes calls"\n`,
    "index.js": `const note = globalThis[${JSON.stringify(key)}];
      export function register(ctx) {
        ctx.registerMemoryProvider({ name: ${JSON.stringify(RECORDER)}, isAvailable: () => true, ${members.join("\n")} });
      }\n`,
  });
  let seen = 0;
  return {
    calls,
    take(...hooks) {
      const fresh = calls.slice(seen).filter(({ hook }) => hooks.includes(hook));
      seen = calls.length;
      return fresh;
    },
  };
}

function withoutSignal(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("signal" in value)) return value;
  const { signal: _signal, ...rest } = value;
  return rest;
}
