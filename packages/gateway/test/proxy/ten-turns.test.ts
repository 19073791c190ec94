// Ten turns of a client that keeps its own list: what the model's server is sent grows only at its end, so that its prefix cache works.
import { describe, expect, it, vi } from "vitest";
import type { RecordedRequest, Step } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { prefixMarks } from "../../src/proxy/chain.ts";
import { bodyOf, FAKES, ProxyHome, replyItems, withDoor } from "./proxy-home.ts";

/** Up to the end of the last message. */
function upToLast({ raw }: RecordedRequest): string {
  return raw.slice(0, raw.lastIndexOf("]"));
}

const TURNS = 10;

describe.each(["chat", "messages", "responses"] as const)("ten turns on %s", (wire) => {
  it.each([true, false])(
    "repeat recall and hidden tool rounds byte for byte (stream: %s)",
    async (stream) => {
      const server = await startWire(FAKES[wire], ({ index, raw }): Step => {
        // Every second turn looks something up before it answers, with words and thoughts around it.
        const turn = raw.split("Question ").length - 1;
        const isResult = raw.includes(`lookup-${turn}`);
        if (turn % 2 === 0 && !isResult)
          return {
            reasoning: `Thinking about ${index}`,
            text: `Let me look (${turn}).`,
            toolCalls: [{ name: "memory_history", arguments: { limit: 1 }, id: `lookup-${turn}` }],
          };
        return {
          text: `Answer ${turn}`,
          reasoning: turn % 3 === 0 ? "Hm." : "",
          usage: { input: 10, output: 5 },
        };
      });
      const home = await ProxyHome.open({ wire, url: server.url, door: withDoor });
      const count = vi.spyOn(home.gateway.metrics, "count");
      const observe = vi.spyOn(home.gateway.metrics, "observe");
      const list: unknown[] = [];
      for (let turn = 1; turn <= TURNS; turn += 1) {
        list.push({ role: "user", content: `Question ${turn}` });
        const response = await home.send(bodyOf(wire, list, { stream }), { session: { kind: "prefix" } });
        const text = await response.text();
        expect(response.status).toBe(200);
        expect(text).not.toContain("memory_history");
        expect(response.headers.get("x-hermes-notice")).toBeNull();
        list.push(...replyItems(wire, text, stream));
      }
      const { requests } = server;
      expect(requests).toHaveLength(TURNS + TURNS / 2);
      for (const [index, request] of requests.entries()) {
        const before = requests[index - 1];
        if (before !== undefined) expect(request.raw.startsWith(upToLast(before))).toBe(true);
        expect(request.system).toContain("The kiln is in room 4.");
        expect(request.tools).toEqual(["memory", "session_search", "memory_history"]);
      }
      const last = requests.at(-1)?.raw ?? "";
      for (let turn = 1; turn <= TURNS; turn += 1) {
        expect(last.split(`recall ${turn}\\n`)).toHaveLength(2);
        if (turn % 2 === 0) expect(last.split(`Let me look (${turn}).`)).toHaveLength(2);
      }
      expect(last.split('"cache_control"').length - 1).toBeLessThanOrEqual(4);
      const stored = await home.stored();
      const turns = Array.from({ length: TURNS }, (_, index) => index + 1);
      expect(stored.filter((line) => !line.startsWith("tool: "))).toEqual(
        turns.flatMap((turn) => [
          `user: Question ${turn}`,
          ...(turn % 2 === 0 ? [`assistant: Let me look (${turn}). +memory_history`] : []),
          `assistant: Answer ${turn}`,
        ]),
      );
      expect(stored.filter((line) => line.startsWith("tool: "))).toHaveLength(TURNS / 2);
      const store = await home.memory.layers.sessions({ mode: "read" });
      expect(await store?.turns.listRecalls()).toHaveLength(TURNS);
      expect(count.mock.calls.filter(([name]) => name === "turns_stored_total")).toHaveLength(TURNS);
      expect(observe.mock.calls.filter(([name]) => name === "recall_seconds")).toHaveLength(TURNS);
      // Without any id, the next request would find this session by its list.
      const next = bodyOf(wire, [...list, { role: "user", content: "Question 11" }]);
      const found = await store?.gateway.findMark(prefixMarks(wire, next).map(({ mark }) => mark));
      expect(found?.session_id).toBe((await home.memory.chat("chat-1"))?.sessionId);
    },
  );
});
