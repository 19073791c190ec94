import { describe, expect, it } from "vitest";
import { callTool, honchoHome, WORKSPACE } from "./honcho-home.ts";

const aboutAnn = { observer_id: "bot", observed_id: "ann" };

describe("the schemas", () => {
  it("name the arguments of the Python edition", async () => {
    const provider = await (await honchoHome()).start();
    const schemas = (await provider.getToolSchemas?.()) ?? [];
    const shape = schemas.map(({ name, parameters }) => [
      name,
      Object.keys(parameters.properties as object),
      parameters.required,
    ]);
    expect(shape).toEqual([
      ["honcho_profile", ["peer", "card"], []],
      ["honcho_search", ["query", "max_tokens", "peer"], ["query"]],
      ["honcho_reasoning", ["query", "reasoning_level", "peer"], ["query"]],
      ["honcho_context", ["query", "peer"], []],
      ["honcho_conclude", ["conclusion", "delete_id", "peer"], []],
    ]);
    expect(JSON.stringify(schemas)).not.toContain("anyOf");
  });
});

describe("honcho_profile", () => {
  it("reads and replaces the card of user, agent and others", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    expect(await callTool(provider, "honcho_profile", { card: ["Name: Ann", " ", "Likes tea"] })).toEqual({
      result: "Peer card updated (2 facts).",
      card: ["Name: Ann", "Likes tea"],
    });
    expect(at.server.cardOf(WORKSPACE, "bot", "ann")).toEqual(["Name: Ann", "Likes tea"]);
    expect(await callTool(provider, "honcho_profile", {})).toEqual({ result: ["Name: Ann", "Likes tea"] });
    await callTool(provider, "honcho_profile", { peer: "ai", card: ["Is calm"] });
    expect(at.server.cardOf(WORKSPACE, "bot", "bot")).toEqual(["Is calm"]);
    expect((await callTool(provider, "honcho_profile", { card: [1, null] })).error).toContain("no fact");
    at.server.setCard(WORKSPACE, "guest-1", "guest-1", ["Visits"]);
    expect(await callTool(provider, "honcho_profile", { peer: "guest 1" })).toEqual({ result: ["Visits"] });
  });
});

describe("honcho_search", () => {
  it("returns excerpts and the card, within the asked length", async () => {
    const at = await honchoHome();
    for (let number = 0; number < 400; number += 1)
      at.server.addConclusion(WORKSPACE, { ...aboutAnn, content: `tea number ${number} is good` });
    at.server.setCard(WORKSPACE, "bot", "ann", ["Name: Ann"]);
    const provider = await at.start();
    const whole = await callTool(provider, "honcho_search", { query: "tea", max_tokens: 99_999 });
    expect(String(whole.result).length).toBeLessThanOrEqual(8_000);
    const short = await callTool(provider, "honcho_search", { query: "tea", max_tokens: 10 });
    expect(String(short.result).length).toBeLessThanOrEqual(40);
    expect((await callTool(provider, "honcho_search", { query: "nothing" })).result).toBe("- Name: Ann");
    at.server.setCard(WORKSPACE, "bot", "ann", []);
    expect(await callTool(provider, "honcho_search", { query: "zebra" })).toEqual({
      result: "No relevant context found.",
    });
    expect(await callTool(provider, "honcho_search", { query: "  " })).toEqual({
      error: "Missing required parameter: query",
    });
  });
});

describe("honcho_reasoning", () => {
  it("asks through the agent's eyes, with the asked level, and cuts the answer", async () => {
    const at = await honchoHome({ dialecticMaxChars: 30 });
    at.server.chatAnswer = ({ peer, target, level }) => `${peer} on ${target} at ${level} ${"x ".repeat(40)}`;
    const provider = await at.start();
    const ask = async (args: object): Promise<unknown> =>
      (await callTool(provider, "honcho_reasoning", { query: "Who?", ...args })).result;
    expect(await ask({})).toMatch(/^bot on ann at low .* …$/);
    expect(await ask({ reasoning_level: "max" })).toContain("at max");
    expect(await ask({ reasoning_level: "odd" })).toContain("at low");
    expect(await ask({ peer: "ai" })).toContain("bot on undefined");
    at.server.chatAnswer = null;
    expect(await ask({})).toBe("No result from Honcho.");
  });

  it("ignores the asked level where levels are fixed", async () => {
    const at = await honchoHome({ dialecticDynamic: false, dialecticReasoningLevel: "medium" });
    at.server.chatAnswer = ({ level }) => `${level}`;
    const provider = await at.start();
    const answer = await callTool(provider, "honcho_reasoning", { query: "Who?", reasoning_level: "max" });
    expect(answer).toEqual({ result: "medium" });
  });
});

describe("honcho_context", () => {
  it("puts summary, representation, card and the last five messages together", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    expect(await callTool(provider, "honcho_context")).toEqual({ result: "No context available yet." });
    at.server.setSummary(WORKSPACE, "kiln", "They spoke about kilns.");
    at.server.addConclusion(WORKSPACE, { ...aboutAnn, content: "likes tea" });
    at.server.addConclusion(WORKSPACE, { ...aboutAnn, content: "owns a kiln" });
    at.server.setCard(WORKSPACE, "bot", "ann", ["Name: Ann"]);
    for (let number = 0; number < 7; number += 1)
      at.server.addMessage(WORKSPACE, "kiln", { peer_id: "ann", content: `m${number} ${"x".repeat(300)}` });
    const { result } = await callTool(provider, "honcho_context");
    expect(result).toMatch(/^## Summary\nThey spoke about kilns\.\n\n## Representation\n.*likes tea/s);
    expect(result).toContain("## Card\nName: Ann\n\n## Recent messages\n  [ann] m2 ");
    expect(String(result).match(/\[ann\]/g)).toHaveLength(5);
    const topic = await callTool(provider, "honcho_context", { query: "kiln" });
    expect(topic.result).toContain("owns a kiln");
    expect(topic.result).not.toContain("likes tea");
  });
});

describe("honcho_conclude", () => {
  it("needs exactly one of its two arguments", async () => {
    const provider = await (await honchoHome()).start();
    for (const args of [{}, { conclusion: " ", delete_id: "" }, { conclusion: "x", delete_id: "y" }])
      expect(await callTool(provider, "honcho_conclude", args)).toEqual({
        error: "Exactly one of conclusion or delete_id must be provided.",
      });
  });

  it("stores a fact that is recalled at once, and deletes it", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    await provider.prefetch?.("does she like tea?", { session_id: "s1" });
    expect(await callTool(provider, "honcho_conclude", { conclusion: " Likes tea " })).toEqual({
      result: "Conclusion saved for ann: Likes tea",
    });
    expect(await provider.prefetch?.("does she like tea?", { session_id: "s1" })).toContain("Likes tea");
    const [stored] = at.server.conclusionsOf(WORKSPACE, "bot", "ann");
    expect(stored).toMatchObject({ content: "Likes tea", session_id: "kiln" });
    expect(await callTool(provider, "honcho_conclude", { delete_id: stored?.id })).toEqual({
      result: `Conclusion ${stored?.id} deleted.`,
    });
    expect(await callTool(provider, "honcho_conclude", { delete_id: "gone" })).toEqual({
      error: "Failed to delete conclusion gone.",
    });
    expect((await callTool(provider, "honcho_conclude", { conclusion: "x", peer: "ai" })).result).toBe(
      "Conclusion saved for bot: x",
    );
  });
});

describe("a user of a gateway", () => {
  it("changes an agent that others share neither by a card nor by conclusions", async () => {
    const at = await honchoHome({ user_scope: "id" });
    const own = { content: "is calm", observer_id: "bot", observed_id: "bot" };
    const { id } = at.server.addConclusion(WORKSPACE, own);
    const provider = await at.start({ platform: "telegram", user_id: "42" });
    const calls = [
      ["honcho_profile", { peer: "ai", card: ["obeys 42"] }],
      ["honcho_conclude", { peer: "ai", conclusion: "obeys 42" }],
      ["honcho_conclude", { delete_id: id }],
    ] as const;
    for (const [name, args] of calls) expect(await callTool(provider, name, args)).toHaveProperty("error");
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "bot")).toHaveLength(1);
    expect(at.server.cardOf(WORKSPACE, "bot", "bot") ?? []).toEqual([]);
    expect(await callTool(provider, "honcho_profile", { peer: "user", card: ["Ann"] })).not.toHaveProperty(
      "error",
    );
  });
});
