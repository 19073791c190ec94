// Small promises of the agent that are easy to break: nothing typed is lost, nothing goes to another server, no id becomes a path.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createAgent } from "@hermes-memory/agent/internal/agent";
import { describe, expect, it, onTestFinished } from "vitest";
import { agentHome, modelSection, writeConfig } from "../../../agent/test/agent/agent-home.ts";
import { ollamaAnswers } from "../../../agent/test/fakes/model-server.ts";
import { gate, hangUp } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { startMounted, whyNoMounts } from "../../../core/test/fakes/mounts.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

describe("what is typed while a turn ends", () => {
  it("is refused once the result is made, so that whoever typed it can send it again", async () => {
    const taken: boolean[] = [];
    const home = await agentHome([{ text: "Done." }], {
      options: { hooks: { turnEnd: () => void taken.push(home.agent.steer("late words")) } },
    });
    expect(await home.agent.run("hi")).toMatchObject({ pending_steer: null });
    expect(taken).toEqual([false]);
  });

  it("after an interrupt comes back with the result", async () => {
    const held = gate();
    const { agent, wire } = await agentHome([{ text: "never", pauseBefore: held }]);
    const running = agent.run("hi");
    await wire.waitForRequest(0);
    agent.steer("before");
    agent.interrupt();
    expect(agent.steer("and after")).toBe(true);
    expect(await running).toMatchObject({ interrupted: true, pending_steer: "and after" });
    held.open();
  });
});

describe("another model by name", () => {
  it("is asked of the server in use, not of the one in config", async () => {
    const elsewhere = await startWire("chat", []);
    const { agent, wire } = await agentHome([{ text: "one" }, { text: "two" }]);
    writeConfig(agent.home, { model: modelSection("chat", elsewhere.url) });
    await agent.run("a secret");
    const switched = await agent.switchModel({ model: "m2" });
    expect(switched).toMatchObject({ ok: true, value: { model: "m2", baseUrl: wire.url } });
    await agent.run("again");
    expect(wire.requests[1]?.body.model).toBe("m2");
    expect(elsewhere.requests).toEqual([]);
  });
});

describe("a window that may change", () => {
  it("is asked for again with the key, and stays when the server does not answer", async () => {
    const asked: string[] = [];
    const url = await ollamaLike(asked);
    const home = tempDirectory();
    writeConfig(home, { model: { ...modelSection("chat", `${url}/v1`), provider: "ollama" } });
    await using agent = await createAgent({ home, env: {}, cwd: home, titles: false, review: false });
    expect(agent.window).toMatchObject({ tokens: 32_768, isProvisional: true });
    const before = asked.length;
    expect(await agent.run("hi")).toMatchObject({ final_response: "Hello." });
    expect(asked.length).toBeGreaterThan(before + 1);
    expect(new Set(asked)).toEqual(new Set(["Bearer test-key"]));
    expect(agent.window).toMatchObject({ tokens: 32_768, source: "server", isProvisional: false });
  });

  /** Has not loaded its model, answers one chat, and says nothing about itself afterwards. */
  async function ollamaLike(asked: string[]): Promise<string> {
    const answers = ollamaAnswers("test-model", { most: 32_768 });
    let hasChatted = false;
    const server = createServer((request, response) => {
      asked.push(request.headers.authorization ?? "no key");
      const path = request.url ?? "";
      if (path.endsWith("/chat/completions")) {
        hasChatted = true;
        const delta = { choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] };
        const usage = { choices: [], usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } };
        const events = [delta, usage].map((event) => `data: ${JSON.stringify({ id: "1", ...event })}\n\n`);
        response
          .writeHead(200, { "content-type": "text/event-stream" })
          .end(`${events.join("")}data: [DONE]\n\n`);
      } else if (hasChatted) response.destroy();
      else
        response.writeHead(answers[path] === undefined ? 404 : 200).end(JSON.stringify(answers[path] ?? {}));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
});

describe("an id of the caller's", () => {
  it("that could be a path is refused", async () => {
    const home = tempDirectory();
    writeConfig(home, { model: modelSection("chat", "http://127.0.0.1:1/v1") });
    const made = createAgent({ home, env: {}, store: null, sessionId: "x/../../evil" });
    await expect(made).rejects.toMatchObject({ code: "bad-session-id" });
    expect(existsSync(join(home, "..", "evil.json"))).toBe(false);
  });
});

describe("settings of MCP servers that cannot be used", () => {
  it("are told with the server's name", async () => {
    const { agent } = await agentHome([], { config: { mcp_servers: { files: { url: "not an address" } } } });
    expect(agent.warnings.join("\n")).toMatch(/mcp_servers\.files/);
  });
});

describe("an attempt that is made again", () => {
  it("takes back the reasoning that was told", async () => {
    const { agent, events } = await agentHome(
      [
        { reasoning: "thinking hard", text: "", cutAfterChars: 8 },
        { reasoning: "thinking hard", text: "Yes." },
      ],
      { options: { waitForRetry: async () => undefined } },
    );
    expect(await agent.run("hm?")).toMatchObject({ final_response: "Yes." });
    const kinds = events.map(({ type }) => type);
    expect(kinds.indexOf("text-discard")).toBeGreaterThan(kinds.indexOf("reasoning-delta"));
    expect(kinds.indexOf("text-discard")).toBeLessThan(kinds.indexOf("retry"));
  });

  it("ends in an error that names the server in the middle of its sentence", async () => {
    const { agent } = await agentHome([hangUp()], { config: { agent: { api_max_retries: 1 } } });
    expect((await agent.run("hi")).error).not.toMatch(/ The server/);
  });
});

describe("what goes out", () => {
  it("has no parts without words, no two answers in a row, and begins with the user", async () => {
    const { agent, wire } = await agentHome([{ text: "ok" }], {
      options: {
        history: [
          { role: "assistant", content: "first" },
          { role: "assistant", content: "second" },
          {
            role: "user",
            content: [
              { type: "text", text: "  " },
              { type: "text", text: "look" },
            ],
          },
          { role: "assistant", content: "third" },
        ],
      },
    });
    await agent.run("and now?");
    expect(wire.wireMessages(0).map(({ role, content }) => [role, content])).toEqual([
      ["user", expect.stringContaining("not shown")],
      ["assistant", "first\n\nsecond"],
      ["user", "look"],
      ["assistant", "third"],
      ["user", "and now?"],
    ]);
  });

  it("never carries a password of the server's address into results and events", async () => {
    const { agent, events } = await agentHome([], {
      config: {
        model: { base_url: "http://bob:hunter2secret@127.0.0.1:9/v1" },
        agent: { api_max_retries: 1 },
      },
    });
    await agent.run("hi");
    expect(JSON.stringify(events)).not.toContain("hunter2secret");
  });
});

describe("a message larger than the model's window", () => {
  it("is neither sent nor stored, and says what to do", async () => {
    const { agent, wire } = await agentHome([{ text: "fine" }], {
      config: { model: { context_length: 8_000 } },
    });
    const result = await agent.run("kiln ".repeat(8_000));
    expect(result).toMatchObject({ exit: "context_overflow", failed: true, api_calls: 0 });
    expect(result.error).toMatch(/about 10,0\d\d tokens.*takes 8,000.*not sent/);
    expect(await agent.run("a short one")).toMatchObject({ final_response: "fine" });
    expect(wire.requests).toHaveLength(1);
    expect(await agent.store?.messageCount(agent.sessionId)).toBe(2);
  });
});

describe("a toolset that does not exist", () => {
  it("is a mistake to be told, not an agent without tools", async () => {
    const { another } = await agentHome([]);
    await expect(another({ toolsets: ["memroy"] })).rejects.toMatchObject({
      code: "unknown-toolset",
      hint: expect.stringContaining("memory"),
    });
    expect((await another({ toolsets: ["todo", "user"] })).toolNames).toEqual(["read_result", "todo"]);
  });
});

describe("a home that can only be read", () => {
  it.skipIf(whyNoMounts !== undefined)("still gives a session that goes on its history", async () => {
    const { agent, home, wire } = await agentHome([{ text: "Blue." }, { text: "Still blue." }]);
    await agent.run("the crane's colour?");
    await agent.close();
    const main = join(import.meta.dirname, "../../src/cli/main.ts");
    const chat = [
      "sh",
      "-c",
      'exec "$@" < /dev/null',
      "sh",
      process.execPath,
      main,
      "chat",
      "-c",
      "-q",
      "sure?",
    ];
    const readOnly = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && export HERMES_HOME="$1"';
    expect(await startMounted(readOnly, [home], chat).rest()).toEqual(["Still blue."]);
    expect(wire.wireMessages(1)).toHaveLength(3);
  });
});
