// The six services as tests see them: the fake, how a home is pointed at it, and what users said in the turns that arrived.
import type { FakeServer } from "./fake-server.ts";
import { FakeHindsight } from "./hindsight.ts";
import { FakeHoncho } from "./honcho.ts";
import { FakeMem0 } from "./mem0.ts";
import { FakeOpenViking } from "./openviking.ts";
import { FakeRetainDb } from "./retaindb.ts";
import { FakeSupermemory } from "./supermemory.ts";

export type Fake = FakeServer & { stored(): unknown };

export type FakeService = {
  readonly name: string;
  readonly create: () => Fake;
  /** Variables that point a provider at the fake. */
  readonly env: (url: string, key: string) => Readonly<Record<string, string>>;
  /** The texts of messages or conversations that the owner's turns made in this session, in the order they are stored. */
  readonly turns: (fake: Fake, sessionId: string) => readonly string[];
  /** Whether a turn can arrive twice after a crash, because the wire has no idempotency for it. */
  readonly isAtLeastOnce: boolean;
};

export const FAKE_SERVICES: readonly FakeService[] = [
  {
    name: "honcho",
    create: () => new FakeHoncho(),
    env: (url, key) => ({ HONCHO_BASE_URL: url, HONCHO_API_KEY: key }),
    turns: (fake) => {
      if (!(fake instanceof FakeHoncho)) return [];
      const sessions = fake.sessionsOf("hermes");
      return sessions.flatMap((session) => fake.messagesOf("hermes", session).map(({ content }) => content));
    },
    isAtLeastOnce: false,
  },
  {
    name: "mem0",
    create: () => new FakeMem0(),
    env: (url, key) => ({ MEM0_HOST: url, MEM0_API_KEY: key }),
    turns: (fake) =>
      fake instanceof FakeMem0 ? fake.memories("hermes-user").map(({ memory }) => memory) : [],
    isAtLeastOnce: false,
  },
  {
    name: "hindsight",
    create: () => new FakeHindsight(),
    env: (url, key) => ({ HINDSIGHT_API_URL: url, HINDSIGHT_API_KEY: key }),
    turns: (fake) => (fake instanceof FakeHindsight ? fake.documents("hermes").map(({ text }) => text) : []),
    isAtLeastOnce: false,
  },
  {
    name: "supermemory",
    create: () => new FakeSupermemory(),
    env: (url, key) => ({ SUPERMEMORY_BASE_URL: url, SUPERMEMORY_API_KEY: key }),
    turns: (fake, sessionId) => {
      if (!(fake instanceof FakeSupermemory)) return [];
      const texts: string[] = [];
      for (let part = 1; ; part += 1) {
        const conversation = fake.conversation("hermes", part === 1 ? sessionId : `${sessionId}-${part}`);
        if (conversation === undefined) return texts;
        texts.push(JSON.stringify(conversation.messages));
      }
    },
    isAtLeastOnce: false,
  },
  {
    name: "openviking",
    create: () => new FakeOpenViking(),
    env: (url, key) => ({ OPENVIKING_ENDPOINT: url, OPENVIKING_API_KEY: key }),
    turns: (fake, sessionId) =>
      fake instanceof FakeOpenViking ? fake.messagesOf(sessionId).map(({ content }) => content ?? "") : [],
    isAtLeastOnce: false,
  },
  {
    name: "retaindb",
    create: () => new FakeRetainDb(),
    env: (url, key) => ({ RETAINDB_BASE_URL: url, RETAINDB_API_KEY: key, RETAINDB_PROJECT: "default" }),
    turns: (fake, sessionId) =>
      fake instanceof FakeRetainDb ? fake.messagesOf("default", sessionId).map(({ content }) => content) : [],
    isAtLeastOnce: false,
  },
];
