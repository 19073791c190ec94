// Every hook of a provider that works: the order of calls and their arguments.
import { describe, expect, it } from "vitest";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { writeMetadata } from "../../../src/providers/manager/memory-writes.ts";
import { DRIVE, HOOKS, provider, recordingLogger, recordingProvider } from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const SIGNAL = { signal: expect.any(AbortSignal) };

function managerWith(...recorded: readonly ReturnType<typeof recordingProvider>[]): MemoryManager {
  const manager = new MemoryManager();
  for (const { provider: each } of recorded) manager.addProvider(each);
  return manager;
}

describe("every hook", () => {
  it("is left out where it is null", async () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    const optional = HOOKS.filter((hook) => hook !== "initialize" && hook !== "getToolSchemas");
    manager.addProvider(provider(Object.fromEntries(optional.map((hook) => [hook, null]))));
    for (const hook of HOOKS) await DRIVE[hook](manager);
    expect(log.lines).toEqual([]);
  });

  it("keeps the provider's own `this`", async () => {
    class Notes {
      readonly name = "notes";
      #told = 0;
      isAvailable = () => true;
      initialize(): void {}
      getToolSchemas(): [] {
        return [];
      }
      onTurnStart(): void {
        this.#told += 1;
      }
      systemPromptBlock(): string {
        return `told ${this.#told} times`;
      }
    }
    const manager = new MemoryManager();
    manager.addProvider(new Notes());
    await manager.onTurnStart(1, "hello");
    expect(await manager.buildSystemPrompt()).toBe("told 1 times");
  });
});

describe("initialisation", () => {
  it("brings the manager's home, unless the caller names another", async () => {
    const home = tempDirectory();
    const manager = new MemoryManager({ home });
    const notes = recordingProvider();
    manager.addProvider(notes.provider);
    await manager.initializeAll("s1");
    await manager.initializeAll("s1", { hermes_home: "/elsewhere" });
    expect(notes.argsOf("initialize")).toEqual([
      ["s1", { hermes_home: home, ...SIGNAL }],
      ["s1", { hermes_home: "/elsewhere", ...SIGNAL }],
    ]);
    await manager.shutdownAll();
  });

  it("without any home is a mistake of the caller", async () => {
    await expect(new MemoryManager().initializeAll("s1")).rejects.toThrow("home");
  });
});

describe("collected text", () => {
  const HOOK_CALLS = [
    ["systemPromptBlock", (manager: MemoryManager) => manager.buildSystemPrompt()],
    ["prefetch", (manager: MemoryManager) => manager.prefetchAll("tea?")],
    ["onPreCompress", (manager: MemoryManager) => manager.onPreCompress([])],
  ] as const;

  it.each(HOOK_CALLS)(
    "of %s is untrimmed, and nothing for blank texts and other values",
    async (hook, ask) => {
      expect(await ask(managerWith(recordingProvider("notes", { [hook]: " likes tea\n" })))).toBe(
        " likes tea\n",
      );
      for (const blank of ["", " \n\t", "\u0085\u001c", undefined, null, 7, { text: "x" }, ["x"]])
        expect(await ask(managerWith(recordingProvider("notes", { [hook]: blank })))).toBe("");
    },
  );
});

describe("the start of a turn", () => {
  it("comes before the recall, and both know their session and message", async () => {
    const notes = recordingProvider();
    const manager = managerWith(notes);
    notes.calls.length = 0;
    await manager.onTurnStart(3, "tea?", { model: "m", remaining_tokens: 100 });
    await manager.prefetchAll("tea?", { session_id: "s1" });
    expect(notes.calls).toEqual([
      { hook: "onTurnStart", args: [3, "tea?", { model: "m", remaining_tokens: 100, ...SIGNAL }] },
      { hook: "prefetch", args: ["tea?", { session_id: "s1", ...SIGNAL }] },
    ]);
  });
});

describe("a session switch", () => {
  const switchedWith = async (
    ...args: Parameters<MemoryManager["onSessionSwitch"]>
  ): Promise<unknown[][]> => {
    const notes = recordingProvider();
    await managerWith(notes).onSessionSwitch(...args);
    return notes.argsOf("onSessionSwitch");
  };

  it("has its parent and reset even when the caller gave none", async () => {
    expect(await switchedWith("s2")).toEqual([["s2", { parent_session_id: "", reset: false, ...SIGNAL }]]);
  });

  it("forwards the reason and other options", async () => {
    const options = { parent_session_id: "s1", reset: true, reason: "new_session", extra: 1 };
    expect(await switchedWith("s2", options)).toEqual([["s2", { ...options, ...SIGNAL }]]);
  });

  it.each(["", null, undefined])("to %j is none", async (id) => {
    expect(await switchedWith(id)).toEqual([]);
  });

  it("has `rewound` only when it is true", async () => {
    const [undo] = await switchedWith("s1", { rewound: true });
    const [other] = await switchedWith("s1", { rewound: false });
    expect(undo?.[1]).toHaveProperty("rewound", true);
    expect(other?.[1]).not.toHaveProperty("rewound");
  });
});

describe("the transcript", () => {
  const messages = [{ role: "user", content: "tea?" }];

  it.each(["onSessionEnd", "onPreCompress"] as const)("reaches %s as a copy", async (hook) => {
    const manager = new MemoryManager();
    manager.addProvider(provider({ [hook]: (list: unknown[]) => void list.splice(0) }));
    const mine = [...messages];
    await manager[hook](mine);
    expect(mine).toEqual(messages);
  });
});

describe("a write to the built-in memory", () => {
  it("is told with a copy of where it came from", async () => {
    const notes = recordingProvider();
    const manager = managerWith(notes);
    const metadata = writeMetadata({ sessionId: "s1", platform: "cli", toolCallId: "call_1" });
    manager.onMemoryWrite("add", "user", "likes tea", metadata);
    await manager.flushPending();
    expect(notes.argsOf("onMemoryWrite")).toEqual([["add", "user", "likes tea", metadata]]);
    expect(notes.argsOf("onMemoryWrite")[0]?.[3]).not.toBe(metadata);
  });

  it.each([
    [undefined, 1],
    [true, 1],
    [false, 0],
  ])("that removes is told when memory.mirror_remove is %j: %d times", async (mirrorRemove, times) => {
    const notes = recordingProvider();
    const manager = new MemoryManager(mirrorRemove === undefined ? {} : { mirrorRemove });
    manager.addProvider(notes.provider);
    manager.onMemoryWrite("remove", "memory", "", { old_text: "tea" });
    await manager.flushPending();
    expect(notes.argsOf("onMemoryWrite")).toHaveLength(times);
  });
});

describe("a delegation", () => {
  it("is told with the child's session, empty when it is not known", async () => {
    const notes = recordingProvider();
    const manager = managerWith(notes);
    manager.onDelegation("look it up", "found it", { child_session_id: "s7" });
    manager.onDelegation("look again", "nothing");
    await manager.flushPending();
    expect(notes.argsOf("onDelegation")).toEqual([
      ["look it up", "found it", { child_session_id: "s7", ...SIGNAL }],
      ["look again", "nothing", { child_session_id: "", ...SIGNAL }],
    ]);
  });
});
