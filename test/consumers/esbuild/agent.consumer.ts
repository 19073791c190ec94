// A bundle of createAgent, as ES modules and as CommonJS: reads a config.yaml that needs the whole YAML parser, loads a vendor's SDK
// lazily, and talks to a model server.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { build } from "esbuild";
import { folder, makeHome, node } from "../kit.ts";

const model = createServer((request, response) => {
  request.resume().on("end", () => {
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(
      `${chunk({ role: "assistant", content: "Hello back." }, null)}${chunk({}, "stop")}data: [DONE]\n\n`,
    );
  });
});
await new Promise<void>((done) => model.listen(0, "127.0.0.1", done));
const address = model.address();
const port = typeof address === "object" && address ? address.port : 0;

const source = join(folder, "program.ts");
writeFileSync(
  source,
  `import { createAgent } from "@hermes-memory/agent";
   async function main() {
     const agent = await createAgent({ home: process.argv[2] ?? "" });
     const { final_response, error } = await agent.run("Hello");
     await agent.close();
     console.log(error ?? final_response);
   }
   void main();`,
);
const sizes: string[] = [];
for (const format of ["esm", "cjs"] as const) {
  const bundle = join(folder, `program.${format === "esm" ? "mjs" : "cjs"}`);
  const { metafile } = await build({
    entryPoints: [source],
    outfile: bundle,
    bundle: true,
    platform: "node",
    format,
    logLevel: "error",
    metafile: true,
  });
  const home = makeHome(`home-${format}`);
  writeFileSync(join(home, "config.yaml"), "display: &display { show_cost: false }\nother: *display\n");
  const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, HERMES_MODEL: "m" };
  assert.equal(await node([bundle, home], { env }), "Hello back.\n");
  sizes.push(`${format} ${((Object.values(metafile.outputs)[0]?.bytes ?? 0) / 1e6).toFixed(1)} MB`);
}
model.close();
console.log(sizes.join(", "));
