// `sessions.write_json_snapshots`: the conversation as a file beside the database.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";

const echo: Script = ({ messages }) => ({ text: `answer to ${String(messages.at(-1)?.content)}` });
const ON = { config: { sessions: { write_json_snapshots: true } } };

type Snapshot = Readonly<Record<string, unknown>> & {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
};

const fileOf = (home: string, id: string): string => join(home, "sessions", `session_${id}.json`);
const read = (path: string): Snapshot => JSON.parse(readFileSync(path, "utf8")) as Snapshot;

describe("the JSON snapshot of a session", () => {
  it("is written only where it is asked for", async () => {
    const { agent, home } = await agentHome(echo);
    await agent.run("one");
    expect(existsSync(fileOf(home, agent.sessionId))).toBe(false);
  });

  it("has the whole conversation after every turn, for the user alone, and leaves nothing else behind", async () => {
    const { agent, home, wire } = await agentHome(echo, ON);
    await agent.run("one");
    await agent.run("two");
    const path = fileOf(home, agent.sessionId);
    const snapshot = read(path);
    expect(snapshot).toMatchObject({
      session_id: agent.sessionId,
      model: "test-model",
      base_url: wire.url,
      platform: "cli",
      system_prompt: wire.systemOf(0),
      message_count: 4,
    });
    expect(snapshot.messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "one"],
      ["assistant", "answer to one"],
      ["user", "two"],
      ["assistant", "answer to two"],
    ]);
    expect(
      snapshot.messages.flatMap((message) => Object.keys(message)).filter((key) => key.startsWith("_")),
    ).toEqual([]);
    expect((snapshot.tools as { function: { name: string } }[]).map((tool) => tool.function.name)).toEqual(
      wire.requests[0]?.tools,
    );
    expect(Date.parse(String(snapshot.session_start))).toBeLessThanOrEqual(
      Date.parse(String(snapshot.last_updated)),
    );
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "sessions")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(home, "sessions"))).toEqual([`session_${agent.sessionId}.json`]);
  });

  it("shows no secrets, and what was stored where the model read more", async () => {
    const key = `ghp_${"a1B2c3D4".repeat(4)}`;
    const { agent, home } = await agentHome([{ text: `Take ${key}.` }], ON);
    await agent.run(`my key is ${key}, added for the model`, { persistUserMessage: `my key is ${key}` });
    const text = readFileSync(fileOf(home, agent.sessionId), "utf8");
    expect(text).not.toContain("a1B2c3D4");
    expect(read(fileOf(home, agent.sessionId)).messages.map(({ content }) => content)).toEqual([
      "my key is ghp_***",
      "Take ghp_***.",
    ]);
  });

  it("is never replaced by a shorter one: after an undo the longer one stays until it is overtaken", async () => {
    const { agent, home } = await agentHome(echo, ON);
    for (const text of ["one", "two", "three"]) await agent.run(text);
    const path = fileOf(home, agent.sessionId);
    await agent.undo(2);
    await agent.run("new");
    expect(read(path)).toMatchObject({ message_count: 6 });
    expect(read(path).messages.at(-1)).toMatchObject({ content: "answer to three" });
    await agent.run("newer");
    expect(read(path).messages.map(({ content }) => content)).toEqual(
      ["one", "new", "newer"].flatMap((text) => [text, `answer to ${text}`]),
    );
  });

  it("costs no turn when it cannot be written", async () => {
    const { agent, home } = await agentHome(echo, ON);
    writeFileSync(join(home, "sessions"), "a file in the way");
    expect(await agent.run("one")).toMatchObject({ exit: "text_response", error: null });
    expect(readFileSync(join(home, "sessions"), "utf8")).toBe("a file in the way");
  });
});
