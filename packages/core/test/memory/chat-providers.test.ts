// Which provider is active for which chat: started once, moved along with a compaction, and stopped for chats that rest.
import { expect, it } from "vitest";
import { silentLogger } from "../../src/lib/logger.ts";
import { ChatProviders } from "../../src/memory/chat-providers.ts";
import type { Person } from "../../src/memory/types.ts";

/** A person whose provider notes what happens to it. `starts` decides about each start. */
function person(
  starts: (sessionId: string) => "active" | "unavailable" | Error = () => "active",
  home: object = {},
) {
  const events: string[] = [];
  const provider = {
    async activate({ sessionId }: { readonly sessionId: string }) {
      const kind = starts(sessionId);
      events.push(`start ${sessionId}`);
      if (kind instanceof Error) throw kind;
      const onSessionSwitch = async (to: string) => void events.push(`${sessionId} goes on as ${to}`);
      return { kind, manager: { name: sessionId, onSessionSwitch } };
    },
    deactivate: async ({ name }: { readonly name: string }) => void events.push(`stop ${name}`),
  };
  return { events, person: { provider, memory: home } as unknown as Person };
}

it("starts the provider once for each chat, and stops the one that rested longest", async () => {
  const { events, person: me } = person();
  const providers = new ChatProviders(me, silentLogger);
  const first = await providers.of("s0", "c0");
  for (let at = 1; at < 16; at += 1) await providers.of(`s${at}`, `c${at}`);
  expect(await providers.of("s0", "c0")).toBe(first); // used again, so another one has rested longest
  await providers.of("s16", "c16");
  await providers.ended([]);
  expect(events.filter((event) => event.startsWith("stop"))).toEqual(["stop s1"]);
  expect(events.filter((event) => event === "start s0")).toHaveLength(1);
});

it("stops the providers of persons who rested longest, when a home has many", async () => {
  const home = {};
  const people = Array.from({ length: 300 }, () => person(undefined, home));
  const chats = people.map(({ person: each }) => new ChatProviders(each, silentLogger));
  for (const [at, providers] of chats.entries()) {
    await providers.of(`s${at}`, "c");
    await chats[0]?.of("s0", "c"); // the first one talks all the time
  }
  const stopped = people.flatMap(({ events }) => events.filter((event) => event.startsWith("stop")));
  expect(stopped).toEqual(Array.from({ length: 44 }, (_, at) => `stop s${at + 1}`));
  await chats[1]?.of("s1", "c"); // and starts again when it is needed
  expect(people[1]?.events).toEqual(["start s1", "stop s1", "start s1"]);
});

it("moves along when a compaction continues the chat, and ends with the chat", async () => {
  const { events, person: me } = person();
  const providers = new ChatProviders(me, silentLogger);
  const manager = await providers.of("s1", "c");
  await providers.continued("s1", "s2");
  await providers.continued("unknown", "s3");
  expect(await providers.of("s2", "c")).toBe(manager);
  await providers.ended(["s1", "s2"]);
  expect(events).toEqual(["start s1", "s1 goes on as s2", "stop s1"]);
});

it("tries again with the next turn after a start that failed, and never rejects", async () => {
  const lines: string[] = [];
  const outcomes = [new Error("no connection"), "unavailable", "active"] as const;
  let at = 0;
  const { person: me } = person(() => outcomes[at++] ?? "active");
  const log = { ...silentLogger, warn: (line: string) => void lines.push(line) };
  const providers = new ChatProviders(me, log);
  expect(await providers.of("s", "c")).toBeUndefined();
  expect(await providers.of("s", "c")).toBeUndefined();
  expect(await providers.of("s", "c")).toBeDefined();
  expect(lines).toEqual(["The memory provider could not be started: no connection"]);
});
