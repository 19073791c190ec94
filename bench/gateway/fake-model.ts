// A model server for the load test, in a process of its own: streams chat completions in small pieces. The reply names the newest marker
// (`MARK-<user>-<turn>`) of the request and every user whose marker the request holds, so what belongs to another user shows in the stream.
import { createServer } from "node:http";

const PIECES = 20;
const [pauseMs = "100"] = process.argv.slice(2);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const text = Buffer.concat(chunks).toString("utf8");
    const marks = text.match(/MARK-\d+-\d+/g) ?? [];
    const users = new Set(marks.map((mark) => mark.split("-")[1]));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (fields: object): string =>
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "fake", ...fields })}\n\n`;
    const piece = (delta: object, finish: string | null = null): string =>
      chunk({ choices: [{ index: 0, delta, finish_reason: finish }] });
    response.write(piece({ role: "assistant", content: "piece 0 " }));
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      if (sent < PIECES) {
        response.write(piece({ content: `piece ${sent} ` }));
        return;
      }
      clearInterval(timer);
      response.write(piece({ content: `newest ${marks.at(-1)}, users: ${[...users].join(" ")}.` }));
      const usage = { prompt_tokens: Math.ceil(text.length / 4), completion_tokens: PIECES, total_tokens: 1 };
      response.end(`${piece({}, "stop")}${chunk({ choices: [], usage })}data: [DONE]\n\n`);
    }, Number(pauseMs));
    response.on("close", () => clearInterval(timer));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});
