import { describe, expect, it } from "vitest";
import {
  badKey,
  badSignature,
  type Failure,
  hangUp,
  modelNotFound,
  outOfCredit,
  overflow,
  payloadTooLarge,
  type RecordedRequest,
  refused,
  type Step,
  serverError,
} from "../fakes/wires/script.ts";
import { expectOneText, messagesOf, storedLines, turnHome } from "./turns.ts";

const NEXT: Step = { text: "Next." };

describe("a failure that trying again cannot mend", () => {
  it.each<[string, Failure, RegExp]>([
    ["401", badKey(), /key/i],
    ["402", { status: 402 }, /credit|billing|balance|quota/i],
    ["429 without credit", outOfCredit(), /credit|billing|balance|quota/i],
    ["404", modelNotFound(), /test-model/],
    ["a content policy", refused(), /polic|rule/i],
  ])(
    "%s ends the turn at once, with a reason; the message is kept for the next one",
    async (_, failure, why) => {
      const home = await turnHome([failure, NEXT]);
      const result = await home.agent.run("hi");
      expect(result).toMatchObject({ exit: "model_error", final_response: "", failed: true, api_calls: 1 });
      expect(result.error).toMatch(why);
      expect(JSON.stringify(result)).not.toContain("test-key");
      expect(home.waits).toEqual([]);
      expect(await storedLines(home.agent)).toEqual(["user: hi"]);
      expect(await home.agent.run("again")).toMatchObject({ final_response: "Next." });
    },
  );
});

describe("a failure that may pass", () => {
  it.each<[string, Failure]>([
    ["a server error", serverError()],
    ["503", serverError(503)],
    ["a connection that is closed without an answer", hangUp()],
    ["an answer that is none", { status: 200, body: "<html>starting up</html>" }],
  ])("such as %s is tried again, up to three attempts", async (_, failure) => {
    const home = await turnHome([failure, failure, NEXT, failure, failure, failure, NEXT]);
    expect(await home.agent.run("hi")).toMatchObject({ final_response: "Next.", api_calls: 1 });
    expect(home.waits).toHaveLength(2);
    expect(home.waits[1]).toBeGreaterThan(home.waits[0] ?? 0);
    const retries = home.events.filter(({ type }) => type === "retry");
    expect(retries).toMatchObject([
      { attempt: 2, of: 3, waitMs: home.waits[0] },
      { attempt: 3, of: 3, waitMs: home.waits[1] },
    ]);
    const failed = await home.agent.run("hi");
    expect(failed).toMatchObject({ exit: "model_error", failed: true, error: expect.any(String) });
    expect(await home.agent.run("again")).toMatchObject({ final_response: "Next." });
  });

  it("is tried as often as agent.api_max_retries says; 1 means once", async () => {
    const home = await turnHome([serverError(), NEXT], { config: { agent: { api_max_retries: 1 } } });
    expect(await home.agent.run("hi")).toMatchObject({ failed: true });
    expect(home.waits).toEqual([]);
    await home.agent.run("again");
  });

  it("such as a stream that stalls is noticed: asked again without text, continued with it", async () => {
    const env = { HERMES_STREAM_STALE_TIMEOUT: "0.4" };
    const home = await turnHome(
      [
        { text: "x", pauseBefore: "forever" },
        { text: "The crane is blue.", stallAfterChars: 8 },
        { text: "e is blue." },
      ],
      { options: { env } },
    );
    await expectOneText(home, await home.agent.run("colour?"), "The crane is blue.");
    expect(home.waits).toHaveLength(1);
    await Promise.all([home.wire.waitForAbort(0), home.wire.waitForAbort(1)]);
  });
});

describe("reasoning whose signature the vendor refuses", () => {
  it("is left out of the requests of this session from then on; the list and the rows keep it", async () => {
    const home = await turnHome(
      [{ text: "Blue.", reasoning: "Cranes are blue." }, badSignature(), { text: "Sure." }, NEXT],
      { kind: "anthropic" },
    );
    await home.agent.run("colour?");
    await expectOneText(home, await home.agent.run("sure?"), "Sure.");
    const [, second, third, fourth] = await askAgain(home);
    expect(second?.raw).toContain("Cranes are blue.");
    expect(third?.raw).not.toContain("Cranes are blue.");
    expect(fourth?.raw).not.toContain("Cranes are blue.");
    const rows = await home.agent.store?.getMessages(home.agent.sessionId);
    expect(rows?.[1]?.reasoning_details).toContain("Cranes are blue.");
  });

  it("a second time in one turn is the end of the turn", async () => {
    const home = await turnHome([badSignature(), badSignature(), NEXT], { kind: "anthropic" });
    expect(await home.agent.run("hi")).toMatchObject({ exit: "model_error", failed: true, api_calls: 2 });
    await home.agent.run("again");
  });

  async function askAgain(home: Awaited<ReturnType<typeof turnHome>>): Promise<readonly RecordedRequest[]> {
    await home.agent.run("next");
    return home.wire.requests;
  }
});

/** Answers summaries by themselves: their requests have no tools. */
function withSummaries(...steps: readonly Step[]): (request: RecordedRequest) => Step {
  const left = [...steps];
  return ({ body }) =>
    "tools" in body ? (left.shift() ?? serverError()) : { text: "## Summary\nThe crane is blue." };
}

const LONG = Array.from({ length: 30 }, (_, n) => ({
  role: n % 2 === 0 ? "user" : "assistant",
  content: `${n}: ${"words and words ".repeat(120)}`,
}));

describe("a request that is too long for the model", () => {
  it.each([
    ["says so with its window", overflow(20_000), 20_000],
    ["says so without", overflow(), 128_000],
    ["finds the body too large", payloadTooLarge(), 128_000],
  ] as const)("is compacted when the server %s, and sent again", async (_, failure, window) => {
    const home = await turnHome(withSummaries(failure, { text: "Blue." }, NEXT), {
      wire: { contextLength: 128_000 },
      options: { history: LONG },
    });
    const before = home.agent.sessionId;
    expect(home.agent.window.tokens).toBe(128_000);
    await expectOneText(home, await home.agent.run("colour?"), "Blue.");
    expect(home.agent.sessionId).not.toBe(before);
    expect(home.agent.window.tokens).toBe(window);
    const [first, , third] = home.wire.requests;
    expect((third?.raw.length ?? 0) / (first?.raw.length ?? 1)).toBeLessThan(0.8);
    expect(messagesOf(home, -1).at(-1)).toContain("colour?");
    expect(await home.agent.run("next")).toMatchObject({ final_response: "Next.", completed: true });
  });

  it("is refused before it is sent when the model cannot hold the prompt and its tools", async () => {
    const home = await turnHome([], { wire: { contextLength: 4_096 } });
    expect(await home.agent.run("hi")).toMatchObject({
      exit: "context_overflow",
      failed: true,
      api_calls: 0,
    });
    expect(await storedLines(home.agent)).toEqual(["user: hi"]);
  });
});
