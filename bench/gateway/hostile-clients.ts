// Six clients that try to stall a gateway, each as a user of its own, for some seconds: `hostile-clients.ts URL SECONDS MODE BODIES`.
// They ignore Retry-After. Prints a line when the bodies are made, and at the end how often each client got which answer, as JSON.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";

const [url = "", seconds = "10", mode = "proxy", bodies = "h1", wanted = ""] = process.argv.slice(2);
let until = 0;
const { host, port, pathname } = new URL(url);
const MB = 1e6;
const PAUSE_MS = 100;
const SLOW_SOCKETS = 50;
const OPEN_STREAMS = 1_000;

type Body = string | Buffer<ArrayBuffer>;
const counts = new Map<string, Map<string, number>>();

const chat = (messages: unknown): string => JSON.stringify({ model: "fake", stream: true, messages });
const short = (count: number): string =>
  chat(
    Array.from({ length: count }, (_, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content: `m${at}`,
    })),
  );
const words = (bytes: number): string =>
  "The harbour crane is blue and the ferry leaves at nine. ".repeat(bytes / 56);

async function post(
  client: string,
  path: string,
  body: Body,
  headers: Record<string, string> = {},
): Promise<void> {
  let answer = "no answer";
  try {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-hermes-user-id": client, ...headers },
      body,
      signal: AbortSignal.timeout(Math.max(1, Math.ceil(until + 5_000 - performance.now()))),
    });
    answer = String(response.status);
    await response.arrayBuffer();
  } catch {
    // Refused while it was sending: the connection was closed before the answer could be read.
  }
  const own = counts.get(client) ?? new Map<string, number>();
  counts.set(client, own.set(answer, (own.get(answer) ?? 0) + 1));
}

async function repeat(client: string, work: (round: number) => Promise<void>): Promise<void> {
  if (wanted !== "" && !wanted.split(",").includes(client)) return;
  for (let round = 0; performance.now() < until; round += 1) {
    await work(round);
    await sleep(PAUSE_MS);
  }
}

const path = `/${mode}/v1/chat/completions`;
const gzip = { "content-encoding": "gzip" };
const many = [
  bodies === "h1" ? short(100_001) : short(9_999),
  bodies === "h1" ? short(300_001) : short(9_999),
];
const packed = many.map((body) => gzipSync(body));
const text = chat([
  { role: "user", content: words(15 * MB) },
  { role: "assistant", content: "ok" },
  { role: "user", content: words(15 * MB) },
]);
const deep = [
  `{"messages":${"[".repeat(30 * MB)}`,
  `{"model":"fake","messages":[${"{},".repeat(10 * MB)}{}]}`,
  bodies === "h1"
    ? chat([{ role: "user", content: Array.from({ length: 300_000 }, () => ({ type: "text", text: "x" })) }])
    : chat([{ role: "user", content: Array.from({ length: 60_000 }, () => ({ type: "text", text: "x" })) }]),
];
const entry = JSON.stringify({ text: words(30 * MB) });
const call = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "memory", arguments: { action: "add", target: "memory", content: words(30 * MB) } },
});

/** Declares 30 MB and sends a kilobyte a second. */
async function slowBody(client: string): Promise<void> {
  const socket = connect(Number(port), host.split(":")[0]);
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(
    `POST ${pathname.replace(/\/$/, "")}${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nX-Hermes-User-Id: ${client}\r\nContent-Length: ${30 * MB}\r\n\r\n`,
  );
  let isOpen = true;
  void closed.then(() => {
    isOpen = false;
  });
  while (isOpen && performance.now() < until) {
    socket.write("x".repeat(1_024));
    await Promise.race([closed, sleep(1_000)]);
  }
  socket.destroy();
}

console.log("ready");
until = performance.now() + Number(seconds) * 1000;
const accept = { accept: "application/json, text/event-stream" };
await Promise.all([
  repeat("plain", (round) => post("hostile-plain", path, many[round % 2] as string)),
  repeat("packed", (round) => post("hostile-packed", path, packed[round % 2] as Buffer<ArrayBuffer>, gzip)),
  ...Array.from({ length: SLOW_SOCKETS }, () => repeat("slow", () => slowBody("hostile-slow"))),
  repeat("deep", (round) => post("hostile-deep", path, deep[round % 3] as string)),
  repeat("entries", (round) =>
    round % 2 === 0
      ? post("hostile-entries", "/api/entries", entry)
      : post("hostile-entries", "/mcp", call, accept),
  ),
  ...Array.from({ length: OPEN_STREAMS }, (_, at) =>
    repeat("streams", async () => {
      await post("hostile-streams", path, chat([{ role: "user", content: `stream ${at}` }]));
      await sleep(2_000);
    }),
  ),
  ...(bodies === "limits" ? [repeat("text", () => post("hostile-text", path, text))] : []),
]);
console.log(
  JSON.stringify(Object.fromEntries([...counts].map(([client, own]) => [client, Object.fromEntries(own)]))),
);
process.exit(0);
