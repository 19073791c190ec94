// An MCP server that says what no library would: answers of any size and depth, over stdio. Its only argument says what.
import { createInterface } from "node:readline";

const [mode = ""] = process.argv.slice(2);
/** Of `5000`: so many tools. Of `deep=9000`: one tool, so many levels deep. */
const many = Number(mode) || 0;
const levels = Number(/^deep=(\d+)$/.exec(mode)?.[1] ?? 0);

const DEPTH = levels || 3_000;
const deep = `${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`;
const plain = '{"type":"object","properties":{"text":{"type":"string"}}}';

function tool(name: string, schema: string): string {
  return `{"name":"${name}","description":"A tool.","inputSchema":${schema}}`;
}

function toolList(): string {
  if (many > 0) return Array.from({ length: many }, (_, i) => tool(`tool_${i}`, plain)).join(",");
  if (levels > 0) return tool("deep", `{"type":"object","properties":${deep}}`);
  const all = ["echo", "deep_answer", "long_answer", "endless", "long_text"].map((name) => tool(name, plain));
  return [tool("deep", `{"type":"object","properties":${deep}}`), ...all].join(",");
}

function say(id: number, result: string): void {
  process.stdout.write(`{"result":${result},"jsonrpc":"2.0","id":${id}}\n`);
}

function text(value: string): string {
  return `{"content":[{"type":"text","text":${JSON.stringify(value)}}]}`;
}

const ANSWERS: Readonly<Record<string, () => string>> = {
  echo: () => text("hello"),
  deep_answer: () => `{"content":[],"structuredContent":${deep}}`,
  long_answer: () => text("x".repeat(60 * 1024 * 1024)),
  long_text: () => text("x".repeat(7 * 1024 * 1024)),
};

/** A line that never ends. */
function sayForever(): void {
  const piece = "x".repeat(1024 * 1024);
  while (process.stdout.write(piece));
  process.stdout.once("drain", sayForever);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as {
    id?: number;
    method: string;
    params?: { name?: string; protocolVersion?: string };
  };
  if (id === undefined) continue;
  if (method === "initialize") {
    const version = JSON.stringify(params?.protocolVersion);
    say(
      id,
      `{"protocolVersion":${version},"capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`,
    );
  } else if (method === "tools/list") say(id, `{"tools":[${toolList()}]}`);
  else if (params?.name === "endless") sayForever();
  else say(id, ANSWERS[params?.name ?? ""]?.() ?? text("unknown"));
}
