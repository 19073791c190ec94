// Runs the cases as one attacker, and looks after each of them for secrets in answers, in requests to models, in rows and files.
import { expect } from "vitest";
import { type Attack, type Breadth, CASES } from "./isolation-cases.ts";
import type { Got, Sender, Victim, World } from "./isolation-world.ts";
import { allRoutes, runningGateway } from "./running-gateway.ts";

export const ATTACKERS = [
  "a user's token",
  "a token that names users",
  "the same id on another platform",
  "the owner's token",
  "a user of a profile",
  "a local caller",
] as const;

export async function attackerOf(world: World, name: (typeof ATTACKERS)[number]): Promise<Sender> {
  const sender = await senderOf(world, name);
  // The server looks for new tokens twice a second.
  await expect.poll(async () => (await world.send(sender, "GET", "/api/status")).status).toBe(200);
  return sender;
}

async function senderOf(world: World, name: (typeof ATTACKERS)[number]): Promise<Sender> {
  const bearer = async (rights: Parameters<World["token"]>[0]) => ({
    authorization: `Bearer ${await world.token(rights)}`,
  });
  switch (name) {
    case "a user's token":
      return { name, headers: await bearer({ kind: "user", user: { platform: "web", id: "bob" } }) };
    case "a token that names users":
      return {
        name,
        headers: {
          ...(await bearer({ kind: "names-users", platform: "web" })),
          "x-hermes-user-id": "bob-too",
        },
      };
    case "the same id on another platform":
      return {
        name,
        ownId: "alice",
        headers: await bearer({ kind: "user", user: { platform: "chat", id: "alice" } }),
      };
    case "the owner's token":
      return { name, headers: await bearer({ kind: "owner" }) };
    case "a user of a profile":
      return {
        name,
        ownId: "carol",
        headers: await bearer({ kind: "user", user: { platform: "web", id: "carol" } }),
      };
    case "a local caller":
      return { name, headers: { "x-hermes-user-id": "bob" } };
    default:
      return name satisfies never;
  }
}

export async function routeKeys(): Promise<readonly string[]> {
  const routes = await allRoutes(await runningGateway());
  return routes.map(({ method, path }) => `${method} ${path}`);
}

/** Here the right answer to everything that is tried is a refusal. */
const ALL_REFUSED: ReadonlySet<string> = new Set([
  "GET /metrics",
  "PUT /api/memory/provider",
  "GET /api/sessions/:id",
  "PATCH /api/entries/:id",
  "DELETE /api/entries/:id",
  "POST /api/undo",
]);

export type Tally = { requests: number; cases: number; answered: number; leaks: string[] };

/** Every case of the table. Collects leaks instead of stopping at the first. */
export async function attackEverything(world: World, sender: Sender, breadth: Breadth): Promise<Tally> {
  const self = { "the owner's token": "the owner", "a user of a profile": "carol" }[sender.name];
  const victims = world.victims.filter(({ name }) => name !== self);
  const tally: Tally = { requests: 0, cases: 0, answered: 0, leaks: [] };
  const others = new Attempts(world, sender, victims, tally);
  // Deleting one's own things comes last.
  const order = Object.entries(CASES).toSorted(([one], [other]) => rank(one) - rank(other));
  let before = await others.kept();
  for (const [key, run] of order) {
    const answered = tally.answered;
    await run(others.attack(key), breadth).catch((cause: unknown) => {
      tally.leaks.push(`${key}: ${String(cause)}`);
    });
    if (tally.answered === answered && !ALL_REFUSED.has(key) && sender.name !== "a local caller")
      tally.leaks.push(`${key}: nothing was answered, so nothing was tried`);
    const isRead = key.startsWith("GET ") && breadth === "some"; // what reads change is seen after the next write
    if (!isRead) before = await others.check(key, before);
    tally.cases += 1;
  }
  const logged = JSON.stringify(world.gateway.logged, (_, value) =>
    value instanceof Error ? String(value.stack) : value,
  );
  for (const { secret } of world.victims)
    if (logged.includes(secret)) tally.leaks.push(`log: ${near(logged, secret)}`);
  // One of each kind is enough to see what is wrong.
  expect([...new Map(tally.leaks.map((each) => [each.slice(0, 60), each])).values()]).toEqual([]);
  return tally;
}

function rank(key: string): number {
  if (key === "POST /api/erase") return 3;
  if (key === "POST /api/memory/reset" || key.startsWith("DELETE")) return 2;
  return key.startsWith("POST /") ? 0 : 1; // model routes first: reads then find what they wrote
}

class Attempts {
  readonly #world: World;
  readonly #sender: Sender;
  readonly #victims: readonly Victim[];
  readonly #tally: Tally;

  constructor(world: World, sender: Sender, victims: readonly Victim[], tally: Tally) {
    this.#world = world;
    this.#sender = sender;
    this.#victims = victims;
    this.#tally = tally;
  }

  kept(): Promise<string> {
    return this.#world.kept(this.#victims);
  }

  attack(key: string): Attack {
    const [world, sender, victims] = [this.#world, this.#sender, this.#victims];
    const seen = (got: Got): Got => {
      this.#tally.requests += 1;
      if (got.status < 400) this.#tally.answered += 1;
      const all = `${JSON.stringify([...got.headers])}\n${got.text}`;
      for (const { secret, name } of victims)
        if (all.toLowerCase().includes(secret))
          this.#tally.leaks.push(`${key}: answer has a text of ${name}: ${near(all, secret)}`);
      if (got.status >= 500) this.#tally.leaks.push(`${key}: ${got.status} ${got.text.slice(0, 300)}`);
      return got;
    };
    return {
      world,
      sender,
      victims,
      send: async (method, path, body) => seen(await world.send(sender, method, path, body)),
      ask: async (wire, prefix, asked) => seen(await world.ask(wire, prefix, sender, asked)),
      namesNobody: (got) => {
        for (const { handles, name } of victims)
          for (const id of handles.sessionIds)
            if (got.text.includes(JSON.stringify(id)))
              this.#tally.leaks.push(`${key}: names a session of ${name}`);
      },
    };
  }

  #upstream = 0;

  /** What is kept after the case. */
  async check(key: string, before: string): Promise<string> {
    const { leaks } = this.#tally;
    const after = await this.kept();
    if (after !== before) leaks.push(`${key}: changed ${difference(before, after)}`);
    const asked = this.#world.upstreamTexts().slice(this.#upstreamStart());
    for (const text of asked)
      for (const { secret, name, handles } of this.#victims) {
        if (text.toLowerCase().includes(secret))
          leaks.push(`${key}: the model was told a text of ${name}: ${near(text, secret)}`);
        // A vendor keeps responses under one key: their ids open the conversation there.
        const isKept = text.split("\n", 1)[0]?.includes("/responses") ?? false;
        const id = isKept ? handles.responseIds.find((each) => text.includes(each)) : undefined;
        if (id !== undefined) leaks.push(`${key}: the vendor was asked to go on from ${id} of ${name}`);
      }
    this.#upstream = this.#world.upstreamCount();
    const rows = this.#world.others(this.#victims);
    for (const { secret, name } of this.#victims)
      if (rows.toLowerCase().includes(secret))
        leaks.push(`${key}: stored a text of ${name}: ${near(rows, secret)}`);
    return after;
  }

  #upstreamStart(): number {
    if (this.#upstream === 0) this.#upstream = this.#world.lived;
    return this.#upstream;
  }
}

function near(text: string, secret: string): string {
  const at = text.toLowerCase().indexOf(secret);
  return text.slice(Math.max(0, at - 160), at + 60);
}

function difference(before: string, after: string): string {
  const [old, now] = [new Set(before.split("\n")), new Set(after.split("\n"))];
  const gone = [...old].filter((line) => !now.has(line));
  const come = [...now].filter((line) => !old.has(line));
  return JSON.stringify({
    gone: gone.map((each) => each.slice(0, 300)),
    come: come.map((each) => each.slice(0, 300)),
  }).slice(0, 1_500);
}
