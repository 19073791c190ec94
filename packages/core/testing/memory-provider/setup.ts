// A provider's members, settings, modes and self-test.
import { readdirSync, statSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { PROVIDER_CONTRACT } from "../../src/providers/contract.ts";
import { checkProvider } from "../../src/providers/discovery/load-provider.ts";
import { fieldsOf, readExisting } from "../../src/providers/setup/setup.ts";
import type { Suite, TestScope } from "../runner.ts";
import { MESSAGES } from "./inputs.ts";
import { close, hasSetting, type ProviderHarness, probe, settle, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const ENTRY = "The kiln in the yard is fired at 1240 degrees";

// ---- Before `initialize`: members and settings

export function structureContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("has every member the contract asks for, of the right kind", (test) => {
    expect(checkProvider(harness.create(test.directory()))).toMatchObject({ ok: true });
  });

  it("has a name that selects it, and a version of the contract that is known", (test) => {
    const { name, contract = 1 } = harness.create(test.directory());
    expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
    expect(["builtin", "built-in", "none"]).not.toContain(name.toLowerCase());
    expect(contract).toBeLessThanOrEqual(PROVIDER_CONTRACT);
  });

  it("says whether it is available without a connection and without writing", async (test) => {
    const home = test.directory();
    const provider = harness.create(home);
    const before = filesIn(home);
    const connections = countConnections(test);
    expect(await provider.isAvailable()).toBe(true);
    expect(typeof (await provider.unavailableReason?.())).toMatch(/^(string|undefined)$/);
    expect(connections()).toBe(0);
    expect(filesIn(home)).toEqual(before);
  });

  it("lists its tools and its settings, and nothing is created by it", async (test) => {
    const home = test.directory();
    const provider = harness.create(home);
    const before = filesIn(home);
    expect(Array.isArray((await provider.getToolSchemas?.()) ?? [])).toBe(true);
    provider.getConfigSchema?.();
    expect(filesIn(home)).toEqual(before);
  });

  it("asks for settings that a wizard can ask for", (test) => {
    const { fields, warnings } = fieldsOf(harness.create(test.directory()));
    expect(warnings).toEqual([]);
    const keys = fields.map((field) => field.key);
    expect(keys).toEqual([...new Set(keys)]);
    for (const [index, field] of fields.entries()) {
      const earlier = keys.slice(0, index);
      expect(field.key).toMatch(/^[A-Za-z][\w.-]*$/); // usable in --set key=value
      expect(field).toEqual(JSON.parse(JSON.stringify(field)));
      expect(typeof (field.default ?? "")).toBe("string");
      if (field.choices && field.default !== undefined) expect(field.choices).toContain(field.default);
      if (field.secret) expect(field.default).toBe(undefined);
      for (const key of Object.keys(field.when ?? {})) expect(earlier).toContain(key);
      if (field.default_from) expect(earlier).toContain(field.default_from.field);
    }
  });

  it("keeps its settings, and a second setup is offered the values of the first", async (test) => {
    const home = test.directory();
    const { name } = harness.create(home);
    const { fields } = fieldsOf(harness.create(home));
    const values = fields.flatMap(({ key, secret, choices, default: standard }): [string, string][] => {
      const value = choices?.at(-1) ?? standard;
      return secret || value === undefined ? [] : [[key, value]];
    });
    await harness.create(home).saveConfig?.(Object.fromEntries(values), home);
    const provider = harness.create(home);
    const { settings } = await readExisting({ home, name, fields, env: {}, provider });
    expect([...settings].sort()).toEqual(values.sort());
    expect(await provider.isAvailable()).toBe(true);
  });

  it("settles every call, also when it was never initialised", async (test) => {
    const provider = harness.create(test.directory());
    const options = { session_id: "session-1" };
    const calls: readonly (() => unknown)[] = [
      () => provider.systemPromptBlock?.({}),
      () => provider.onTurnStart?.(1, "How hot is the kiln?", {}),
      () => provider.prefetch?.("How hot is the kiln?", options),
      () => provider.queuePrefetch?.("How hot is the kiln?", options),
      () => provider.syncTurn?.("How hot is the kiln?", "1240 degrees.", options),
      () => provider.onMemoryWrite?.("add", "user", "Owns a kiln", {}),
      () => provider.onDelegation?.("task", "result", { child_session_id: "" }),
      () => provider.onPreCompress?.(MESSAGES, {}),
      () => provider.onSessionSwitch?.("session-2", { parent_session_id: "", reset: false }),
      () => provider.onSessionEnd?.(MESSAGES, {}),
    ];
    for (const call of calls) expect(["answered", "failed"]).toContain(await settle(call));
    await close(provider); // the manager shuts it down too when `initialize` has failed
  });
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(directory, name));
      return `${name} ${size} ${mtimeMs}`;
    });
}

/** Counts the calls of `connect` on sockets of this process from now on. */
function countConnections(test: TestScope): () => number {
  const { connect } = Socket.prototype;
  let count = 0;
  const counting: (...args: unknown[]) => Socket = function (this: Socket, ...args) {
    count += 1;
    return Reflect.apply(connect, this, args);
  };
  Object.assign(Socket.prototype, { connect: counting });
  test.after(() => Object.assign(Socket.prototype, { connect }));
  return () => count;
}

// ---- `mode`, for providers with that setting: recall, tools, or both

export function modesContract({ it, expect }: Suite, harness: ProviderHarness): void {
  const { modeSetting = "mode" } = harness;
  const whereItHasModes = it.skipIf(!hasSetting(harness, modeSetting));

  whereItHasModes("offers hybrid, context and tools, and is hybrid unless told", () => {
    const field = harness
      .create(".")
      .getConfigSchema?.()
      .find(({ key }) => key === modeSetting);
    expect(field).toMatchObject({ choices: ["hybrid", "context", "tools"], default: "hybrid" });
  });

  for (const mode of ["hybrid", "no such mode"]) {
    it(`has tools and recall in mode '${mode}', if it is saved`, async (test) => {
      const home = test.directory();
      await settle(() => harness.create(home).saveConfig?.({ [modeSetting]: mode }, home)); // an unknown mode may be refused
      const { provider } = await start(test, harness, { home });
      expect((await provider.getToolSchemas?.()) ?? []).not.toEqual([]);
      await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
      expect(await provider.prefetch?.("how hot is the kiln?", OPTIONS)).toContain(ENTRY);
    });
  }

  whereItHasModes("has recall and no tools in mode 'context'", async (test) => {
    const { provider } = await start(test, harness, { settings: { [modeSetting]: "context" } });
    expect((await provider.getToolSchemas?.()) ?? []).toEqual([]);
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    expect(await provider.prefetch?.("how hot is the kiln?", OPTIONS)).toContain(ENTRY);
  });

  whereItHasModes("has tools and no recall in mode 'tools'", async (test) => {
    const { provider } = await start(test, harness, { settings: { [modeSetting]: "tools" } });
    await provider.onMemoryWrite?.("add", "memory", ENTRY, {});
    await provider.queuePrefetch?.("how hot is the kiln?", OPTIONS);
    expect((await provider.prefetch?.("how hot is the kiln?", OPTIONS)) ?? "").toBe("");
    expect((await provider.getToolSchemas?.()) ?? []).not.toEqual([]);
  });

  whereItHasModes("tells the model something about itself in each of them", async (test) => {
    for (const mode of ["hybrid", "context", "tools"]) {
      const { provider } = await start(test, harness, { settings: { [modeSetting]: mode } });
      const block = (await provider.systemPromptBlock?.({})) ?? "";
      expect(block.trim()).not.toBe("");
      expect(await provider.systemPromptBlock?.({})).toBe(block); // the same for the whole session
    }
  });
}

// ---- The self-test, which `hermes memory test` runs in the user's real home

export function selfTestContract({ it, expect }: Suite, harness: ProviderHarness): void {
  const whereItHasOne = it.skipIf(probe(harness, (provider) => provider.selfTest === undefined));

  whereItHasOne("tells what it did and how long each step took", async (test) => {
    const { provider } = await start(test, harness);
    const report = await provider.selfTest?.(AbortSignal.timeout(20_000));
    expect(report?.steps).not.toEqual([]);
    for (const { name, ms } of report?.steps ?? []) {
      expect(name.trim()).not.toBe("");
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThan(20_000);
    }
  });

  whereItHasOne("leaves no trace, in an empty store and in a used one", async (test) => {
    const { provider: first, home } = await start(test, harness);
    await close(first);
    for (const entry of ["", "The kiln is fired at 1240 degrees"]) {
      const { provider: writer } = await start(test, harness, { home });
      if (entry !== "") await writer.onMemoryWrite?.("add", "memory", entry, {});
      await close(writer);
      const before = harness.stored(home);
      const { provider } = await start(test, harness, { home });
      await provider.selfTest?.(AbortSignal.timeout(20_000));
      await provider.selfTest?.(AbortSignal.timeout(20_000));
      await close(provider);
      expect(harness.stored(home)).toEqual(before);
    }
  });

  whereItHasOne("leaves no trace when it is stopped", async (test) => {
    const { provider, home } = await start(test, harness);
    await provider.onMemoryWrite?.("add", "memory", "The kiln is fired at 1240 degrees", {});
    await close(provider);
    const before = harness.stored(home);
    const { provider: tested } = await start(test, harness, { home });
    expect(["answered", "failed"]).toContain(await settle(() => tested.selfTest?.(AbortSignal.abort())));
    await close(tested);
    expect(harness.stored(home)).toEqual(before);
  });
}
