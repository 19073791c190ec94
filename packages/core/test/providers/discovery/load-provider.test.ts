import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import {
  checkAvailability,
  checkProvider,
  instantiate,
  loadProvider,
} from "../../../src/providers/discovery/load-provider.ts";
import { BUNDLED_NAMES } from "../../fakes/bundled-names.ts";
import { startChild } from "../../fakes/child.ts";
import { members, providerClass, registeringPlugin, writePlugin } from "../../fakes/plugins.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

describe("loading a plugin", () => {
  it("returns the provider and its directory entry, selected by the directory's name", async () => {
    const home = tempDirectory();
    writePlugin(home, "notes", { "index.mjs": registeringPlugin({ name: "another-name" }) });
    const loaded = await loadProvider(home, "notes");
    expect(loaded).toMatchObject({
      ok: true,
      value: { found: { name: "notes", source: "user" }, provider: { name: "another-name" } },
    });
  });

  it("runs the module once and makes a fresh instance each time", async () => {
    const home = tempDirectory();
    const counting = `let runs = 0; runs += 1; let made = 0;
      ${providerClass("CountingMemoryProvider", { more: "made = ++made; get runs() { return runs; }" })}`;
    writePlugin(home, "counting", { "index.mjs": counting });
    const [one, two] = [await loadProvider(home, "counting"), await loadProvider(home, "counting")];
    expect(one).toMatchObject({ ok: true, value: { provider: { made: 1, runs: 1 } } });
    expect(two).toMatchObject({ ok: true, value: { provider: { made: 2, runs: 1 } } });
  });

  it.each(BUNDLED_NAMES)("loads the bundled %s", async (name) => {
    const [one, two] = [await loadProvider(tempDirectory(), name), await loadProvider(tempDirectory(), name)];
    expect(one).toMatchObject({ ok: true, value: { found: { source: "bundled" }, provider: { name } } });
    expect(one.ok && two.ok && one.value.provider !== two.value.provider).toBe(true);
  });
});

describe("a provider that cannot be loaded", () => {
  it.each([
    ["../notes", "bad-name", /cannot be the name/],
    ["", "bad-name", /cannot be the name/],
    ["nowhere", "not-found", new RegExp(`There are: ${BUNDLED_NAMES.join(", ")}, notes\\.`)],
    ["none", "not-found", /There is no memory provider 'none'/],
  ])("%j: %s", async (name, kind, message) => {
    const home = tempDirectory();
    writePlugin(home, "notes", { "index.mjs": registeringPlugin() });
    expect(await loadProvider(home, name)).toMatchObject({
      ok: false,
      error: { kind, message: expect.stringMatching(message) },
    });
  });
});

describe("in a separate process, where Node imports the plugins", () => {
  /** Plugins that hang, and their deadline in milliseconds. */
  const HANGING: Readonly<Record<string, number>> = { hanging: 300, stuck: 300 };

  async function load(home: string, names: readonly string[]): Promise<unknown[]> {
    const child = startChild(process.execPath, [join(import.meta.dirname, "loading-process.ts")]);
    for (const name of names) child.say(`${home}\t${name}\t${HANGING[name] ?? 10_000}`);
    child.closeInput();
    return (await child.rest()).map((line) => JSON.parse(line));
  }

  it("types are stripped, CommonJS works, and nothing of one plugin touches the next", async () => {
    const home = join(tempDirectory(), "mein Heim – 家 #1?%20");
    writePlugin(home, "typed", {
      "index.ts": `import { answer } from "./answer.ts";
        type Context = { registerMemoryProvider(provider: object): void };
        class TypedMemoryProvider {
          readonly name: string = "typed";
          isAvailable(): boolean { return answer === 42; }
          initialize(_id: string): void {}
          getToolSchemas(): readonly object[] { return []; }
        }
        export function register(ctx: Context): void { ctx.registerMemoryProvider(new TypedMemoryProvider()); }\n`,
      "answer.ts": "export const answer: number = 42;\n",
    });
    writePlugin(home, "common", {
      "index.js": `class MemoryProvider { get name() { return "common"; } ${members()} }\nmodule.exports = { MemoryProvider };\n`,
      "package.json": '{"type":"commonjs"}',
    });
    writePlugin(home, "syntax", { "index.mjs": "// MemoryProvider\nconst = 1;\n" });
    writePlugin(home, "throwing", {
      "index.mjs": '// MemoryProvider\nthrow new Error("bad token sk-ant-abc123def456ghi789");\n',
    });
    writePlugin(home, "lacking", { "index.mjs": `import "not-installed";\n${registeringPlugin()}` });
    writePlugin(home, "enums", { "index.ts": `enum A { B }\n${registeringPlugin()}` });

    const names = ["typed", "syntax", "throwing", "lacking", "enums", "common", "typed"];
    const outcomes = await load(home, names);
    const failed = (message: RegExp) => ({
      kind: "import-failed",
      message: expect.stringMatching(message),
      strays: [],
    });
    expect(outcomes).toEqual([
      { name: "typed", available: true, strays: [] },
      failed(/^Loading 'syntax' failed: Unexpected token '='\. Repair.*node ".*index\.mjs"/),
      failed(/^Loading 'throwing' failed: bad token sk-ant-\*\*\*\. Repair/),
      failed(
        /^Loading 'lacking' failed: Cannot find package 'not-installed'.*'hermes memory setup lacking --yes'/,
      ),
      failed(/^Loading 'enums' failed: .*build to JavaScript/),
      { name: "common", available: true, strays: [] },
      { name: "typed", available: true, strays: [] },
    ]);
  });

  it("a module that never finishes is left behind, and one that leaks a rejection is no crash", async () => {
    const home = tempDirectory();
    writePlugin(home, "hanging", { "index.mjs": `await new Promise(() => {});\n${registeringPlugin()}` });
    writePlugin(home, "stuck", {
      "index.mjs": `${providerClass("MemoryProvider")}\nexport const register = (_ctx) => new Promise(() => {});\n`,
    });
    writePlugin(home, "leaking", {
      "index.mjs": `Promise.reject(new Error("left behind"));\n${registeringPlugin()}`,
    });
    const late = {
      kind: "import-failed",
      message: expect.stringMatching(/did not finish within 0\.3 s/),
      strays: [],
    };
    expect(await load(home, ["hanging", "stuck", "leaking"])).toEqual([
      late,
      late,
      { name: "sample", available: true, strays: ["Error: left behind"] },
    ]);
  });
});

class Sample {
  readonly name: string = "sample";
  isAvailable(): boolean {
    return true;
  }
  initialize(): void {}
  getToolSchemas(): readonly object[] {
    return [];
  }
}
class Other extends Sample {
  override readonly name = "other";
}

type Context = Readonly<Record<string, (value?: unknown) => void>>;

async function nameFrom(module: unknown): Promise<string> {
  const made = await instantiate(module);
  return made.ok ? made.value.name : made.error.message;
}

describe("a plugin's exports become a provider", () => {
  it.each([
    ["register(ctx)", { register: (ctx: Context) => ctx.registerMemoryProvider?.(new Sample()) }],
    [
      "register(ctx) in Python's spelling",
      { register: (ctx: Context) => ctx.register_memory_provider?.(new Sample()) },
    ],
    [
      "an async register(ctx)",
      { register: async (ctx: Context) => ctx.registerMemoryProvider?.(new Sample()) },
    ],
    [
      "a default function of one argument",
      { default: (ctx: Context) => ctx.registerMemoryProvider?.(new Sample()) },
    ],
    ["a default function that returns it", { default: (_ctx: Context) => new Sample() }],
    [
      "a default object with register",
      { default: { register: (ctx: Context) => ctx.registerMemoryProvider?.(new Sample()) } },
    ],
    ["a default class", { default: Sample }],
    ["a default factory", { default: () => new Sample() }],
    ["an async default factory", { default: async () => new Sample() }],
    ["a default object", { default: new Sample() }],
    ["an exported class", { Sample }],
    ["an exported factory", { createSampleProvider: () => new Sample() }],
    ["an exported object", { provider: new Sample() }],
    ["a translated CommonJS module", { default: { __esModule: true, default: Sample } }],
    ["a CommonJS module", { default: { Sample }, "module.exports": { Sample }, Sample }],
  ])("%s", async (_how, module) => {
    expect(await nameFrom(module)).toBe("sample");
  });

  it("the last one registered counts, and the other calls of the context do nothing", async () => {
    const register = (ctx: Context): void => {
      for (const name of ["register_tool", "registerTool", "register_hook", "registerHook"]) ctx[name]?.({});
      ctx.register_cli_command?.({});
      ctx.registerCliCommand?.({});
      ctx.registerMemoryProvider?.(new Sample());
      ctx.registerMemoryProvider?.(new Other());
    };
    expect(await nameFrom({ register })).toBe("other");
  });

  it("register comes before the default export, and that before other exports", async () => {
    const register = (ctx: Context) => ctx.registerMemoryProvider?.(new Other());
    expect(await nameFrom({ register, default: Sample })).toBe("other");
    expect(await nameFrom({ default: Other, Sample })).toBe("other");
  });

  it("a register that throws or registers nothing falls through to the classes", async () => {
    const failing = () => {
      throw new Error("no");
    };
    expect(await nameFrom({ register: failing, Sample })).toBe("sample");
    expect(await nameFrom({ register: () => {}, Sample })).toBe("sample");
  });

  it("takes the first class by name that can be made and is one", async () => {
    class Demanding extends Sample {
      constructor() {
        super();
        throw new Error("needs an argument");
      }
    }
    class Half {
      isAvailable() {}
    }
    expect(await nameFrom({ Z: Sample, M: Other, B: Half, A: Demanding })).toBe("other");
  });

  it("makes no instance of classes that are something else, and calls no other function", async () => {
    const made: string[] = [];
    class Client {
      constructor() {
        made.push("client");
      }
      connect() {}
    }
    const connect = () => made.push("function");
    expect(await nameFrom({ Client, connect, Sample })).toBe("sample");
    expect(made).toEqual([]);
  });
});

describe("without a provider, the message lists the attempts", () => {
  it.each([
    [{}, "it exports nothing of that kind"],
    [undefined, "it exports nothing of that kind"],
    [{ helper: () => 1, VERSION: "1" }, "it exports nothing of that kind"],
    [{ register: () => {} }, "register() failed: it registered no provider"],
    [
      { register: (ctx: Context) => ctx.registerMemoryProvider?.(Sample) },
      "register() is a function or class, not a provider object",
    ],
    [
      {
        Old: class {
          is_available() {}
          initialize() {}
          get_tool_schemas() {}
          name = "old";
        },
      },
      "class Old has is_available(), but the contract calls it isAvailable(), has get_tool_schemas(), but the contract calls it getToolSchemas()",
    ],
  ])("%o", async (module, message) => {
    expect(await nameFrom(module)).toBe(message);
  });

  it("a newer contract is reported before all other failures", async () => {
    const register = () => {
      throw new Error("no");
    };
    expect(await instantiate({ register, default: { name: "x", contract: 9 } })).toMatchObject({
      ok: false,
      error: { kind: "wrong-contract" },
    });
  });
});

const LEAST = {
  name: "notes",
  isAvailable: () => true,
  initialize: () => {},
};

function faultOf(value: unknown): string {
  const checked = checkProvider(value);
  return checked.ok ? "none" : checked.error.message;
}

describe("what counts as a provider", () => {
  it("needs a name and two methods, own or inherited", () => {
    expect(checkProvider(LEAST).ok).toBe(true);
    expect(checkProvider(Object.create(LEAST)).ok).toBe(true);
    for (const member of ["isAvailable", "initialize"] as const)
      expect(faultOf({ ...LEAST, [member]: undefined })).toBe(`has no ${member}()`);
    expect(faultOf({ ...LEAST, name: " \n" })).toBe("has no 'name'");
    expect(faultOf({ ...LEAST, name: "builtin" })).toMatch(/reserved/);
  });

  it.each([undefined, null, 7, "text", class {}, () => {}])("%s is none", (value) => {
    expect(checkProvider(value).ok).toBe(false);
    expect(faultOf(value)).toMatch(/not a provider object/);
  });

  it("says which name the contract has for a method in Python's spelling", () => {
    expect(faultOf({ ...LEAST, sync_turn() {} })).toBe(
      "has sync_turn(), but the contract calls it syncTurn()",
    );
    expect(faultOf({ ...LEAST, isAvailable: undefined, is_available() {} })).toBe(
      "has is_available(), but the contract calls it isAvailable()",
    );
    expect(faultOf({ ...LEAST, sync_turn() {}, syncTurn() {} })).toBe("none");
  });

  it("an optional member may be absent or null, but nothing else than a function", () => {
    expect(faultOf({ ...LEAST, prefetch: undefined, shutdown: null })).toBe("none");
    expect(faultOf({ ...LEAST, prefetch: "always" })).toBe("has a 'prefetch' that is no function");
  });

  it("may not know its tools before it is initialised", () => {
    const later = {
      ...LEAST,
      getToolSchemas() {
        throw new Error("not yet");
      },
    };
    expect(faultOf(later)).toBe("none");
  });

  it("a newer contract is told apart from a broken provider", () => {
    expect(checkProvider({ name: "x", contract: 2 })).toMatchObject({
      ok: false,
      error: { kind: "wrong-contract", message: expect.stringMatching(/version 2.*Update hermes-memory/) },
    });
    expect(checkProvider({ ...LEAST, contract: 1 }).ok).toBe(true);
    for (const contract of ["1", 0, 1.5, null])
      expect(faultOf({ ...LEAST, contract })).toMatch(/version number/);
  });

  it("a member that throws when it is read is a fault, not an accident", () => {
    const evil = {
      ...LEAST,
      get name(): string {
        throw new Error("key sk-ant-abc123def456ghi789 expired");
      },
    };
    expect(faultOf(evil)).toBe("cannot be looked at: key sk-ant-*** expired");
  });
});

function provider(members: Partial<MemoryProvider>): MemoryProvider {
  return { name: "x", isAvailable: () => true, initialize() {}, getToolSchemas: () => [], ...members };
}

describe("checking whether a provider is available", () => {
  it("takes a plain answer and a promised one", async () => {
    expect(await checkAvailability(provider({}))).toEqual({ available: true });
    expect(await checkAvailability(provider({ isAvailable: async () => true }))).toEqual({ available: true });
    expect(await checkAvailability(provider({ isAvailable: () => false }))).toEqual({ available: false });
  });

  it("gives the provider's own reason, in one line and without secrets", async () => {
    const isAvailable = () => false;
    const unavailableReason = async () => "Key sk-ant-abc123def456ghi789\n  was refused.\n";
    expect(await checkAvailability(provider({ isAvailable, unavailableReason }))).toEqual({
      available: false,
      reason: "Key sk-ant-*** was refused.",
    });
  });

  it("a throw or a rejection is a no with a reason", async () => {
    const throwing = () => {
      throw new Error("no config");
    };
    const rejecting = () => Promise.reject(new Error("no config"));
    for (const isAvailable of [throwing, rejecting])
      expect(await checkAvailability(provider({ isAvailable }))).toEqual({
        available: false,
        reason: "isAvailable() failed: no config.",
      });
    expect(
      await checkAvailability(provider({ isAvailable: () => false, unavailableReason: throwing })),
    ).toEqual({
      available: false,
      reason: "unavailableReason() failed: no config.",
    });
  });

  it("one that hangs is not available after the deadline, and its later answer is ignored", async () => {
    const { promise, reject } = Promise.withResolvers<boolean>();
    const isAvailable = () => promise;
    expect(await checkAvailability(provider({ isAvailable }), { timeoutMs: 20 })).toEqual({
      available: false,
      reason: "isAvailable() did not finish within 0.02 s.",
    });
    reject(new Error("late"));
  });
});
