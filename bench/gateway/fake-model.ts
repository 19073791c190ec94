// A model server for the load test, in a process of its own: streams chat completions in small pieces. The reply names every marker
// (`MARK-<user>-<turn>`) that the request holds, so a marker of another user in a request shows in the stream.
import { createServer } from "node:http";

const PIECES = 20;
const [pauseMs = "40"] = process.argv.slice(2);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const text = Buffer.concat(chunks).toString("utf8");
    const marks = [...new Set(text.match(/MARK-\d+-\d+/g) ?? [])].join(" ");
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta: object, finish: string | null = null): void => {
      const choice = { index: 0, delta, finish_reason: finish };
      const chunk = {
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "fake",
        choices: [choice],
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    send({ role: "assistant", content: "" });
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      if (sent < PIECES) return send({ content: `piece ${sent} ` });
      clearInterval(timer);
      send({ content: `seen: ${marks}` });
      send({}, "stop");
      const usage = { prompt_tokens: Math.ceil(text.length / 4), completion_tokens: PIECES, total_tokens: 1 };
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "fake", choices: [], usage })}\n\n`,
      );
      response.end("data: [DONE]\n\n");
    }, Number(pauseMs));
    response.on("close", () => clearInterval(timer));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});
