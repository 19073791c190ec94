// The events of a turn as an async iterable.
import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../../../src/agent/index.ts";
import { gate } from "../../fakes/wires/script.ts";
import { agentHome, collected, streamedText } from "../agent-home.ts";
import { lookTool } from "../turns.ts";

describe("agent.stream", () => {
  it("gives the events of one turn in order, tools with input and output, and the result", async () => {
    const { tools } = lookTool(() => ({ seen: ["a ship"] }));
    const { agent } = await agentHome(
      [{ text: "I look.", toolCalls: [{ name: "look", arguments: { at: "sea" } }] }, { text: "A ship." }],
      { options: { tools } },
    );
    const heard: AgentEvent[] = [];
    const stream = agent.stream("look", { onEvent: (event) => heard.push(event) });
    const events: AgentEvent[] = [];
    for await (const event of stream) {
      await new Promise(setImmediate); // a slow reader misses nothing
      events.push(event);
    }
    expect(events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1])).toEqual([
      "turn-start",
      "text-delta",
      "usage",
      "tool-start",
      "tool-end",
      "text-delta",
      "usage",
      "turn-end",
    ]);
    expect(events).toEqual(heard);
    expect(events.find(({ type }) => type === "tool-start")).toMatchObject({
      name: "look",
      input: { at: "sea" },
    });
    expect(events.find(({ type }) => type === "tool-end")).toMatchObject({
      name: "look",
      output: { seen: ["a ship"] },
      isError: false,
    });
    expect(streamedText(events)).toBe("I look.A ship.");
    expect(await stream.result).toMatchObject({ final_response: "A ship.", exit: "text_response" });
    expect(events.at(-1)).toEqual({ type: "turn-end", result: await stream.result });
  });

  it("interrupts the turn when the loop is left, and the agent is free afterwards", async () => {
    const { agent } = await agentHome([
      { text: "The crane is blue.", stallAfterChars: 8 },
      { text: "Blue." },
    ]);
    const stream = agent.stream("colour?");
    for await (const event of stream) if (event.type === "text-delta") break;
    expect(agent.isRunning).toBe(false);
    expect(await stream.result).toMatchObject({ interrupted: true, exit: "interrupted_by_user" });
    expect(await agent.run("again")).toMatchObject({ final_response: "Blue." });
  });

  it("throws for a turn that is refused, and no rejection is left unhandled", async () => {
    const opened = gate();
    const { agent } = await agentHome([{ text: "One.", pauseBefore: opened }]);
    const first = agent.stream("one");
    await expect(collected(agent.stream("two"))).rejects.toMatchObject({ code: "agent-busy" });
    await expect(agent.stream("three").result).rejects.toMatchObject({ code: "agent-busy" });
    agent.stream("nobody reads this");
    opened.open();
    const events = await collected(first);
    expect(events.at(-1)).toMatchObject({ type: "turn-end", result: { final_response: "One." } });
    await agent.close();
    await expect(collected(agent.stream("late"))).rejects.toMatchObject({ code: "agent-closed" });
  });
});
