// The six services as tests see them: the fake, how a home is pointed at it, its provider, and what the turns that arrived say.
import type { MemoryProvider } from "../../../../core/src/providers/index.ts";
import { createHindsightProvider } from "../../../src/hindsight/provider.ts";
import { createHonchoProvider } from "../../../src/honcho/provider.ts";
import type { NetworkedOptions } from "../../../src/kit/networked/provider.ts";
import { createMem0Provider } from "../../../src/mem0/provider.ts";
import { createOpenVikingProvider } from "../../../src/openviking/provider.ts";
import { createRetainDbProvider } from "../../../src/retaindb/provider.ts";
import { createSupermemoryProvider } from "../../../src/supermemory/provider.ts";
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
  readonly provider: (options: NetworkedOptions) => MemoryProvider;
  /** The texts of what the owner's turns made in this session, in the order they are stored. */
  readonly turns: (fake: Fake, sessionId: string) => readonly string[];
};

export const FAKE_SERVICES: readonly FakeService[] = [
  {
    name: "honcho",
    create: () => new FakeHoncho(),
    env: (url, key) => ({ HONCHO_BASE_URL: url, HONCHO_API_KEY: key }),
    provider: createHonchoProvider,
    turns: (fake) => {
      if (!(fake instanceof FakeHoncho)) return [];
      const sessions = fake.sessionsOf("hermes");
      return sessions.flatMap((session) => fake.messagesOf("hermes", session).map(({ content }) => content));
    },
  },
  {
    name: "mem0",
    create: () => new FakeMem0(),
    env: (url, key) => ({ MEM0_HOST: url, MEM0_API_KEY: key }),
    provider: createMem0Provider,
    turns: (fake) =>
      fake instanceof FakeMem0 ? fake.memories("hermes-user").map(({ memory }) => memory) : [],
  },
  {
    name: "hindsight",
    create: () => new FakeHindsight(),
    env: (url, key) => ({ HINDSIGHT_API_URL: url, HINDSIGHT_API_KEY: key }),
    provider: createHindsightProvider,
    turns: (fake, sessionId) => {
      if (!(fake instanceof FakeHindsight)) return [];
      const ofTurns = fake.documents("hermes").filter(({ id }) => id.startsWith(sessionId));
      const lines = ofTurns.flatMap(({ text }) => text.split("\n"));
      const messages = lines.flatMap((line) => (JSON.parse(line) as { content: string }[][]).flat());
      return messages.map(({ content }) => content);
    },
  },
  {
    name: "supermemory",
    create: () => new FakeSupermemory(),
    env: (url, key) => ({ SUPERMEMORY_BASE_URL: url, SUPERMEMORY_API_KEY: key }),
    provider: createSupermemoryProvider,
    turns: (fake, sessionId) => {
      if (!(fake instanceof FakeSupermemory)) return [];
      const texts: string[] = [];
      for (let part = 1; ; part += 1) {
        const conversation = fake.conversation("hermes", part === 1 ? sessionId : `${sessionId}-${part}`);
        if (conversation === undefined) return texts;
        texts.push(...conversation.messages.map(({ content }) => content));
      }
    },
  },
  {
    name: "openviking",
    create: () => new FakeOpenViking(),
    env: (url, key) => ({ OPENVIKING_ENDPOINT: url, OPENVIKING_API_KEY: key }),
    provider: createOpenVikingProvider,
    turns: (fake, sessionId) =>
      fake instanceof FakeOpenViking ? fake.messagesOf(sessionId).map(({ content }) => content ?? "") : [],
  },
  {
    name: "retaindb",
    create: () => new FakeRetainDb(),
    env: (url, key) => ({ RETAINDB_BASE_URL: url, RETAINDB_API_KEY: key, RETAINDB_PROJECT: "default" }),
    provider: createRetainDbProvider,
    turns: (fake, sessionId) =>
      fake instanceof FakeRetainDb ? fake.messagesOf("default", sessionId).map(({ content }) => content) : [],
  },
];
