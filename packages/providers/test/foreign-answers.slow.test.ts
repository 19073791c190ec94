// A server, or something before it, that answers 200 with JSON that the service does not send: nothing counts as stored, and nothing as absent.
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { FAKE_SERVICES, type FakeService } from "./fakes/servers/services.ts";

const FORMS = ['{"hello":1}', "[]", "null", '"ok"', "[1]", '{"memories":null}', '{"status":"ok"}'];
const LISTS = [
  ...FORMS,
  '{"status":"ok","result":{"x":1}}',
  '{"memories":[{"x":1}]}',
  '{"results":[{"x":1}]}',
];
const KEY = "key-of-the-service-0123456789";
const FAST = { pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 }, breakerMs: 100, mirrorMs: 100 };
const NOTHING_KNOWN = { remaining: expect.stringMatching(/erased|searched/) };
const OPTIONS = { session_id: "session-1" };

async function start(service: FakeService) {
  const fake = service.create();
  await fake.start();
  fake.requireAuth(KEY);
  const home = tempDirectory();
  const env = { HOME: home, ...service.env(fake.url, KEY) };
  const provider = service.provider({ home, env, limits: FAST });
  await provider.initialize("session-1", { hermes_home: home, platform: "cli", agent_context: "primary" });
  onTestFinished(async () => {
    await provider.shutdown?.({});
    await fake.stop();
  });
  const told = () => service.turns(fake, "session-1").filter((text) => text.includes("kiln"));
  return { fake, provider, told };
}

describe.each(FAKE_SERVICES)("$name", (service) => {
  it.each(FORMS)(
    "that answers %s gets a turn and an entry again, and stores the turn once when it works",
    async (raw) => {
      const { fake, provider, told } = await start(service);
      fake.answerWithText(raw, "application/json");
      await provider.syncTurn?.("The kiln is hot", "Noted.", OPTIONS);
      expect(await provider.onMemoryWrite?.("add", "user", "Likes tea", {})).toMatchObject({ stored: false });
      fake.recover();
      await provider.onSessionEnd?.([], {});
      await expect.poll(() => JSON.stringify(fake.stored()), { timeout: 10_000 }).toContain("Likes tea");
      await expect.poll(told, { timeout: 10_000 }).toHaveLength(1);
    },
  );

  // RetainDB passes over records without an id.
  const lists = LISTS.filter((raw) => service.name !== "retaindb" || !raw.startsWith('{"memories":['));

  it.each(lists)(
    "that answers %s does not make 'forget' and 'erase' say that nothing is there",
    async (raw) => {
      const { fake, provider, told } = await start(service);
      await provider.syncTurn?.("The kiln is fired at 1240 C.", "Noted.", OPTIONS);
      await provider.onSessionEnd?.([], {});
      await expect.poll(told, { timeout: 10_000 }).toHaveLength(1);
      fake.answerWithText(raw, "application/json");
      for (const dry_run of [true, false]) {
        expect(await provider.forget?.("1240", { dry_run })).toMatchObject(NOTHING_KNOWN);
        expect(await provider.eraseUser?.({ dry_run })).toMatchObject(NOTHING_KNOWN);
      }
      fake.recover();
      expect(told()).toHaveLength(1);
    },
  );
});
