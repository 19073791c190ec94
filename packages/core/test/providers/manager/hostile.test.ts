// Providers that throw every kind of value in every hook, and objects whose getters throw.
import { describe, expect, it } from "vitest";
import { readProviderHealth } from "../../../src/providers/manager/health.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import {
  badProvider,
  DRIVE,
  HOOKS,
  type HookName,
  provider,
  recordingLogger,
  THROWN,
  thenable,
  toolSchema,
  unreadableProvider,
} from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

/** Calls the hook several times on a bad provider, and collects log, answers and counts. */
async function storm(hook: HookName, bad: ReturnType<typeof provider>, often = 3) {
  const home = tempDirectory();
  const log = recordingLogger();
  const manager = new MemoryManager({ home, log });
  expect(manager.addProvider(bad)).toBe(true);
  const times = hook === "shutdown" ? 1 : often;
  const answers: unknown[] = [];
  for (let time = 0; time < times; time += 1) answers.push(await DRIVE[hook](manager));
  await manager.shutdownAll();
  return { log, answers, times, counts: readProviderHealth(home, "notes")?.hooks[hook] };
}

/** Each kind of thrown value in turn. */
function everyThrow(): () => unknown {
  const all = Object.values(THROWN);
  let next = 0;
  return () => {
    next += 1;
    return all[next % all.length]?.();
  };
}

describe.each(HOOKS)("a provider that fails in %s", (hook) => {
  it.each(["at once", "later"])(
    "by throwing anything %s costs one warning, and every time is counted",
    async (when) => {
      const thrown = everyThrow();
      const misdeed = (): unknown => {
        if (when === "later") return Promise.reject(thrown());
        throw thrown();
      };
      const often = Object.keys(THROWN).length;
      const { log, times, counts, answers } = await storm(hook, badProvider([hook], misdeed), often);
      // At registration, an asynchronous answer is not awaited.
      const asked = hook === "getToolSchemas" && when === "at once" ? times + 1 : times;
      expect(counts).toMatchObject({ failures: asked, timeouts: 0 });
      const named = expect.stringMatching(new RegExp(`^The memory provider 'notes' failed in ${hook}: .`));
      if (hook === "handleToolCall") {
        expect([log.at("warn"), log.at("error")]).toEqual([[], Array(often).fill(named)]);
        for (const answer of answers) expect(JSON.parse(String(answer))).toHaveProperty("error");
      } else expect([log.at("warn"), log.at("error")]).toEqual([[named], []]);
      if (["systemPromptBlock", "prefetch", "onPreCompress"].includes(hook))
        expect(answers).toEqual(Array(often).fill(""));
    },
  );

  it("because the member throws when it is looked at", async () => {
    const { log, times, counts } = await storm(hook, unreadableProvider([hook]));
    expect(counts?.failures).toBeGreaterThanOrEqual(times);
    expect(log.at("warn").length + new Set(log.at("error")).size).toBe(1);
  });
});

describe("a provider object that cannot be looked at", () => {
  it.each(["name", "contract"] as const)("because of its %s is refused with one warning", (member) => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    expect(manager.addProvider(unreadableProvider([member]))).toBe(false);
    expect([manager.providers, log.at("warn").length]).toEqual([[], 1]);
    expect(manager.addProvider(provider())).toBe(true); // the slot is still free
  });

  it("after registration goes by the name it had then", async () => {
    const home = tempDirectory();
    const log = recordingLogger();
    const manager = new MemoryManager({ home, log });
    let looks = 0;
    const shifty = Object.defineProperty(
      badProvider(["onTurnStart"], () => {
        throw new Error("no");
      }),
      "name",
      {
        get() {
          looks += 1;
          if (looks > 1) throw new Error("no name any more");
          return "shifty";
        },
      },
    );
    expect(manager.addProvider(shifty)).toBe(true);
    expect(manager.providers).toEqual([shifty]);
    for (const hook of HOOKS) await DRIVE[hook](manager);
    expect(log.at("warn")).toEqual([expect.stringContaining("'shifty' failed in onTurnStart: no.")]);
    expect(readProviderHealth(home, "shifty")?.hooks.onTurnStart?.failures).toBe(1);
  });
});

describe("the reason of a failure", () => {
  const saidBy = async (cause: unknown): Promise<string> => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    manager.addProvider(badProvider(["onTurnStart"], () => Promise.reject(cause)));
    await manager.onTurnStart(1, "tea?");
    return String(log.lines[0]?.fields.reason);
  };

  it("is told without its secrets", async () => {
    const said = await saidBy(new Error("401 for Bearer sk-ant-api03-abcdefghijklmnop"));
    expect(said).toContain("401");
    expect(said).not.toContain("abcdefghijklmnop");
  });

  it("is cut, also when it is 20 million characters long, and no secret shows at the cut", async () => {
    const long = `${"x".repeat(290)} sk-ant-api03-${"abcdefghijklmnop".repeat(4)} ${"y".repeat(20_000_000)}`;
    const said = await saidBy(new Error(long));
    expect(said.length).toBeLessThan(620);
    expect(said).not.toContain("abcdef");
  });

  it("is given for every thrown value", async () => {
    const said = Object.entries(THROWN).map(async ([what, thrown]) => [what, await saidBy(thrown())]);
    const unprintable = "something was thrown that cannot be shown";
    expect(Object.fromEntries(await Promise.all(said))).toEqual({
      "an error": "the store is closed",
      "an error without a message": "no reason given",
      text: "the store is closed",
      null: "null",
      undefined: "undefined",
      "an object without a prototype": unprintable,
      "an object that cannot become text": unprintable,
      "an error whose message throws": unprintable,
      "an error whose message is no text": unprintable,
      "a proxy that refuses everything": unprintable,
      "a symbol": "Symbol(odd)",
    });
  });
});

describe("an answer that is a promise of another kind", () => {
  it("is awaited like any promise", async () => {
    const manager = new MemoryManager();
    manager.addProvider(provider({ prefetch: () => thenable("likes tea") }));
    expect(await manager.prefetchAll("tea?")).toBe("likes tea");
  });

  it("that throws when it is awaited is a failure", async () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    const trap = (): never => {
      throw new Error("trap");
    };
    manager.addProvider(
      provider({ prefetch: () => thenable("", trap), getToolSchemas: () => thenable([], trap) }),
    );
    await manager.initializeAll("s1", { hermes_home: "/nowhere" });
    expect(await manager.prefetchAll("tea?")).toBe("");
    expect(log.at("warn")).toEqual([
      expect.stringContaining("failed in getToolSchemas: trap"),
      expect.stringContaining("failed in prefetch: trap"),
    ]);
  });
});

describe("a flooding tool", () => {
  it("is told about instead of being passed on", async () => {
    const flood = JSON.stringify({ result: "x".repeat(2_000_000) });
    const manager = new MemoryManager();
    manager.addProvider(
      provider({ getToolSchemas: () => [toolSchema("notes_find")], handleToolCall: () => flood }),
    );
    const answer = JSON.parse(await manager.handleToolCall("notes_find", {}));
    expect(answer).toEqual({ error: expect.stringContaining("too long") });
  });
});
