import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startScript } from "../../../core/test/fakes/child.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { adding, startServer, toolJson } from "./server-process.ts";

const entriesIn = (home: string): string[] =>
  readFileSync(join(home, "memories", "MEMORY.md"), "utf8").split("\n§\n");

describe("hermes mcp as a process", () => {
  it("answers and stores everything it was sent before the input ended, in order, and ends with 0", async () => {
    const home = tempDirectory();
    const server = await startServer(home);
    const texts = Array.from({ length: 20 }, (_each, i) => `fact ${i}`);
    for (const text of texts) void server.send("tools/call", adding(text));
    server.closeInput();
    const { code, lines, stderr } = await server.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(entriesIn(home)).toEqual(texts);
    expect(lines).toHaveLength(1 + texts.length);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0", result: {} });
  });

  it("finishes a write that waits for its lock before it ends", async () => {
    const home = tempDirectory();
    const server = await startServer(home);
    await server.ask("tools/call", adding("first"));
    const holder = startScript("lock-holder.ts", [join(home, "memories", "MEMORY.md.lock")]);
    expect(await holder.nextLine()).toBeDefined();
    const waiting = server.send("tools/call", adding("second"));
    await server.ask("ping"); // the write before it has been taken up
    server.kill("SIGTERM");
    await holder.kill();
    expect(toolJson(await waiting)).toMatchObject({ success: true, entries: ["first", "second"] });
    expect((await server.ended).code).toBe(0);
    expect(entriesIn(home)).toEqual(["first", "second"]);
  });

  it("survives whatever comes in, and answers a request it can name", async () => {
    const home = tempDirectory();
    const server = await startServer(home);
    server.say("my secret garden\n\n\r\n[]\nnull\n42\n{}\n");
    server.say(Uint8Array.of(0xff, 0xfe, 0x00, 0x0a));
    server.say(`${"[".repeat(200_000)}\n`);
    server.say(
      '{"jsonrpc":"2.0","result":{},"id":777}\n{"jsonrpc":"2.0","method":"notifications/unknown"}\n',
    );
    server.say('{"jsonrpc":"1.0","id":500,"method":"tools/list"}\n');
    expect(await server.ask("no/such/method")).toMatchObject({ error: { code: -32601 } });
    expect(await server.ask("tools/call", { name: "nobody" })).toMatchObject({ error: { code: -32602 } });
    expect(await server.ask("prompts/get", { name: "nobody" })).toMatchObject({ error: { code: -32602 } });
    expect(await server.ask("resources/read", { uri: 5 })).toHaveProperty("error");
    const nothing = await server.ask("tools/call", { name: "memory", arguments: null });
    expect(toolJson(nothing)).toMatchObject({ success: false });
    const text = await server.ask("tools/call", { name: "memory_history", arguments: "all" });
    expect(toolJson(text)).toMatchObject({ success: true, total: 0 });
    expect(toolJson(await server.ask("tools/call", adding("alive")))).toMatchObject({ success: true });
    server.closeInput();
    const { code, lines, stderr } = await server.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const answers = lines.map((line) => JSON.parse(line));
    expect(answers.filter(({ jsonrpc }) => jsonrpc !== "2.0")).toEqual([]);
    expect(answers.find(({ id }) => id === 500)).toMatchObject({ error: { code: -32600 } });
    const log = readFileSync(join(home, "logs", "hermes-memory.log"), "utf8");
    expect(log).toContain("no JSON-RPC message");
    expect(log).toContain("MCP server stopped");
    expect(log).not.toContain("garden");
  });

  it("drops a line beyond all bounds, and answers a request that is too long or too deep with an error that says so", async () => {
    const server = await startServer(tempDirectory());
    const piece = new Uint8Array(1024 * 1024).fill(0x61);
    for (let i = 0; i < 70; i += 1) server.say(piece);
    server.say("\n");
    const long = "x".repeat(9 * 1024 * 1024);
    expect(await server.ask("tools/call", adding(long))).toMatchObject({
      error: { code: -32600, message: expect.stringContaining("8,388,608") },
    });
    const deep = JSON.parse("[".repeat(3_000) + "]".repeat(3_000));
    expect(await server.ask("tools/call", { name: "memory", arguments: { deep } })).toMatchObject({
      error: { code: -32600, message: "This request is nested deeper than 100 levels." },
    });
    expect(await server.ask("ping")).toHaveProperty("result");
  });

  it("ends when the client has closed its output, and has stored what it took", async () => {
    const home = tempDirectory();
    const server = await startServer(home);
    server.closeOutput();
    void server.send("tools/call", adding("kept"));
    for (let i = 0; i < 3; i += 1) void server.send("tools/list");
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" });
    expect(entriesIn(home)).toEqual(["kept"]);
  });
});
