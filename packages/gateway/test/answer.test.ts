// Which conversation a request belongs to, through the whole server.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningGateway } from "./running-gateway.ts";

const REPLY = "The harbour crane is blue, and it was painted in the spring of 1987.";

/** Answers every chat completion with the same text, and keeps the requests. */
async function model(): Promise<{ readonly config: string; readonly requests: string[] }> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += String(piece);
    if (request.method === "GET") return void response.end(JSON.stringify({ object: "list", data: [] }));
    requests.push(text);
    const message = { role: "assistant", content: REPLY };
    const choices = [{ index: 0, message, delta: message, finish_reason: "stop" }];
    const isStream = JSON.parse(text).stream === true;
    const body = { id: "c1", object: "chat.completion", created: 1, model: "scripted", choices };
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? `data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n` : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}/v1`;
  return { requests, config: `model:\n  default: scripted\n  base_url: ${base}\n  context_length: 100000\n` };
}

const user = (content: string) => ({ role: "user", content });
const assistant = { role: "assistant", content: REPLY };

describe.each(["agent", "proxy"])("the conversation of a request in %s mode", (mode) => {
  async function opened() {
    const { config, requests } = await model();
    const gateway = await runningGateway({ config });
    const ask = async (messages: object[], headers: Record<string, string> = {}) => {
      const answer = await gateway.call(`/${mode}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "scripted", messages }),
      });
      expect(answer.status).toBe(200);
      await answer.text();
      return answer.headers.get("x-hermes-session-id");
    };
    const rows = () => {
      using db = new DatabaseSync(join(gateway.home, "state.db"), { readOnly: true });
      const sql = "SELECT session_id, content FROM messages WHERE active = 1 ORDER BY id";
      return db.prepare(sql).all() as { session_id: string; content: string }[];
    };
    return { ask, rows, requests };
  }

  it("is found by its earlier messages when nothing names it, also with other instructions", async () => {
    const { ask, rows } = await opened();
    const system = (time: string) => ({ role: "system", content: `It is ${time}.` });
    const first = await ask([system("9:00"), user("Which colour is the crane?")]);
    const second = await ask([
      system("9:01"),
      user("Which colour is the crane?"),
      assistant,
      user("And who painted it?"),
    ]);
    expect(second).toBe(first);
    expect(rows().map(({ content }) => content)).toEqual([
      "Which colour is the crane?",
      REPLY,
      "And who painted it?",
      REPLY,
    ]);
  });

  it("is a new one when another begins with the same words", async () => {
    const { ask } = await opened();
    expect(await ask([user("Hello there")])).not.toBe(await ask([user("Hello there")]));
  });

  it("is the one that the first try of a repeated request began", async () => {
    const { ask, rows } = await opened();
    const first = await ask([user("Hello there")], { "x-stainless-retry-count": "0" });
    expect(await ask([user("Hello there")], { "x-stainless-retry-count": "1" })).toBe(first);
    expect(rows().filter(({ content }) => content === "Hello there")).toHaveLength(1);
  });

  it("loses nothing to a request of the interface about it, recognised or not", async () => {
    const { ask, rows, requests } = await opened();
    const chat = { "x-openwebui-chat-id": "c-1" };
    await ask([user("Which colour is the crane?")], chat);
    const before = rows();
    await ask(
      [user(`Bitte einen kurzen Titel hierfür.\nUSER: Which colour is the crane?\nASSISTANT: ${REPLY}`)],
      chat,
    );
    expect(rows()).toEqual(before);
    expect(requests.at(-1)).not.toContain("memory-context");
  });
});
