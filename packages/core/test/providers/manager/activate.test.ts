// From config to a running provider: the settings reach it, and no failure stops the agent.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_MEMORY_CONFIG, type MemoryConfig } from "../../../src/config/index.ts";
import { type Activation, activateProvider } from "../../../src/providers/manager/activate.ts";
import { readProviderHealth } from "../../../src/providers/manager/health.ts";
import { registeringPlugin, writePlugin } from "../../fakes/plugins.ts";
import { recordingLogger } from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

async function activate(
  plugin: { readonly name?: string; readonly more?: string } | string,
  config: Partial<MemoryConfig> = {},
) {
  const home = tempDirectory();
  const source = typeof plugin === "string" ? plugin : registeringPlugin(plugin);
  writePlugin(home, "notes", { "index.mjs": source });
  const log = recordingLogger();
  const activation = await activateProvider({
    home,
    config: { ...DEFAULT_MEMORY_CONFIG, provider: "notes", ...config },
    sessionId: "s1",
    options: { platform: "telegram", user_id: "u1" },
    log,
  });
  return { home, log, activation };
}

function managerOf(activation: Activation) {
  if (activation.kind !== "active") throw new Error(`expected an active provider, got ${activation.kind}`);
  return activation.manager;
}

describe("an activated provider", () => {
  it.each([
    [{}, { outbox: true, outbox_max_items: 10_000 }],
    [
      { outbox: false, outboxMaxItems: 5 },
      { outbox: false, outbox_max_items: 5 },
    ],
  ])(
    "was initialised with the home, the session, the identity and the outbox of config %o",
    async (config, outbox) => {
      const more =
        "initialize(id, { signal, ...rest }) { this.got = [id, rest]; } systemPromptBlock() { return JSON.stringify(this.got); }";
      const { home, activation } = await activate({ more }, config);
      const manager = managerOf(activation);
      const identity = { platform: "telegram", agent_context: "primary", user_id: "u1", hermes_home: home };
      expect(JSON.parse(await manager.buildSystemPrompt())).toEqual(["s1", { ...identity, ...outbox }]);
      await manager.shutdownAll();
    },
  );

  it("works under the limits of the config", async () => {
    const { activation } = await activate(
      {
        more: 'prefetch() { return "0123456789"; } onMemoryWrite(action) { this.wrote = action; } systemPromptBlock() { return String(this.wrote); }',
      },
      { recallMaxChars: 4, mirrorRemove: false },
    );
    const manager = managerOf(activation);
    expect(await manager.prefetchAll("tea?")).toBe("0123");
    manager.onMemoryWrite("remove", "memory", "");
    await manager.flushPending();
    expect(await manager.buildSystemPrompt()).toBe("unde"); // undefined, cut
    await manager.shutdownAll();
  });
});

describe("a provider that cannot be used", () => {
  it.each([
    ["is not there", "", { provider: "nowhere" }, /no memory provider 'nowhere'/],
    ["has a name that leads elsewhere", "", { provider: "../notes" }, /cannot be the name/],
    ["does not load", "export class MemoryProvider { syntax error", {}, /Loading 'notes' failed/],
    ["gives no provider", "export const register = () => {}; // MemoryProvider", {}, /no memory provider/],
    [
      "throws when it is asked",
      registeringPlugin({ more: 'isAvailable() { throw new Error("sk-ant-api03-abcdefghijkl is wrong"); }' }),
      {},
      /isAvailable\(\) failed/,
    ],
    [
      "says so",
      registeringPlugin({ more: 'isAvailable() { return false; } unavailableReason() { return "no key"; }' }),
      {},
      /^no key\.$/,
    ],
  ])("because it %s costs one warning, and the agent goes on", async (_what, source, config, reason) => {
    const { log, activation } = await activate(source, config);
    expect(activation).toMatchObject({ kind: "unavailable", reason: expect.stringMatching(reason) });
    expect(log.at("warn")).toEqual([expect.stringContaining("is not used")]);
    expect(JSON.stringify([log.lines, activation])).not.toContain("abcdefghijkl");
  });

  it.each(["", "  ", "builtin", " none "])("because config says %j is none", async (provider) => {
    const { log, activation } = await activate("", { provider });
    expect([activation, log.lines]).toEqual([{ kind: "none" }, []]);
  });

  it("because its code fails is known to status afterwards, and a missing one leaves no trace", async () => {
    const broken = await activate("export class MemoryProvider { syntax error");
    expect(readProviderHealth(broken.home, "notes")?.availability).toMatchObject({
      available: false,
      reason: expect.stringContaining("Loading 'notes' failed"),
      checked_by: "activation",
    });
    const absent = await activate("", { provider: "../notes" });
    expect(existsSync(join(absent.home, "provider-health"))).toBe(false);
  });

  it("because its name can be read only once is refused, and the agent goes on", async () => {
    const more =
      'looks = 0; get name() { this.looks += 1; if (this.looks > 1) throw Object.create(null); return "x"; }';
    const { log, activation } = await activate({ more });
    expect(activation).toMatchObject({ kind: "unavailable", name: "notes" });
    expect(log.at("warn")).toEqual([
      expect.stringContaining("without a readable name"),
      expect.stringContaining("is not used"),
    ]);
  });
});
