// A conversation with a networked memory whose server takes requests and never answers. Times are compared with the recall deadline and
// with the same turns of an agent without a provider in the same run.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readOutbox } from "../../../providers/src/kit/outbox/commands.ts";
import { FakeHindsight } from "../../../providers/test/fakes/servers/hindsight.ts";
import { FakeHoncho } from "../../../providers/test/fakes/servers/honcho.ts";
import { FakeMem0 } from "../../../providers/test/fakes/servers/mem0.ts";
import type { Fake } from "../../../providers/test/fakes/servers/services.ts";
import type { Agent } from "../../src/agent/index.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";

const KEY = "k-0f3a9d8e7c6b5a41";
const TURNS = ["How hot is the kiln fired?", "Which glaze is on the shelf?", "When does the clay arrive?"];
const FACT = "The kiln is fired at 1240 C.";
const REPLY = () => ({ text: "Noted." });
/** The drain, the end of the session and the shutdown of a provider, as docs/providers.md has them: 5 + 10 + 5 + 2.5 s. */
const LONGEST_CLOSE_MS = 22_500;

type Served = {
  readonly name: string;
  readonly create: () => Fake;
  /** Settings of a home, for a server at this address. */
  readonly files: (url: string) => Readonly<Record<string, unknown>>;
  /** Stores what a recall about the kiln finds, past the wire. */
  readonly remember: (fake: Fake) => void;
};

const SERVED: readonly Served[] = [
  {
    name: "mem0",
    create: () => new FakeMem0(),
    files: (host) => ({ "mem0.json": { host } }),
    remember: (fake) => {
      if (fake instanceof FakeMem0) fake.put({ memory: FACT, user_id: "hermes-user" });
    },
  },
  {
    name: "hindsight",
    create: () => new FakeHindsight(),
    files: (api_url) => ({ "hindsight/config.json": { mode: "cloud", api_url } }),
    remember: (fake) => {
      if (fake instanceof FakeHindsight) fake.retain("hermes", { content: FACT });
    },
  },
  {
    name: "honcho",
    create: () => new FakeHoncho(),
    files: (baseUrl) => ({
      "honcho.json": { baseUrl, hosts: { hermes: { apiKey: KEY, peerName: "ann", enabled: true } } },
    }),
    remember: (fake) => {
      if (fake instanceof FakeHoncho)
        fake.addConclusion("hermes", { content: FACT, observer_id: "hermes", observed_id: "ann" });
    },
  },
];

type Hanging = AgentHome & { readonly fake: Fake };

async function hangingHome({ name, create, files }: Served, memory: object = {}): Promise<Hanging> {
  const fake = await create().start();
  onTestFinished(() => fake.stop());
  const home = tempDirectory();
  mkdirSync(join(home, "hindsight"));
  for (const [path, settings] of Object.entries(files(fake.url)))
    writeFileSync(join(home, path), JSON.stringify(settings));
  writeFileSync(join(home, ".env"), `MEM0_API_KEY=${KEY}\nHINDSIGHT_API_KEY=${KEY}\n`, { mode: 0o600 });
  fake.requireAuth(KEY);
  fake.hang();
  const made = await agentHome(REPLY, { home, config: { memory: { provider: name, ...memory } } });
  return { ...made, fake };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Milliseconds of each turn. */
async function timesOf(agent: Agent): Promise<readonly [number, ...number[]]> {
  const ask = (text: string) =>
    timed(async () => expect((await agent.run(text)).final_response).toBe("Noted."));
  const [first = "", ...others] = TURNS;
  const times: [number, ...number[]] = [await ask(first)];
  for (const text of others) times.push(await ask(text));
  return times;
}

function waiting(home: string): number {
  return readOutbox(home).reduce((sum, { state }) => sum + state.waiting + state.held, 0);
}

describe.each(SERVED)("a hanging server of $name", (served) => {
  it.each([
    ["3 s, the default,", 3, {}],
    ["1 s", 1, { prefetch_timeout_s: 1 }],
  ])(
    "costs one recall deadline of %s in one turn and nothing in the others",
    async (_text, seconds, memory) => {
      const plain = Math.max(...(await timesOf((await agentHome(REPLY)).agent)));
      const { agent, home } = await hangingHome(served, memory);
      const deadline = seconds * 1000;
      const [first, ...others] = await timesOf(agent);
      expect(first).toBeLessThan(1.5 * deadline + 5 * plain);
      for (const time of others) expect(time).toBeLessThan(deadline / 2 + 5 * plain);
      expect(await timed(() => agent.close())).toBeLessThan(LONGEST_CLOSE_MS);
      expect(waiting(home)).toBeGreaterThan(0);
    },
  );

  it("loses no turn: the next agent sends them when it works again", async () => {
    const { agent, another, home, fake } = await hangingHome(served, { prefetch_timeout_s: 0.5 });
    await timesOf(agent);
    await agent.close();
    expect(JSON.stringify(fake.stored())).not.toContain("kiln");
    fake.recover();
    const next = await another();
    await expect.poll(() => waiting(home), { timeout: 30_000 }).toBe(0);
    const stored = JSON.stringify(fake.stored());
    for (const text of TURNS) expect(stored).toContain(text);
    expect((await next.run("And the kiln?")).final_response).toBe("Noted.");
  });
});

// The requests that hung are never answered, also after the server works again: nothing may wait for their timeouts of 30 s and more.
it.each(SERVED)(
  "a server of $name that works again is asked again in the same conversation",
  async (served) => {
    const { agent, fake, events } = await hangingHome(served, { prefetch_timeout_s: 0.5 });
    served.remember(fake);
    await timesOf(agent);
    fake.recover();
    const recalls = () => events.filter(({ type }) => type === "recall").length;
    await expect
      .poll(
        async () => {
          await agent.run("How hot is the kiln fired, and which glaze is on the shelf?");
          return recalls();
        },
        { timeout: 20_000, interval: 500 },
      )
      .toBeGreaterThan(0);
  },
);
