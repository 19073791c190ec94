// Runs a fake memory service as a process of its own, to try a provider by hand or from the command line:
//   node packages/core/test/fakes/servers/serve.ts mem0 [--port 4000] [--key secret]
// It prints its address, and at each line on stdin what it holds.
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { FAKE_SERVICES } from "./services.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: "string", default: "0" }, key: { type: "string" } },
});
const service = FAKE_SERVICES.find(({ name }) => name === positionals[0]);
if (service === undefined) {
  console.error(
    `Usage: serve.ts <${FAKE_SERVICES.map(({ name }) => name).join("|")}> [--port N] [--key KEY]`,
  );
  process.exit(2);
}
const fake = service.create();
await fake.start(Number(values.port));
fake.requireAuth(values.key);
console.log(fake.url);
createInterface({ input: process.stdin })
  .on("line", () => console.log(JSON.stringify(fake.stored(), null, 2)))
  .on("close", () => void fake.stop());
