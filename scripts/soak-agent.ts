// Runs many turns of an agent and measures its memory use: `npm run -s soak:agent -- 1500 [lcm]`. Agent and fake model are separate
// processes, so that only the agent is measured. Prints one JSON line.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

type Sample = { readonly turn: number; readonly rssMb: number; readonly heapMb: number };

const DEFAULT_TURNS = 1_200;
const EVERY = 100;
const MB = 1024 * 1024;

const [part = String(DEFAULT_TURNS), ...rest] = process.argv.slice(2);
if (part === "server") await serve(Number(rest[0]));
else if (part === "agent") await talk(rest[0] ?? "", Number(rest[1]));
else await watch(Number(part), rest[0] ?? "compressor");

async function watch(turns: number, engine: string): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "hermes-soak-"));
  const server = start(["server", String(turns)]);
  try {
    const url = await firstLine(server);
    writeFileSync(join(home, "config.yaml"), JSON.stringify(configFor(url, engine)));
    const agent = start(["agent", home, String(turns)], ["--expose-gc"]);
    for await (const line of createInterface({ input: agent.stdout ?? process.stdin }))
      if (line.startsWith("{")) console.log(JSON.stringify({ soak: "agent", engine, ...withSlope(line) }));
  } finally {
    server.kill();
    rmSync(home, { recursive: true, force: true });
  }
}

function start(args: readonly string[], flags: readonly string[] = []): ChildProcess {
  return spawn(process.execPath, [...flags, import.meta.filename, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout ?? process.stdin })) return line;
  throw new Error("The fake model server did not start.");
}

function configFor(url: string, engine: string): object {
  const model = { default: "test-model", provider: "custom", api_mode: "chat_completions", api_key: "none" };
  return { model: { ...model, base_url: url, context_length: 20_000 }, context: { engine } };
}

/** Growth over the second half: in the first half, code is loaded and caches fill. */
function withSlope(line: string): object {
  const report = JSON.parse(line) as { readonly samples: readonly Sample[] };
  const settled = report.samples.slice(Math.floor(report.samples.length / 2));
  const per1000 = (figure: (sample: Sample) => number): number => round(1_000 * slope(settled, figure));
  return {
    ...report,
    peakRssMb: Math.max(...report.samples.map(({ rssMb }) => rssMb)),
    rssMbPer1000Turns: per1000(({ rssMb }) => rssMb),
    heapMbPer1000Turns: per1000(({ heapMb }) => heapMb),
  };
}

function slope(samples: readonly Sample[], figure: (sample: Sample) => number): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [x, y] = [mean(({ turn }) => turn), mean(figure)];
  const above = samples.reduce((sum, sample) => sum + (sample.turn - x) * (figure(sample) - y), 0);
  const below = samples.reduce((sum, sample) => sum + (sample.turn - x) ** 2, 0);
  return below === 0 ? 0 : above / below;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

async function serve(turns: number): Promise<void> {
  const { longAnswer, plantedFacts } = await import("../packages/agent/test/fakes/long-conversation.ts");
  const { startWire } = await import("../packages/agent/test/fakes/wires/start-wire.ts");
  const facts = plantedFacts(30, 4, turns - 80);
  let before: object | undefined;
  const wire = await startWire("chat", (request) => {
    // The fake keeps its requests for tests; here they are dropped.
    if (before !== undefined) Object.assign(before, { raw: "", body: {}, messages: [] });
    before = request;
    return longAnswer(request, facts);
  });
  process.stdin.resume().once("close", () => process.exit(0));
  console.log(wire.url);
}

async function talk(home: string, turns: number): Promise<void> {
  const { jsonSchema, tool } = await import("ai");
  const { createAgent } = await import("@hermes-memory/agent/internal/agent");
  const { answerText, plantedFacts, TOOL_NAME, toolResult, userText } = await import(
    "../packages/agent/test/fakes/long-conversation.ts"
  );
  const facts = plantedFacts(30, 4, turns - 80);
  const samples: Sample[] = [];
  let compactions = 0;
  const began = performance.now();
  const agent = await createAgent({
    home,
    env: {},
    cwd: home,
    titles: false,
    tools: {
      [TOOL_NAME]: tool({
        description: "Reads the log of a turn.",
        inputSchema: jsonSchema<{ turn: number }>({
          type: "object",
          properties: { turn: { type: "integer" } },
        }),
        execute: ({ turn }) => toolResult(turn, facts),
      }),
    },
    onEvent: ({ type }) => {
      if (type === "session-switch") compactions += 1;
    },
  });
  for (let turn = 1; turn <= turns; turn += 1) {
    const { final_response: said } = await agent.run(userText(turn, facts));
    if (said !== answerText(turn, facts)) throw new Error(`Turn ${turn} was answered with: ${said}`);
    if (turn % EVERY !== 0) continue;
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    samples.push({ turn, rssMb: round(rss / MB), heapMb: round(heapUsed / MB) });
  }
  const seconds = round((performance.now() - began) / 1_000);
  await agent.close();
  console.log(JSON.stringify({ turns, compactions, seconds, samples }));
}
