import { describe, expect, it } from "vitest";
import { instantiate } from "../../../src/providers/discovery/load-provider.ts";

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

  it("gives a fresh instance every time", async () => {
    const [one, two] = [await instantiate({ Sample }), await instantiate({ Sample })];
    expect(one.ok && two.ok && one.value !== two.value).toBe(true);
  });
});

describe("where there is none, the message tells what was tried", () => {
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

  it("a newer contract is the finding, whatever else failed", async () => {
    const register = () => {
      throw new Error("no");
    };
    expect(await instantiate({ register, default: { name: "x", contract: 9 } })).toMatchObject({
      ok: false,
      error: { kind: "wrong-contract" },
    });
  });
});
