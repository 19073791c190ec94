// Child process on a small file system: an agent with a turn before, a long one while, and one after the disk is full. Prints what
// came of it as one JSON object. Arguments: home, address of the model server.
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createAgent } from "../../src/agent/index.ts";

const [home = "", url = ""] = process.argv.slice(2);
const ballast = join(home, "ballast");
const model = { default: "test-model", provider: "custom", base_url: url, context_length: 128_000 };
writeFileSync(join(home, "config.yaml"), JSON.stringify({ model })); // JSON is YAML

let notices = 0;
const onEvent = ({ type }: { readonly type: string }): void => {
  if (type === "notice") notices += 1;
};
const agent = await createAgent({ home, env: {}, cwd: home, titles: false, onEvent });
const exits = [(await agent.run("first")).exit];
fillUp();
const long = `second ${"the harbour crane turns slowly ".repeat(8_000)}`;
exits.push((await agent.run(long)).exit);
const whileFull = await contents();
rmSync(ballast);
exits.push((await agent.run("third")).exit);
const afterwards = await contents();
const isWhole = afterwards[2] === long && afterwards[4] === "third";
await agent.close();
console.log(JSON.stringify({ exits, whileFull, notices, afterwards: afterwards.length, isWhole }));

async function contents(): Promise<unknown[]> {
  return ((await agent.store?.getMessages(agent.sessionId)) ?? []).map(({ content }) => content);
}

function fillUp(): void {
  const fd = openSync(ballast, "w");
  try {
    for (;;) writeSync(fd, Buffer.alloc(4096));
  } catch {
    // Full, as wanted.
  }
  closeSync(fd);
}
