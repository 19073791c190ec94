import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TextModel } from "../../../src/lib/index.ts";
import type { SessionSearchContext } from "../../../src/sessions/search-tool/tool.ts";
import { type SummaryRun, summarizeAll } from "../../../src/sessions/summarize/summarize.ts";
import { column, openHome, talk } from "../search-tool/support.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Records its prompts and answers with the first message id in them. */
function scripted(answer = (prompt: string) => `Recap ${/\[#\d+\]/.exec(prompt)?.[0]}`) {
  const prompts: string[] = [];
  const summarizer: TextModel = {
    complete: async ({ prompt }) => {
      prompts.push(prompt);
      return answer(prompt);
    },
  };
  return { prompts, summarizer };
}

const ON: SessionSearchContext = { settings: { summarize: "on_request" } };

describe("summarise", () => {
  it("gives a recap of each conversation, with where to read on", async () => {
    const { store, ask } = await openHome();
    const [first, , match] = await talk(store, "a", ["hello", "hi", "the kiln"], { model: "m1" });
    await store.setSessionTitle("a", "Kilns");
    const { summarizer, prompts } = scripted();
    const answer = await ask({ query: "kiln", summarize: true }, { ...ON, summarizer });
    expect({ ...answer, confidence: undefined }).toEqual({
      success: true,
      mode: "summarize",
      query: "kiln",
      results: [
        {
          session_id: "a",
          when: expect.any(String),
          source: "cli",
          model: "m1",
          title: "Kilns",
          link: "@session:default/a",
          match_message_id: match,
          summary: `Recap [#${first}]`,
        },
      ],
      count: 1,
      sessions_searched: 1,
      stage: "strict",
    });
    expect(prompts).toHaveLength(1);
    expect(prompts[0]).toMatch(/^Topic: kiln\nSource of the conversation: cli\nDate: .+\n/);
    expect(prompts[0]).toContain(`[#${match}] [USER]: the kiln`);
    expect(prompts[0]).toMatch(/focus on: kiln$/);
  });

  it("happens only when it is switched on and asked for", async () => {
    const { store, ask } = await openHome();
    await talk(store, "a", ["the kiln"]);
    const { summarizer } = scripted();
    const modeOf = async (summarize: "off" | "on_request" | "always", args: object) =>
      (await ask({ query: "kiln", ...args }, { summarizer, settings: { summarize } })).mode;
    expect(await modeOf("off", { summarize: true })).toBe("discover");
    expect(await modeOf("on_request", {})).toBe("discover");
    expect(await modeOf("on_request", { summarize: "yes" })).toBe("discover");
    expect(await modeOf("on_request", { summarize: true })).toBe("summarize");
    expect(await modeOf("always", {})).toBe("summarize");
    expect(await modeOf("always", { summarize: false })).toBe("discover");
    expect(
      (await ask({ query: " ", summarize: true }, { summarizer, settings: { summarize: "always" } })).mode,
    ).toBe("browse");
  });

  it("reads the whole conversation of a hit, copies once, and nothing of branches", async () => {
    const { store, ask } = await openHome();
    const [, old] = await talk(store, "root", ["first part", "kept along"]);
    await store.continueSession("root", {
      id: "middle",
      messages: [
        { role: "assistant", content: "kept along", originId: old ?? 0 },
        { role: "user", content: "the kiln" },
      ],
    });
    await store.continueSession("middle", { id: "tip", messages: [{ role: "user", content: "last part" }] });
    const fork = await store.branchSession("middle", { id: "zz-fork" });
    await store.appendMessage(fork.id, { role: "user", content: "only in the branch" });
    const { summarizer, prompts } = scripted();
    await ask({ query: "kiln", summarize: true }, { ...ON, summarizer });
    const [prompt = ""] = prompts;
    const order = ["first part", "kept along", "the kiln", "last part"].map((text) => prompt.indexOf(text));
    expect(order.every((at, index) => at > (order[index - 1] ?? 0))).toBe(true);
    expect(prompt.split("kept along")).toHaveLength(2);
    expect(prompt).not.toContain("only in the branch");
  });

  it("searches every role, at most five conversations, without the current one", async () => {
    const { store, ask } = await openHome();
    for (let n = 0; n < 8; n += 1) await talk(store, `s${n}`, ["the kiln"]);
    await talk(store, "tool-only", ["run"]);
    await store.appendMessage("tool-only", { role: "tool", content: "uncommon output" });
    const { summarizer } = scripted();
    const idsFor = async (args: object) =>
      column(
        (await ask({ ...args, summarize: true }, { ...ON, summarizer, currentSessionId: "s0" })).results,
        "session_id",
      );
    expect(await idsFor({ query: "kiln", limit: 10 })).toEqual(["s1", "s2", "s3", "s4", "s5"]);
    expect(await idsFor({ query: "kiln" })).toHaveLength(3);
    expect(await idsFor({ query: "uncommon" })).toEqual(["tool-only"]);
    expect(await idsFor({ query: "uncommon", role_filter: "user" })).toEqual([]);
  });

  it("falls back to raw previews without a model", async () => {
    const { store, ask } = await openHome();
    const [id] = await talk(store, "a", [`the kiln ${"x".repeat(2000)}`]);
    const { results } = await ask({ query: "kiln", summarize: true }, ON);
    const transcript = `[#${id}] [USER]: the kiln ${"x".repeat(2000)}`;
    expect(results[0]?.summary).toBe(
      `[Raw preview — summarization unavailable]\n${transcript.slice(0, 500)}\n…[truncated]`,
    );
  });

  it("is bounded in size and says why it is empty", async () => {
    const { store, ask } = await openHome();
    for (const id of ["a", "b", "c"]) await talk(store, id, ["the kiln"]);
    const { summarizer } = scripted(() => "long ".repeat(20_000));
    const { results } = await ask({ query: "kiln", summarize: true }, { ...ON, summarizer });
    expect(JSON.stringify(results).length).toBeLessThan(62_000);
    expect(await ask({ query: "zzz", summarize: true }, { ...ON, summarizer })).toMatchObject({
      mode: "summarize",
      count: 0,
      message: "No matching sessions found.",
    });
  });

  it("sees only the sessions of its user", async () => {
    const { store, ask } = await openHome();
    await talk(store, "ann1", ["the kiln"], { userId: "ann" });
    await talk(store, "bob1", ["the kiln of bob"], { userId: "bob" });
    const { summarizer, prompts } = scripted();
    await ask(
      { query: "kiln", summarize: true },
      { ...ON, summarizer, scope: { userId: "ann", userPlatform: "cli" } },
    );
    expect(prompts).toHaveLength(1);
    expect(prompts.join()).not.toContain("bob");
  });
});

type Request = Parameters<TextModel["complete"]>[0];

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function run(
  complete: (request: Request, call: number) => Promise<string>,
  more: Partial<SummaryRun> = {},
): SummaryRun {
  let calls = 0;
  const model: TextModel = {
    complete: (request) => {
      calls += 1;
      return complete(request, calls);
    },
  };
  return { model, maxConcurrency: 3, modelTimeoutMs: 30_000, totalTimeoutMs: 90_000, ...more };
}

describe("asking for summaries", () => {
  it("gives them in order, with a bound on their length", async () => {
    const requests: Request[] = [];
    const summaries = await summarizeAll(
      ["a", "b"],
      run(async (request) => {
        requests.push(request);
        return ` about ${request.prompt}\n`;
      }),
    );
    expect(summaries).toEqual(["about a", "about b"]);
    expect(requests[0]).toMatchObject({ maxOutputTokens: 10_000, system: expect.stringContaining("[#123]") });
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    [3, 3],
    [1, 1],
    [50, 5],
    [0, 1],
    [Number.NaN, 1],
  ])("asks for as many at once as allowed: %d means %d", async (maxConcurrency, expected) => {
    let open = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const done = summarizeAll(
      Array.from({ length: 8 }, String),
      run(
        async () => {
          open += 1;
          most = Math.max(most, open);
          await new Promise<void>((resolve) => gates.push(resolve));
          open -= 1;
          return "ok";
        },
        { maxConcurrency },
      ),
    );
    for (let round = 0; round < 20; round += 1) {
      await vi.advanceTimersByTimeAsync(1);
      for (const gate of gates.splice(0)) gate();
    }
    expect(await done).toEqual(Array(8).fill("ok"));
    expect(most).toBe(expected);
  });

  it("tries three times, one and two seconds apart, and takes an empty answer for a failure", async () => {
    const times: number[] = [];
    const summaryOf = (...texts: readonly (string | Error)[]) => {
      const answers = run(async (_request, call) => {
        times.push(Date.now());
        const text = texts[call - 1] ?? "too many";
        if (text instanceof Error) throw text;
        return text;
      });
      const done = summarizeAll(["a"], answers);
      return vi.advanceTimersByTimeAsync(3000).then(() => done);
    };
    expect(await summaryOf(new Error("busy"), "  ", "third")).toEqual(["third"]);
    expect(times.map((at) => at - (times[0] ?? 0))).toEqual([0, 1000, 3000]);
    expect(await summaryOf(new Error("1"), new Error("2"), new Error("3"))).toEqual([undefined]);
  });

  it("keeps what is finished when the time is up, and stops the rest", async () => {
    const stopped: string[] = [];
    const done = summarizeAll(
      ["quick", "slow", "deaf", "waiting"],
      run(
        (request) => {
          if (request.prompt === "quick") return Promise.resolve("quick summary");
          if (request.prompt === "slow")
            request.signal?.addEventListener("abort", () => stopped.push("slow"));
          return new Promise(() => {}); // neither ever answers
        },
        { maxConcurrency: 2, modelTimeoutMs: 500_000 },
      ),
    );
    await vi.advanceTimersByTimeAsync(89_999);
    expect(stopped).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await done).toEqual(["quick summary", undefined, undefined, undefined]);
    expect(stopped).toEqual(["slow"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("takes a call that is too slow for a failed attempt", async () => {
    const done = summarizeAll(
      ["a"],
      run((_request, call) => (call === 1 ? new Promise(() => {}) : Promise.resolve("second"))),
    );
    await vi.advanceTimersByTimeAsync(31_000);
    expect(await done).toEqual(["second"]);
  });

  it("asks nothing more once it was stopped, even during a pause", async () => {
    const stop = new AbortController();
    let calls = 0;
    const failing = run(
      async () => {
        calls += 1;
        throw new Error("busy");
      },
      { signal: stop.signal },
    );
    const done = summarizeAll(["a", "b", "c", "d"], failing);
    setTimeout(() => stop.abort(), 500);
    await vi.advanceTimersByTimeAsync(500);
    expect(await done).toEqual(Array(4).fill(undefined));
    expect(calls).toBe(3); // the first attempts of three workers
  });
});
