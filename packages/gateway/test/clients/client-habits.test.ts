// Coding agents that name no session and rewrite their own lists (hand-written after the real ones): the conversation stays one, in the
// user's own words.
import { describe, expect, it } from "vitest";
import { clientHome, MODES, type Mode } from "./client-home.ts";

type Row = Readonly<Record<string, unknown>>;
/** Another list for each request of one conversation: a prompt, a call's result, the next prompt. */
type Client = { readonly name: string; readonly lists: readonly (readonly Row[])[] };

const TOOL = { name: "run", description: "Runs a command", parameters: { type: "object" } };
const ASKED = "Is the kiln of Berta still warm?";
const NEXT = "And the one of Bo?";
const user = (content: unknown): Row => ({ role: "user", content });
const call = (id: string): Row => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "run", arguments: '{"command":"warm"}' } }],
});
const result = (id: string): Row => ({ role: "tool", tool_call_id: id, content: "42 degrees" });
const reply = (content: string): Row => ({ role: "assistant", content });

const reminder = (text: string): Row => ({
  type: "text",
  text: `<system-reminder>${text}</system-reminder>`,
});
const words = (text: string): Row => ({ type: "text", text });
const INTERNAL = `<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>
Heard in other rooms: the kiln is out of order.
<<<END_OPENCLAW_INTERNAL_CONTEXT>>>`;
const stamped = (text: string): string =>
  `[Tue 2026-11-17 10:04 UTC] ${text}\n\nRuntime: agent=main | host=mill | model=m`;

const CLIENTS: readonly Client[] = [
  {
    name: "Qwen Code, whose reminders in old messages change",
    lists: [
      [user([reminder("one file"), words(ASKED)])],
      [user([reminder("two files"), words(ASKED)]), call("call_1"), result("call_1")],
      [
        user([reminder("no file"), words(ASKED)]),
        ...[call("call_1"), result("call_1"), reply("Yes, a little.")],
        user([reminder("a new one"), words(NEXT)]),
      ],
    ],
  },
  {
    name: "OpenClaw, which adds a block for one request and rewrites ids of calls",
    lists: [
      [user(stamped(ASKED)), user(INTERNAL)],
      [user(stamped(ASKED)), call("callmade7x1"), result("callmade7x1"), user(INTERNAL)],
      [
        ...[user(ASKED), call("callagain7x2"), result("callagain7x2"), reply("Yes, a little.")],
        ...[user(stamped(NEXT)), user(INTERNAL)],
      ],
    ],
  },
  {
    name: "Copilot CLI, which puts the time before the words",
    lists: [
      [user(`<current_datetime>2026-11-17T10:04:00Z</current_datetime>\n\n${ASKED}`)],
      [
        user(`<current_datetime>2026-11-17T10:04:00Z</current_datetime>\n\n${ASKED}`),
        ...[call("call_1"), result("call_1")],
      ],
      [
        ...[user(ASKED), call("call_1"), result("call_1"), reply("Yes, a little.")],
        user(`<current_datetime>2026-11-17T10:09:00Z</current_datetime>\n\n${NEXT}`),
      ],
    ],
  },
];

it("two runs that begin alike get their own results", async () => {
  let made = 0;
  const home = await clientHome("chat", ({ raw }) => {
    if (raw.includes('"role":"tool"')) return { text: raw.includes("ONE") ? "One failed." : "Two passed." };
    made += 1;
    return { toolCalls: [{ id: `call_${made}`, name: "run", arguments: { command: "warm" } }] };
  });
  const client = home.openai({ mode: "proxy" });
  const ask = (messages: readonly Row[], model = "hermes") =>
    client.chat.completions.create({
      model,
      messages: messages as never,
      tools: [{ type: "function", function: TOOL }],
    });
  await ask([user("Run the tests.")]);
  // Another model: no repetition of the same request.
  await ask([user("Run the tests.")], "hermes-2");
  const told = (id: string, content: string): Row => ({ ...result(id), content });
  await ask([user("Run the tests."), call("call_1"), told("call_1", "ONE failed")]);
  await ask([user("Run the tests."), call("call_2"), told("call_2", "all passed")], "hermes-2");
  const chats = await home.owner.chats();
  const lines = await Promise.all(chats.map(({ chatId }) => home.lines(chatId)));
  expect(lines.map((each) => each.slice(2)).sort()).toEqual([
    ["tool: ONE failed", "assistant: One failed."],
    ["tool: all passed", "assistant: Two passed."],
  ]);
});

describe.each(MODES)("in %s mode", (mode: Mode) => {
  it.each(CLIENTS)("one conversation of $name", async ({ lists }) => {
    const home = await clientHome("chat", [
      { toolCalls: [{ id: "call_1", name: "run", arguments: { command: "warm" } }] },
      { text: "Yes, a little." },
      { text: "No." },
    ]);
    const client = home.openai({ mode });
    for (const list of lists)
      await client.chat.completions.create({
        model: "hermes",
        messages: [{ role: "system", content: "You help." }, ...list] as never,
        tools: [{ type: "function", function: TOOL }],
      });
    const chats = await home.owner.chats();
    expect(chats).toHaveLength(1);
    expect(await home.lines(chats[0]?.chatId ?? "")).toEqual([
      `user: ${ASKED}`,
      "assistant:  +run",
      "tool: 42 degrees",
      "assistant: Yes, a little.",
      `user: ${NEXT}`,
      "assistant: No.",
    ]);
  });
});

describe("a client that names no session and compacts its list", () => {
  const SAID = "Scripted: <analysis>long</analysis>\n<summary>The kiln of Berta is warm.</summary>";
  const START: readonly Row[] = [user(ASKED), reply("Yes, a little."), user(NEXT), reply("No.")];
  const summarise =
    "Please create a detailed summary of the conversation so far. The history is being compacted so ...";
  const qwen =
    "You are the component that summarizes a conversation when its context window is about to overflow. ...";
  const compacted =
    "The conversation history before this point was compacted into the following summary:\n\n";
  const LATER = "Then fire it.";

  it.each([
    {
      name: "Copilot CLI",
      ask: [...START, user(summarise)],
      list: [
        user(
          `Some of the conversation history has been summarized to free up context.\n\n<summary>\nThe kiln of Berta is warm.\n</summary>\n`,
        ),
        user(LATER),
      ],
    },
    {
      name: "Qwen Code",
      ask: [...START, user(qwen)],
      list: [
        user([
          reminder("a file"),
          words(`${SAID}\n\nResume the prior task using the summary above. Continue from the last step.`),
        ]),
        ...[reply("Got it. Thanks for the additional context!"), user(LATER)],
      ],
    },
    {
      name: "pi, which asks with the conversation as a text and keeps its newest turns",
      ask: [user("<conversation>\n[User]: Is the kiln of Berta still warm?\n</conversation>\n\nSummarise.")],
      system: "You are a context summarization assistant. ...",
      list: [
        user(`${compacted}<summary>\nThe kiln of Berta is warm.\n</summary>`),
        ...START.slice(2),
        user(LATER),
      ],
    },
  ])("goes on in its chat: $name", async ({ ask, list, system = "You help." }) => {
    const home = await clientHome("chat", [
      ...[{ text: "Yes, a little." }, { text: "No." }, { text: SAID }],
      ...[{ text: "It burns." }, { text: "It still does." }],
    ]);
    const client = home.openai({ mode: "proxy" });
    const send = (messages: readonly Row[], instructions = "You help.") =>
      client.chat.completions.create({
        model: "hermes",
        messages: [{ role: "system", content: instructions }, ...messages] as never,
      });
    await send(START.slice(0, 1));
    await send(START.slice(0, 3));
    await send(ask, system);
    await send(list);
    await send([...list, reply("It burns."), user("And now?")]);
    const chats = await home.owner.chats();
    expect(chats).toHaveLength(1);
    expect(await home.lines(chats[0]?.chatId ?? "")).toEqual([
      ...[`user: ${ASKED}`, "assistant: Yes, a little.", `user: ${NEXT}`, "assistant: No."],
      ...[`user: ${LATER}`, "assistant: It burns.", "user: And now?", "assistant: It still does."],
    ]);
  });
});
