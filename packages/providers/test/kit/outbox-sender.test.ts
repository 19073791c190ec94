import { it, onTestFinished } from "vitest";
import { forgetHolder, newHolder } from "../../../core/src/lib/index.ts";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { OutboxDatabase } from "../../src/kit/outbox/database.ts";
import { addItem, readState } from "../../src/kit/outbox/queue.ts";
import { Sender } from "../../src/kit/outbox/sender.ts";
import { DELIVERED, FAST, textsOf, turn } from "../fakes/outbox.ts";

const key = { provider: "mem0", user: "" };

function openSender(deliver: (texts: readonly string[]) => void) {
  const database = OutboxDatabase.use({ home: tempDirectory(), isDurable: true, log: silentLogger });
  const holder = newHolder();
  const sender = new Sender({
    database,
    key,
    owner: holder,
    pauses: FAST,
    log: silentLogger,
    batchLimit: () => 1,
    onFree: () => {},
    deliver: async (batch) => {
      deliver(textsOf(batch));
      return DELIVERED;
    },
  });
  onTestFinished(async () => {
    await sender.close();
    forgetHolder(holder);
    database.release();
  });
  const add = (text: string) => {
    const limits = { maxItems: 10, maxBytes: 1_000 };
    const item = turn(text);
    const request = { item, body: JSON.stringify(item.body), holder, now: new Date(), ...limits };
    database.write((sql) => addItem(sql, key, request));
    sender.poke();
  };
  return { add, waiting: () => database.read((sql) => readState(sql, key))?.waiting };
}

it.each([0, 1, 2, 3, 4, 5, 6, 8, 10])(
  "a write that arrives %i steps after the last one was recorded is not left lying",
  async (steps) => {
    const second = Promise.withResolvers<void>();
    const { add, waiting } = openSender((texts) => {
      if (texts[0] === "second") second.resolve();
      else void addLater();
    });
    const addLater = async () => {
      while (waiting() !== 0) await null;
      for (let step = 0; step < steps; step += 1) await null;
      add("second");
    };
    add("first");
    // The next look of an idle sender would be after 5 s.
    const late = new Promise((_, reject) =>
      setTimeout(() => reject(new Error("not sent within 3 s")), 3_000).unref(),
    );
    await Promise.race([second.promise, late]);
  },
);
