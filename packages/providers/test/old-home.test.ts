// A home of version 0.1.0 that gets a networked provider: what was in it stays as it was, and nothing but the provider's own files is added.
import { cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { loadProvider } from "../../core/src/providers/discovery/load-provider.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { FAKE_SERVICES } from "./fakes/servers/services.ts";

const FIXTURE = resolve(import.meta.dirname, "../../../test/fixtures/home-0.1.0");
const KEY = "key-of-the-old-home-0123456789";
const OWN_FILES = /^(?:memory_outbox\.db(?:-wal|-shm)?|supermemory\.db(?:-wal|-shm)?|retaindb\.json)$/;

function filesOf(home: string): Map<string, string> {
  const names = readdirSync(home, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => statSync(join(home, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(home, name)).toString("base64")]));
}

it.each(FAKE_SERVICES)("$name changes no file of the home", async (service) => {
  const home = tempDirectory();
  cpSync(FIXTURE, home, { recursive: true });
  const before = filesOf(home);
  const fake = service.create();
  await fake.start();
  fake.requireAuth(KEY);
  const variables = service.env(fake.url, KEY);
  Object.assign(process.env, variables);
  try {
    const loaded = await loadProvider(home, service.name);
    if (!loaded.ok) throw new Error(loaded.error.message);
    const { provider } = loaded.value;
    expect(await provider.isAvailable()).toBe(true);
    await provider.initialize("old-1", { hermes_home: home, platform: "cli", agent_context: "primary" });
    await provider.syncTurn?.("The kiln is fired at 1240 degrees", "Noted.", { session_id: "old-1" });
    await provider.onMemoryWrite?.("add", "memory", "Fires the kiln on Mondays", {});
    await provider.prefetch?.("when is the kiln fired?", { session_id: "old-1" });
    await provider.onSessionEnd?.([], {});
    await provider.forget?.("Fires the kiln on Mondays", {});
    await provider.shutdown?.({});
    expect(JSON.stringify(fake.stored())).toContain("1240");
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    await fake.stop();
  }
  const after = filesOf(home);
  for (const [name, content] of before)
    expect({ name, same: after.get(name) === content }).toEqual({ name, same: true });
  expect([...after.keys()].filter((name) => !before.has(name) && !OWN_FILES.test(name))).toEqual([]);
});
