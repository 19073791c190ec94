// Random adds, answers and restarts: every write is delivered exactly once, or is dead, or waits; in order.
import fc from "fast-check";
import { expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { listDead } from "../../src/kit/outbox/commands.ts";
import type { Batch, Deliver, Delivery, OutboxLane } from "../../src/kit/outbox/outbox.ts";
import { BLOCKED, DELIVERED, drain, FAST, LATER, REFUSED, testLane, turn } from "../fakes/outbox.ts";

const LIMIT = 3;
const USERS = ["a", "b"] as const;
type User = (typeof USERS)[number];

type Step =
  | {
      readonly do: "add";
      readonly kind: string;
      readonly sessionId: string;
      readonly user: User;
      readonly isHeld: boolean;
    }
  | { readonly do: "flush" | "restart" | "release" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant("add" as const),
      kind: fc.constantFrom("turn", "commit"),
      sessionId: fc.constantFrom("s1", "s2"),
      user: fc.constantFrom(...USERS),
      isHeld: fc.oneof(
        { weight: 4, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("flush" as const, "restart" as const, "release" as const) }),
  },
);

/** "lost": the server takes the batch, but its answer does not arrive. "close": the process stops while the server works. */
type Answer = Delivery | "throw" | "lost" | "close";
const answer = fc.constantFrom<Answer>(
  DELIVERED,
  DELIVERED,
  LATER,
  REFUSED,
  BLOCKED,
  "throw",
  "lost",
  "close",
);

/** Checks what it is sent, and takes every batch once, by its id. */
class CarefulServer {
  readonly taken = new Map<string, Batch>();
  readonly #seen = new Map<string, Batch>();
  readonly #refused = new Set<number>();

  take(batch: Batch): void {
    this.taken.set(batch.id, this.taken.get(batch.id) ?? batch);
  }

  check(batch: Batch): void {
    expect(batch.items.length).toBeLessThanOrEqual(LIMIT);
    for (const item of batch.items)
      expect([item.kind, item.sessionId]).toEqual([batch.kind, batch.sessionId]);
    const before = this.#seen.get(batch.id);
    if (before !== undefined) {
      expect(batch.items).toEqual(before.items);
      expect(batch.attempt).toBe(before.attempt + 1);
    }
    this.#seen.set(batch.id, batch);
    // Of a refused batch the server took nothing, so its items come again by themselves.
    if (batch.items.length > 1) for (const { id } of batch.items) expect(this.#refused.has(id)).toBe(false);
  }

  refuse(batch: Batch): void {
    for (const { id } of batch.items) this.#refused.add(id);
  }

  ids(): number[] {
    return [...this.taken.values()].flatMap(({ items }) => items.map(({ id }) => id));
  }
}

async function play(steps: readonly Step[], answers: readonly Answer[]): Promise<void> {
  const home = tempDirectory();
  const servers = { a: new CarefulServer(), b: new CarefulServer() };
  const added: Record<User, { id: number; isHeld: boolean }[]> = { a: [], b: [] };
  const failures: unknown[] = [];
  let position = 0;
  let isCalm = false;

  const open = (user: User): OutboxLane => {
    const lane = testLane(home, { user, pauses: FAST });
    const deliver: Deliver = async (batch) => {
      try {
        servers[user].check(batch);
      } catch (cause) {
        failures.push(cause);
      }
      if (servers[user].taken.has(batch.id)) return DELIVERED; // its idempotency key is known
      const next = isCalm ? DELIVERED : (answers[position++ % answers.length] ?? DELIVERED);
      if (next === "throw") throw new Error("no connection");
      if (next === "close") lanes[user].close();
      if (next === "lost" || next === "close") {
        servers[user].take(batch);
        return LATER;
      }
      if (next.kind === "delivered") servers[user].take(batch);
      if (next.kind === "refused") servers[user].refuse(batch);
      return next;
    };
    lane.start(deliver, () => LIMIT);
    return lane;
  };
  const lanes = { a: open("a"), b: open("b") };
  const restart = () => {
    for (const user of USERS) {
      lanes[user].close();
      lanes[user] = open(user);
    }
  };

  const add = async (each: Step & { readonly do: "add" }) => {
    const { do: _, user, ...item } = each;
    let result = await lanes[user].add(turn("t", item));
    if (result.kind === "failed") {
      lanes[user] = open(user); // an answer closed it
      result = await lanes[user].add(turn("t", item));
    }
    if (result.kind === "queued") added[user].push({ id: result.id, isHeld: item.isHeld });
  };
  for (const each of steps) {
    if (each.do === "add") await add(each);
    else if (each.do === "restart") restart();
    else if (each.do === "flush") await Promise.all(USERS.map((user) => lanes[user].flush(200)));
    else for (const user of USERS) lanes[user].release();
  }
  for (const user of USERS) lanes[user].close();
  await new Promise(setImmediate); // aborted deliveries end
  for (const user of USERS) {
    using lane = idleLane(home, user);
    const left = lane.ids;
    const dead = deadOf(home, user);
    expect(lane.state).toMatchObject({ dead: dead.length });
    expect(lane.state.waiting + lane.state.held).toBe(left.length);
    expect(new Set([...left, ...dead, ...servers[user].ids()])).toEqual(
      new Set(added[user].map(({ id }) => id)),
    );
  }

  isCalm = true;
  restart();
  for (const user of USERS) lanes[user].release("s1");
  for (const user of USERS) lanes[user].release("s2");
  for (const user of USERS) await drain(lanes[user]);
  expect(failures).toEqual([]);
  for (const user of USERS) {
    const taken = servers[user].ids();
    const ids = added[user].map(({ id }) => id);
    expect([...taken, ...deadOf(home, user)].sort((x, y) => x - y)).toEqual(ids);
    if (added[user].every(({ isHeld }) => !isHeld)) expect(taken).toEqual([...taken].sort((x, y) => x - y));
  }
  for (const user of USERS) lanes[user].close();
}

function deadOf(home: string, user: User): number[] {
  return listDead(home).flatMap((letter) => (letter.user === user ? [letter.id] : []));
}

/** What a lane holds, seen without sending. */
function idleLane(home: string, user: User) {
  const lane = testLane(home, { user });
  const [ids, state] = [lane.items().map(({ id }) => id), lane.state()];
  return { ids, state, [Symbol.dispose]: () => lane.close() };
}

it("every write is delivered exactly once, is dead, or waits; and the order is kept", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.array(answer, { minLength: 1, maxLength: 12 }),
      play,
    ),
    { numRuns: 60 },
  );
});
