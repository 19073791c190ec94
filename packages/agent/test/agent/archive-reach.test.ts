// A model finds an archived memory entry, over a real socket.
import { expect, it } from "vitest";
import { agentHome } from "./agent-home.ts";

it("an agent finds an archived entry in a later turn and answers from it", async () => {
  const lookUp = { name: "memory", arguments: { action: "search_archive", target: "memory", query: "kiln" } };
  const { agent, wire } = await agentHome(
    [
      {
        toolCalls: [
          {
            name: "memory",
            arguments: { action: "add", target: "memory", content: "The kiln needs 1240 degrees" },
          },
        ],
      },
      {
        toolCalls: [
          {
            name: "memory",
            arguments: { action: "add", target: "memory", content: "The harbour crane is blue" },
          },
        ],
      },
      { text: "Noted." },
      { toolCalls: [lookUp] },
      { text: "1240 degrees." },
    ],
    { config: { memory: { memory_char_limit: 40, overflow: "archive" } } },
  );
  await agent.run("Remember both.");
  expect(String(wire.wireMessages(2).at(-1)?.content)).toContain("search_archive");
  expect(await agent.run("How hot was the kiln?")).toMatchObject({ final_response: "1240 degrees." });
  const result = JSON.parse(String(wire.wireMessages(4).at(-1)?.content));
  expect(result).toMatchObject({
    success: true,
    archived: [{ text: "The kiln needs 1240 degrees" }],
    total_matches: 1,
  });
  // The description of the tool is part of the cached prefix: the same bytes in every request.
  const tools = wire.requests.map(({ body }) => JSON.stringify(body.tools));
  expect(new Set(tools).size).toBe(1);
  expect(tools[0]).toContain("search_archive");
});
