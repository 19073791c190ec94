// Child process: compacts a session with the lossless engine, as another agent on the same database would. Says "ready" first
// and begins when it is told a line; says the outcome as JSON when the summaries are stored, and then waits for a line
// before it goes on to the rotation, so that it can be killed in between. Arguments: database, session, mode ("hang": the
// third call of the model never ends).
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import { toMessage } from "../../src/context/lossless/leaves.ts";
import { LosslessEngine } from "../../src/context/lossless/lossless-engine.ts";
import { listedNodes } from "../../src/context/lossless/overview.ts";
import { openSessionStore } from "../../src/sessions/index.ts";

const [path = "", sessionId = "", mode = ""] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const store = await openSessionStore({ path, waitLimitMs: 60_000 });
let calls = 0;
const summarizer = {
  complete: async () => {
    calls += 1;
    if (mode === "hang" && calls === 3) {
      process.stdout.write("hanging\n");
      await new Promise(() => {});
    }
    await setImmediate();
    return `summary of process ${process.pid}`;
  },
};
const engine = new LosslessEngine({
  store,
  sessionId,
  contextLength: 8_000,
  leafTokens: 400,
  leafSummaryTokens: 60,
  fanout: 3,
  summarizer,
});
const messages = (await store.getMessages(sessionId)).map(toMessage);
process.stdout.write("ready\n");
await lines.next();
const { kind, summary = "" } = await engine.compress(messages);
process.stdout.write(`${JSON.stringify({ kind, listed: listedNodes(summary) })}\n`);
await lines.next();
await store.close();
process.exit(0);
