// The context benchmark as it is run: a real process on short lists. How long anything takes is not looked at.
import { describe, expect, it } from "vitest";
import { makeHistory } from "../../bench/context/history.ts";
import { toolCallsOf } from "../../packages/core/src/message/index.ts";
import { expectPairs } from "../../packages/core/test/context/valid-list.ts";
import { onlyLine, runBench } from "./run-bench.ts";

const cost = { cpu_ms: expect.any(Number), ms: expect.any(Number) };
const growth = { short: cost, long: cost, ratio: expect.any(Number) };

describe("the context benchmark", () => {
  it("prints one JSON line with the cost of every part and how it grows", async () => {
    const { stdout, code } = await runBench([
      "context",
      "--messages",
      "200",
      "--rounds",
      "1",
      "--sample-ms",
      "1",
    ]);
    expect(code).toBe(0);
    const figures = onlyLine(stdout);
    expect(figures).toMatchObject({
      bench: "context",
      messages: [200, 2000],
      after: [{ kind: "compacted" }, { kind: "compacted" }],
      prune: growth,
      boundaries: growth,
      assembly: growth,
      without_requests: growth,
      compress: growth,
      caching_native: growth,
      caching_envelope: growth,
      floor: { structured_clone: growth, copy: growth },
      most_compaction_ratio: expect.any(Number),
    });
    const { meets } = figures as { meets: Record<string, boolean> };
    expect(Object.values(meets).every((met) => typeof met === "boolean")).toBe(true);
    expect(Object.keys(meets)).toHaveLength(7);
  });

  it.each(["many", "0", "-3"])("says what is wrong with --messages %s", async (given) => {
    const { stdout, stderr, code } = await runBench(["context", `--messages=${given}`]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`--messages takes a whole number above 0, not '${given}'.\n`);
  });

  it("works on a conversation with turns, tool rounds, repeated results and images, the same for a seed", () => {
    const history = makeHistory(2_000, 3);
    expect(history).toHaveLength(2_000);
    expect(makeHistory(2_000, 3)).toEqual(history);
    expect(makeHistory(500, 3)).toEqual(history.slice(0, 500));
    const results = history.flatMap(({ role, content }) => (role === "tool" ? [content] : []));
    expect(new Set(results).size).toBeLessThan(results.length);
    expect(history.filter((message) => toolCallsOf(message).length > 1).length).toBeGreaterThan(0);
    expect(JSON.stringify(history)).toContain('"type":"image"');
    expectPairs(
      history.slice(
        0,
        history.findLastIndex(({ role }) => role === "user"),
      ),
    );
  });
});
