// A provider refuses to read a request. The messages that are the cause are left out of later requests, stay stored with a mark,
// and the user gets a notice.

import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { AgentEvent } from "../../src/agent/index.ts";
import { RECORDER, writeRecorder } from "../fakes/recording-plugin.ts";
import { type RecordedRequest, refused, type Step, type WireKind } from "../fakes/wires/script.ts";
import { alteredStore, locked } from "./altered-store.ts";
import { compactionHome } from "./compaction-home.ts";
import { call, lookTool, messagesOf, turnHome } from "./turns.ts";

const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];

/** A server that refuses whatever holds the word. */
function strict(answer: (request: RecordedRequest) => Step = ({ index }) => ({ text: `Reply ${index}.` })) {
  return (request: RecordedRequest): Step =>
    request.raw.includes("forbidden") ? refused() : answer(request);
}

function notices(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
}

describe.each(KINDS)("a message that is refused on the %s wire", (kind) => {
  it("fails its turn, and the turns after it go on without it", async () => {
    const made = await turnHome(strict(), { kind });
    await made.agent.run("hello");
    const failed = await made.agent.run("a forbidden word");
    expect(failed).toMatchObject({ exit: "model_error", failed: true, completed: false });
    expect(failed.turn_exit_reason).toBe("model_error(content_policy)");
    expect(failed.error).toContain("declined the request");
    expect(failed.hint).toContain("Go on with another message");
    expect(
      notices(made.events).filter((text) => text.includes("your message will be left out")),
    ).toHaveLength(1);
    expect(await made.agent.run("and now?")).toMatchObject({ completed: true, final_response: "Reply 3." });
    expect(made.wire.requests).toHaveLength(4); // one of them a try without the reply before
    const last = made.wire.requests[3]?.raw ?? "";
    expect(last).toContain("hello");
    expect(last).toContain("and now?");
  });
});

it("Google's block in place of a reply is such a refusal", async () => {
  const made = await turnHome(
    ({ raw }) => (raw.includes("forbidden") ? { text: "", finish: "content_filter" } : { text: "fine" }),
    { kind: "google" },
  );
  expect(await made.agent.run("a forbidden word")).toMatchObject({ exit: "model_error", failed: true });
  expect(await made.agent.run("hello")).toMatchObject({ final_response: "fine" });
});

it("a reply that a filter stopped leaves the message in the conversation", async () => {
  const made = await turnHome([{ text: "", finish: "content_filter" }, { text: "fine" }]);
  expect(await made.agent.run("a question")).toMatchObject({ exit: "model_error" });
  await made.agent.run("again");
  expect(made.wire.requests[1]?.raw).toContain("a question");
});

describe("the mark", () => {
  it("is in the database, and a resumed session sends the same bytes as the live one", async () => {
    const made = await turnHome(strict());
    await made.agent.run("hello");
    await made.agent.run("a forbidden word");
    await made.agent.run("and now?");
    const rows = (await made.agent.store?.getMessages(made.agent.sessionId)) ?? [];
    expect(rows.map(({ role, content, finish_reason }) => [role, content, finish_reason])).toEqual([
      ["user", "hello", null],
      ["assistant", "Reply 0.", "stop"],
      ["user", "a forbidden word", "content_policy"],
      ["user", "and now?", null],
      ["assistant", "Reply 3.", "stop"],
    ]);
    const { sessionId } = made.agent;
    await made.agent.run("live");
    await made.agent.undo(1);
    await made.agent.close();
    const resumed = await made.another({ resume: sessionId });
    await resumed.run("live");
    expect(made.wire.requests[5]?.raw).toBe(made.wire.requests[4]?.raw);
  });

  it("is stored later when the database is away", async () => {
    const home = tempDirectory();
    let isAway = true;
    const store = await alteredStore(home, (real) => ({
      setFinishReason: (...args) => (isAway ? locked() : real.setFinishReason(...args)),
    }));
    const made = await turnHome(strict(), { home, options: { store } });
    await made.agent.run("a forbidden word");
    expect(await made.agent.run("and now?")).toMatchObject({ completed: true });
    isAway = false;
    expect(await made.agent.run("still there?")).toMatchObject({ completed: true });
    const rows = await store.getMessages(made.agent.sessionId);
    expect(rows[0]).toMatchObject({ content: "a forbidden word", finish_reason: "content_policy" });
    expect(rows).toHaveLength(5);
  });
});

describe("a tool's result that is refused", () => {
  it("is replaced by a note, and the call stays", async () => {
    const { tools } = lookTool(() => "a forbidden page");
    const made = await turnHome(
      strict(({ index }) => (index === 0 ? call("look", { at: "the page" }) : { text: "fine" })),
      { options: { tools } },
    );
    const failed = await made.agent.run("look at the page");
    expect(failed).toMatchObject({ exit: "model_error", failed: true, api_calls: 3 });
    expect(notices(made.events).join("\n")).toContain("the result of 1 tool call will be left out");
    expect(await made.agent.run("never mind")).toMatchObject({ completed: true, final_response: "fine" });
    expect(made.wire.requests[3]?.raw).toContain("the page");
    expect(messagesOf(made, 3)).toEqual([
      "user: look at the page",
      expect.stringMatching(/^assistant: /),
      expect.stringMatching(/^tool: \[Left out: the model's provider refused/),
      "user: never mind",
    ]);
  });

  it("stays when it was the arguments of its call, which go, and the turn goes on", async () => {
    const { tools } = lookTool(() => "a page");
    const made = await turnHome(
      strict(({ index }) => (index === 0 ? call("look", { at: "the forbidden page" }) : { text: "fine" })),
      { options: { tools } },
    );
    expect(await made.agent.run("look at it")).toMatchObject({ completed: true, final_response: "fine" });
    expect(notices(made.events).join("\n")).toContain(
      "the text and arguments of the model's last calls will",
    );
    const last = made.wire.requests[2]?.raw ?? "";
    expect(last).toContain('"name":"look"');
    expect(last).toContain("a page");
    expect(await made.agent.run("hello?")).toMatchObject({ completed: true });
    expect(made.wire.requests).toHaveLength(4);
  });
});

describe("the model's own reply that is refused", () => {
  const answer = ({ index }: RecordedRequest): Step => ({
    text: index === 0 ? "I say forbidden." : `Reply ${index}.`,
  });

  it.each(KINDS)("is left out within the turn that finds out, on the %s wire", async (kind) => {
    const made = await turnHome(strict(answer), { kind });
    await made.agent.run("hello");
    expect(await made.agent.run("two")).toMatchObject({ completed: true, final_response: "Reply 2." });
    expect(notices(made.events).join("\n")).toContain("the model's last reply will be left out");
    expect(await made.agent.run("three")).toMatchObject({ completed: true, final_response: "Reply 3." });
    expect(made.wire.requests).toHaveLength(4);
    for (const text of ["hello", "two", "Reply 2."]) expect(made.wire.requests[3]?.raw).toContain(text);
    const rows = (await made.agent.store?.getMessages(made.agent.sessionId)) ?? [];
    expect(rows.map(({ finish_reason }) => finish_reason)).toEqual([
      null,
      "content_policy",
      null,
      "stop",
      null,
      "stop",
    ]);
    const { sessionId } = made.agent;
    await made.agent.close();
    const resumed = await made.another({ resume: sessionId });
    expect(await resumed.run("four")).toMatchObject({ completed: true });
  });

  it("is not marked when the try without it fails for another reason", async () => {
    const made = await turnHome(({ raw, index }) =>
      index === 2
        ? { status: 401, body: { error: { message: "bad key" } } }
        : strict(answer)({ raw, index } as RecordedRequest),
    );
    await made.agent.run("hello");
    expect(await made.agent.run("two")).toMatchObject({ failed: true });
    const rows = (await made.agent.store?.getMessages(made.agent.sessionId)) ?? [];
    expect(rows.map(({ finish_reason }) => finish_reason)).toEqual([null, "stop", null]);
    expect(await made.agent.run("three")).toMatchObject({ completed: true });
    expect(made.wire.requests.at(-1)?.raw).toContain("two");
  });
});

it("recall that is refused is left out of the turn, and the message stays", async () => {
  const home = tempDirectory();
  writeRecorder(home, { prefetch: "A forbidden memory." });
  const made = await turnHome(strict(), { home, config: { memory: { provider: RECORDER } } });
  expect(await made.agent.run("which colour?")).toMatchObject({
    completed: true,
    final_response: "Reply 1.",
  });
  expect(notices(made.events).join("\n")).toContain("this turn goes on without recall");
  const rows = (await made.agent.store?.getMessages(made.agent.sessionId)) ?? [];
  expect(rows.map(({ finish_reason }) => finish_reason)).toEqual([null, "stop"]);
});

describe.each(["compressor", "lcm"])("a compaction with the engine %s", (engine) => {
  it("shows no model the refused message, and says that it is left out", async () => {
    const made = await compactionHome({ config: { context: { engine } }, answer: strictAnswer, turns: 6 });
    const old = made.agent.sessionId;
    await made.agent.run("a forbidden word");
    for (const text of ["one", "two", "three"])
      expect(await made.agent.run(text)).toMatchObject({ completed: true });
    const report = await made.agent.compress();
    expect(report.kind).toBe("compacted");
    expect(report.notices.join("\n")).toContain("leaves out 1 message that the model's provider had refused");
    expect(report.notices.join("\n")).not.toMatch(/without a model|could not/);
    expect(made.wire.requests.filter(({ raw }) => raw.includes("forbidden"))).toHaveLength(2); // and a try
    expect(await made.agent.run("go on")).toMatchObject({ completed: true });
    const kept = await made.store.getMessages(old);
    expect(kept.filter(({ finish_reason }) => finish_reason === "content_policy")).toHaveLength(1);
  });

  function strictAnswer({ raw }: RecordedRequest): Step | undefined {
    return raw.includes("forbidden") ? refused() : undefined;
  }
});
