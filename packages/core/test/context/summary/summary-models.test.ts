import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { failureOf, isRefusal, SummaryModels } from "../../../src/context/summary/summarise.ts";
import type { TextModel } from "../../../src/lib/index.ts";
import { redactSecrets } from "../../../src/security/index.ts";

const REQUEST = { prompt: "summarise", maxOutputTokens: 100 };
let now = 0;

/** Gives the answers in order; the last one is repeated. */
function model(...answers: readonly unknown[]): TextModel & { calls: number } {
  const fake = {
    calls: 0,
    complete: async () => {
      const answer = answers[Math.min(fake.calls, answers.length - 1)];
      fake.calls += 1;
      if (typeof answer === "string") return answer;
      throw answer;
    },
  };
  return fake;
}

function models(summarizer: TextModel | undefined, fallbackSummarizer?: TextModel): SummaryModels {
  return new SummaryModels({
    summarizer,
    fallbackSummarizer,
    monotonicMs: () => now,
  });
}

/** Asks the available models in order until one answers, as `summarise` does. */
async function askAny(
  asked: SummaryModels,
  request: Parameters<SummaryModels["ask"]>[1],
): ReturnType<SummaryModels["ask"]> {
  const available = asked.available();
  if (!available.ok) return available;
  const [first, ...others] = available.value;
  let answer = await asked.ask(first, request);
  for (const other of others) if (!answer.ok) answer = await asked.ask(other, request);
  return answer;
}

beforeEach(() => {
  now = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

describe("asking for a summary", () => {
  it("gives the answer trimmed and without secrets", async () => {
    const answer = await askAny(
      models(model("\n ## Goal\nkey sk-ant-api03-AAAABBBBCCCCDDDD1234 \n")),
      REQUEST,
    );
    expect(answer).toEqual({ ok: true, value: "## Goal\nkey sk-ant-***" });
  });

  it("accepts a substantial answer without headings, and what is no text as text", async () => {
    expect(await askAny(models(model("The crane is blue.")), REQUEST)).toEqual({
      ok: true,
      value: "The crane is blue.",
    });
    const odd = { complete: async () => ({ text: "x" }) as unknown as string };
    expect(await askAny(models(odd), REQUEST)).toEqual({ ok: true, value: '{"text":"x"}' });
  });

  it("asks once more after a broken connection, and only then", async () => {
    const blip = model(new TypeError("fetch failed"), "## Goal");
    expect((await askAny(models(blip), REQUEST)).ok).toBe(true);
    expect(blip.calls).toBe(2);
    const refused = model(new Error("400 bad request"), "## Goal");
    expect((await askAny(models(refused), REQUEST)).ok).toBe(false);
    expect(refused.calls).toBe(1);
  });

  it("does not ask one and the same model twice as its own fallback", async () => {
    const only = model(new Error("broken"));
    await askAny(models(only, only), REQUEST);
    expect(only.calls).toBe(1);
  });
});

describe("the rest after a failure", () => {
  it.each([
    ["connection", 30, new TypeError("fetch failed")],
    ["failed", 60, new Error("500")],
    ["empty", 60, ""],
    ["refused", 60, "I cannot assist with this request."],
    ["timeout", 60, Object.assign(new Error("slow"), { code: "ETIMEDOUT" })],
    ["no_model", 600, new Error("no auxiliary LLM provider configured")],
  ])("of kind %s is %i s", async (kind, seconds, trouble) => {
    const broken = model(trouble);
    const asked = models(broken);
    expect(await askAny(asked, REQUEST)).toMatchObject({ ok: false, error: { kind } });
    const calls = broken.calls;
    now = seconds * 1000 - 1;
    expect(await askAny(asked, REQUEST)).toMatchObject({ ok: false, error: { kind: "cooldown" } });
    expect(broken.calls).toBe(calls);
    now = seconds * 1000;
    await askAny(asked, REQUEST);
    expect(broken.calls).toBeGreaterThan(calls);
  });
});

describe("a model that hangs", () => {
  it("is given up at the deadline, whether or not it minds the signal", async () => {
    vi.useFakeTimers();
    let seen: AbortSignal | undefined;
    const hanging: TextModel = {
      complete: ({ signal }) => {
        seen = signal;
        return new Promise(() => undefined);
      },
    };
    const answer = askAny(models(hanging), REQUEST);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(await answer).toMatchObject({
      ok: false,
      error: { kind: "timeout", message: "No summary within 120 s." },
    });
    expect(seen?.aborted).toBe(true);
  });

  it("is given up at once when the caller stops, with the caller's reason, and is not held against it", async () => {
    const stop = new AbortController();
    const hanging: TextModel = { complete: () => new Promise(() => undefined) };
    const asked = models(hanging);
    const answer = askAny(asked, { ...REQUEST, signal: stop.signal });
    stop.abort(new Error("the user left"));
    await expect(answer).rejects.toThrow("the user left");
    expect(asked.available().ok).toBe(true);
    await expect(askAny(asked, { ...REQUEST, signal: stop.signal })).rejects.toThrow("the user left");
  });
});

describe("what a failure is called", () => {
  it.each([
    [new Error("outer", { cause: Object.assign(new Error("inner"), { code: "ECONNRESET" }) }), "connection"],
    [new Error("The operation timed out"), "timeout"],
    [Object.assign(new Error("x"), { code: "no-model" }), "no_model"],
    ["a plain text", "failed"],
    [undefined, "failed"],
    [null, "failed"],
    [Object.create(null), "failed"],
    [Symbol("s"), "failed"],
  ])("%#: by what was thrown", (cause, kind) => {
    const failure = failureOf(cause, redactSecrets);
    expect(failure.kind).toBe(kind);
    expect(failure.message).not.toBe("");
  });

  it("is one short line without secrets", () => {
    const cause = new Error(`bad key sk-ant-api03-AAAABBBBCCCCDDDD1234\n${"more ".repeat(100)}`);
    const { message } = failureOf(cause, redactSecrets);
    expect(message).not.toContain("AAAABBBB");
    expect(message).not.toContain("\n");
    expect([...message]).toHaveLength(220);
  });

  it.each([
    ["I'm sorry, but I can't help with that.", true],
    ["I’m sorry, but I can’t assist.", true],
    ["Sorry, I cannot do that", true],
    ["I am unable to summarise this.", true],
    ["Unfortunately, I can't continue.", true],
    ["As an AI language model, I cannot do this.", true],
    ["## Goal\nI cannot say.", false],
    ["I can help: the crane is blue.", false],
    ["The user cannot log in.", false],
    [`I cannot stress enough. ${"The crane is blue. ".repeat(80)}`, false],
  ])("%s: %s", (text, expected) => {
    expect(isRefusal(text)).toBe(expected);
  });
});
