// Child process: one lane of the outbox in the home of the first argument. The second argument is what it does:
// "serve": says "ready", then obeys lines: "add <text>", "add-many <count> <prefix>", "start", "answer <delivery as JSON>", "state", "close".
//   A delivery is printed as `deliver <JSON>` and waits for its answer; with "start <delivery>" all get this one, after a moment.
// "idle": queues a write for a server that is down, flushes, and leaves the lane open. "hang": the same with a server that never answers.
import { createInterface } from "node:readline";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { type Batch, type Delivery, OutboxLane } from "../../src/kit/outbox/outbox.ts";

const [home = "", scenario = ""] = process.argv.slice(2);
const lane = new OutboxLane({
  home,
  provider: "mem0",
  user: "",
  isDurable: true,
  maxItems: 100_000,
  maxBytes: 1 << 30,
  log: silentLogger,
  pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 },
});
const say = (word: string, value?: unknown) =>
  console.log(value === undefined ? word : `${word} ${JSON.stringify(value)}`);
const add = (text: string) => lane.add({ kind: "turn", sessionId: "s1", body: { text } });

if (scenario === "serve") await serve();
else {
  await add("a");
  const isDown = scenario === "idle";
  const never = new Promise<Delivery>(() => {}); // holds no socket
  lane.start(
    async () => (isDown ? { kind: "later", reason: "down" } : never),
    () => 1,
  );
  say("left", await lane.flush(300));
}

async function serve(): Promise<void> {
  const answers: ((delivery: Delivery) => void)[] = [];
  const start = (fixed?: Delivery) =>
    lane.start(
      async (batch: Batch) => {
        say("deliver", batch);
        if (fixed === undefined) return new Promise<Delivery>((resolve) => answers.push(resolve));
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
        say("end", batch.id);
        return fixed;
      },
      () => 3,
    );
  say("ready");
  for await (const line of createInterface({ input: process.stdin })) {
    const [, word = "", rest = ""] = /^(\S+) ?(.*)$/.exec(line) ?? [];
    if (word === "add") say("added", await add(rest));
    if (word === "add-many") {
      const [count, prefix] = rest.split(" ");
      for (let at = 0; at < Number(count); at += 1) {
        await add(`${prefix}${at}`);
        if (at % 7 === 0) await new Promise(setImmediate);
      }
      say("added-many");
    }
    if (word === "start") start(rest === "" ? undefined : JSON.parse(rest));
    if (word === "answer") answers.shift()?.(JSON.parse(rest));
    if (word === "state") say("state", lane.state());
    if (word === "close") lane.close();
  }
}
