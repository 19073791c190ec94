// Requests as Claude Code and Codex send them (hand-written after 2.1.80 and 0.60): always proxied, forwarded as they are, one session with
// the transcript that the program keeps itself.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { RecordedRequest } from "../../../../agent/test/fakes/wires/script.ts";
import { type ClientHome, clientHome, turns } from "../../../../gateway/test/clients/client-home.ts";
import { line, writeClaude } from "../../../../import/test/transcripts/claude-lines.ts";
import { runHere } from "../../cli/run.ts";

type Json = Record<string, unknown>;

function claudeHeaders(session: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    "content-type": "application/json",
    "user-agent": "claude-cli/2.1.80 (external, cli)",
    "x-app": "cli",
    "x-claude-code-session-id": session,
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27",
    "anthropic-dangerous-direct-browser-access": "true",
    "x-api-key": "sk-ant-client",
    ...more,
  };
}

const SYSTEM = [
  { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.80; cch=abc;" },
  {
    type: "text",
    text: "You are Claude Code, Anthropic's official CLI for Claude.",
    cache_control: { type: "ephemeral" },
  },
  { type: "text", text: "# Environment\nWorking directory: /tmp", cache_control: { type: "ephemeral" } },
];
const TOOLS = [{ name: "Bash", description: "Runs a command", input_schema: { type: "object" } }];

/** With spaces and an odd number, as no serialiser of ours would write it. */
function claudeBody(messages: readonly Json[], more = ""): string {
  return `{ "model": "claude-sonnet-4-5", "max_tokens": 3.2e4, "messages":${JSON.stringify(messages)}, "system": ${JSON.stringify(SYSTEM)}, "tools": ${JSON.stringify(TOOLS)}, "metadata": {"user_id": "user_1"}, "thinking": {"type": "enabled", "budget_tokens": 31999}, "context_management": {"edits": []}, "future_field": {"a": [1.0, null]}, "stream": true${more} }`;
}

async function post(home: ClientHome, path: string, headers: Record<string, string>, body: string) {
  const response = await home.gateway.call(path, { method: "POST", headers, body });
  return { response, text: await response.text() };
}

/** What stands in `sent` and not in `given`, if everything else is the same: insertions, in order. */
function insertions(given: string, sent: string): readonly string[] {
  const found: string[] = [];
  let at = 0;
  let rest = sent;
  while (at < given.length || rest !== "") {
    let same = 0;
    while (at + same < given.length && given[at + same] === rest[same]) same += 1;
    at += same;
    rest = rest.slice(same);
    if (at === given.length && rest === "") break;
    // The next 40 characters of what was given mark the end of the insertion.
    const next = at === given.length ? rest.length : rest.indexOf(given.slice(at, at + 40));
    if (next <= 0) throw new Error(`something was changed at ${at}: ${given.slice(at, at + 60)}`);
    found.push(rest.slice(0, next));
    rest = rest.slice(next);
  }
  return found;
}

const cached = (text: string): Json => ({ type: "text", text, cache_control: { type: "ephemeral" } });

/** The transcript that Claude Code keeps of the session, imported by the command line. */
async function importClaude(home: ClientHome, session: string, texts: readonly string[]): Promise<void> {
  const folder = home.gateway.home;
  await writeClaude(
    folder,
    session,
    texts.map((text, at) => line(session, at, text)),
  );
  const args = ["sessions", "import", "--from", "claude-code", "--yes"];
  const { code, stderr } = await runHere(args, { home: folder, env: { HOME: folder } });
  expect(code, stderr).toBe(0);
}

describe("Claude Code", () => {
  it("is forwarded byte for byte, whatever mode the server has, and the answer's bytes come back", async () => {
    const home = await clientHome("anthropic", () => ({
      reasoning: "Hm.",
      signature: "c2lnbmVk",
      text: "Done.",
      toolCalls: [{ id: "toolu_1", name: "Bash", arguments: { command: "ls" } }],
    }));
    const session = randomUUID();
    const body = claudeBody([{ role: "user", content: [cached("List the files.")] }]);
    const { response, text } = await post(home, "/v1/messages?beta=true", claudeHeaders(session), body);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-hermes-session-id")).toBe(`claude-code-${session}`);
    const [asked] = home.asked;
    expect(asked?.raw).toBe(body);
    expect(asked?.path).toBe("/v1/messages?beta=true");
    expect(asked?.headers).toMatchObject({
      "anthropic-beta": claudeHeaders("")["anthropic-beta"],
      "anthropic-version": "2023-06-01",
      "user-agent": "claude-cli/2.1.80 (external, cli)",
      "x-app": "cli",
      "x-api-key": "test-key",
    });
    for (const [name, value] of Object.entries(asked?.headers ?? {})) {
      expect(name).not.toMatch(/hermes|x-claude-code/);
      expect(String(value)).not.toContain("sk-ant-client");
    }
    expect(text).toContain('"signature":"c2lnbmVk"');
    // The next request brings back what the model said, with its signature.
    const next = claudeBody([
      { role: "user", content: [{ type: "text", text: "List the files." }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" },
          { type: "text", text: "Done." },
          { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: "a.txt",
            cache_control: { type: "ephemeral" },
          },
        ],
      },
    ]);
    await post(home, "/v1/messages?beta=true", claudeHeaders(session), next);
    expect(home.asked[1]?.raw).toBe(next);
    expect(await home.lines(`claude-code-${session}`)).toEqual([
      "user: List the files.",
      "assistant: Done. +Bash",
      "tool: a.txt",
      "assistant: Done. +Bash",
    ]);
  });

  it("gets memory and recall as insertions, at most four cache markers, and no tools of ours", async () => {
    const home = await clientHome("anthropic", () => ({ text: "Fine." }));
    await home.owner.add("The studio is in Delft.");
    await post(
      home,
      "/v1/messages",
      claudeHeaders(randomUUID()),
      claudeBody([{ role: "user", content: [cached("The tenmoku jar cracked at 1280 degrees.")] }]),
    );
    const session = randomUUID();
    const list: Json[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "<system-reminder>\nToday is Tuesday.\n</system-reminder>" },
          cached("What happened to the tenmoku jar?"),
        ],
      },
    ];
    const sent: RecordedRequest[] = [];
    for (const say of ["Why is that so?", "And then, in the kiln?", undefined]) {
      const body = claudeBody(list);
      const { response } = await post(home, "/v1/messages", claudeHeaders(session), body);
      expect(response.status).toBe(200);
      const asked = home.asked.at(-1) as RecordedRequest;
      sent.push(asked);
      const added = insertions(body, asked.raw);
      expect(added.filter((text) => text.includes("The studio is in Delft."))).toHaveLength(1);
      expect(added.filter((text) => text.includes("<memory-context>")).join()).toContain("1280 degrees");
      expect(asked.raw.split('"cache_control"').length - 1).toBeLessThanOrEqual(4);
      expect(asked.tools).toEqual(["Bash"]);
      // Claude Code moves its marker to the newest message.
      const last = list.at(-1)?.content as Json[];
      delete last.at(-1)?.cache_control;
      list.push({ role: "assistant", content: [{ type: "text", text: "Fine." }] });
      if (say !== undefined) list.push({ role: "user", content: [cached(say)] });
    }
    const bare = sent.map(({ raw }) => raw.replaceAll(/,?"cache_control":\{"type":"ephemeral"\}/g, ""));
    for (const [at, raw] of bare.entries()) {
      const before = bare[at - 1];
      if (before === undefined) continue;
      const end = before.indexOf('}], "system"');
      expect(raw.slice(0, end - 2)).toBe(before.slice(0, end - 2));
    }
    expect(await home.lines(`claude-code-${session}`)).toEqual(
      turns(
        "What happened to the tenmoku jar?",
        "Fine.",
        "Why is that so?",
        "Fine.",
        "And then, in the kiln?",
        "Fine.",
      ),
    );
  });

  it("that forks a session gets what the session had, and the fork is a branch of it", async () => {
    const home = await clientHome("anthropic", () => ({ text: "Fine, because of the glaze." }));
    const say = (session: string, list: readonly Json[]) =>
      post(home, "/v1/messages", claudeHeaders(session), claudeBody(list));
    await say(randomUUID(), [
      { role: "user", content: [cached("The tenmoku jar cracked at 1280 degrees.")] },
    ]);
    const [session, fork, again] = [randomUUID(), randomUUID(), randomUUID()] as const;
    const list: Json[] = [];
    const ask = async (id: string, text: string) => {
      list.push({ role: "user", content: [{ type: "text", text }] });
      await say(id, list);
      list.push({ role: "assistant", content: [{ type: "text", text: "Fine, because of the glaze." }] });
    };
    await ask(session, "What happened to the tenmoku jar?");
    await ask(session, "And in the kiln?");
    await ask(fork, "What else of the jar?");
    list.splice(2); // a fork of a fork, at an earlier message
    await ask(again, "Which glaze was on the jar?");
    const [, , whole = "", forked = "", forkedAgain = ""] = home.asked.map(({ raw }) => raw);
    expect(whole).toContain("<memory-context>");
    expect(forked.split("And in the kiln?")[0]).toBe(whole.split("And in the kiln?")[0]);
    const first = (raw: string) => raw.split("Fine, because")[0];
    expect(first(forkedAgain)).toBe(first(whole));
    const own = ["user: What happened to the tenmoku jar?", "assistant: Fine, because of the glaze."];
    const more = ["user: And in the kiln?", "assistant: Fine, because of the glaze."];
    expect(await home.lines(`claude-code-${session}`)).toEqual([...own, ...more]);
    expect(await home.lines(`claude-code-${fork}`)).toEqual([
      ...[...own, ...more, "user: What else of the jar?"],
      "assistant: Fine, because of the glaze.",
    ]);
    expect(await home.lines(`claude-code-${again}`)).toEqual([
      ...[...own, "user: Which glaze was on the jar?"],
      "assistant: Fine, because of the glaze.",
    ]);
    const store = await home.owner.layers.sessions({ mode: "read" });
    const keys = await store?.listMessageKeys([`claude-code-${fork}`]);
    const originals = await store?.listMessageKeys([`claude-code-${session}`]);
    expect(keys?.slice(0, 4).map((key) => key.origin_id)).toEqual(originals?.map(({ id }) => id));
    expect(await store?.getSession(`claude-code-${fork}`)).toMatchObject({
      source: "claude-code",
      parent_session_id: `claude-code-${session}`,
    });
    await importClaude(home, fork, ["What else of the jar?", "Fine, because of the glaze."]);
    expect(await home.lines(`claude-code-${fork}`)).toHaveLength(6);
    expect((await store?.getSession(`claude-code-${fork}`))?.title).toBe("What else of the jar?");
    // Without an id the same list is another conversation.
    const { "x-claude-code-session-id": _, "user-agent": __, ...unnamed } = claudeHeaders("");
    await post(
      home,
      "/proxy/v1/messages",
      unnamed,
      claudeBody([...list, { role: "user", content: "Go on." }]),
    );
    expect(await home.lines(`claude-code-${again}`)).toHaveLength(4);
  });

  it("that is proxied and then imported is one session, also its subagents", async () => {
    const home = await clientHome("anthropic", ({ raw }) => ({
      text: raw.includes("Explore") ? "Explored." : "Reply",
    }));
    const session = randomUUID();
    const headers = claudeHeaders(session);
    const say = (list: readonly Json[], more: Record<string, string> = {}) =>
      post(home, "/v1/messages", { ...headers, ...more }, claudeBody(list));
    await say([{ role: "user", content: [cached("First question")] }]);
    await say([
      { role: "user", content: "First question" },
      { role: "assistant", content: [{ type: "text", text: "Reply" }] },
      { role: "user", content: [cached("Second question")] },
    ]);
    await say([{ role: "user", content: "Explore the code." }], { "x-claude-code-agent-id": "a1" });
    expect((await home.sessions()).toSorted()).toEqual([
      `claude-code-${session}`,
      `claude-code-${session}-agent-a1`,
    ]);
    const texts = ["First question", "Reply", "Second question", "Reply"];
    const told = turns(...texts);
    await importClaude(home, session, texts);
    expect((await home.sessions()).filter((id) => id.includes(session))).toHaveLength(2);
    expect(await home.lines(`claude-code-${session}`)).toEqual(told);
    await say([
      ...texts.map((text, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content: text })),
      { role: "user", content: [cached("Third question")] },
    ]);
    const later = [...told, "user: Third question", "assistant: Reply"];
    expect(await home.lines(`claude-code-${session}`)).toEqual(later);
  });

  it("that was imported before goes on in its session", async () => {
    const home = await clientHome("anthropic", () => ({ text: "Reply" }));
    const session = randomUUID();
    const texts = ["First question", "First reply"];
    await importClaude(home, session, texts);
    const { response } = await post(
      home,
      "/v1/messages",
      claudeHeaders(session),
      claudeBody([
        { role: "user", content: [{ type: "text", text: texts[0] }] },
        { role: "assistant", content: [{ type: "text", text: texts[1] }] },
        { role: "user", content: [cached("Second question")] },
      ]),
    );
    expect(response.headers.get("x-hermes-session-id")).toBe(`claude-code-${session}`);
    expect(await home.sessions()).toEqual([`claude-code-${session}`]);
    expect(await home.lines(`claude-code-${session}`)).toEqual(
      turns("First question", "First reply", "Second question", "Reply"),
    );
  });

  it("probes and titles leave nothing behind", async () => {
    const home = await clientHome("anthropic", () => ({ text: "{}" }));
    const probe = `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","content":"quota"}],"metadata":{"user_id":"u"}}`;
    const { response } = await post(home, "/v1/messages?beta=true", claudeHeaders(randomUUID()), probe);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-hermes-session-id")).toBeNull();
    expect(await home.sessions()).toEqual([]);
  });
});

describe("Codex", () => {
  const headers = (thread: string, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    "content-type": "application/json",
    "user-agent": "codex_cli_rs/0.60.0 (Linux; x86_64)",
    originator: "codex_cli_rs",
    "session-id": thread,
    "thread-id": thread,
    authorization: "Bearer sk-client",
    ...more,
  });
  const input = (...texts: readonly string[]): readonly Json[] => [
    {
      type: "message",
      role: "developer",
      content: [
        { type: "input_text", text: "<permissions instructions>\nread-only\n</permissions instructions>" },
      ],
    },
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "<environment_context>\n<cwd>/tmp</cwd>\n</environment_context>" },
      ],
    },
    ...texts.map((text, at) =>
      at % 2 === 0
        ? { type: "message", role: "user", content: [{ type: "input_text", text }] }
        : { type: "message", role: "assistant", content: [{ type: "output_text", text }] },
    ),
  ];
  const body = (list: readonly Json[], thread: string): string =>
    `{"model": "gpt-5", "instructions": "You are Codex, based on GPT-5.", "input": ${JSON.stringify(list)}, "tools": [{"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}}, {"type": "local_shell"}], "tool_choice": "auto", "parallel_tool_calls": false, "reasoning": {"effort": "medium", "summary": "auto"}, "store": false, "stream": true, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "${thread}", "text": {"verbosity": "medium"}}`;

  it("is forwarded as it is but for the memory, which is a message, and stored by its thread", async () => {
    const home = await clientHome("responses", () => ({ text: "Patched." }));
    const thread = randomUUID();
    const plain = body(input("Fix the test."), thread);
    const { response } = await post(home, "/v1/responses", headers(thread), plain);
    expect(response.status).toBe(200);
    expect(home.asked[0]?.raw).toBe(plain);
    expect(home.asked[0]?.headers).toMatchObject({
      originator: "codex_cli_rs",
      authorization: "Bearer test-key",
    });
    await home.owner.add("Tests run with npm test.");
    const other = randomUUID();
    const sent = body(input("Fix the other test."), other);
    await post(home, "/v1/responses", headers(other), sent);
    const added = insertions(sent, home.asked[1]?.raw ?? "");
    expect(added.join("\n")).toContain("Tests run with npm test.");
    expect(home.asked[1]?.body.instructions).toBe("You are Codex, based on GPT-5.");
    expect(home.asked[1]?.tools).not.toContain("memory");
    expect(await home.lines(`codex-${thread}`)).toEqual(["user: Fix the test.", "assistant: Patched."]);
    const again = body(input("Fix the test.", "Patched.", "Thanks, and now?"), thread);
    await post(home, "/v1/responses", headers(thread), again);
    expect(await home.lines(`codex-${thread}`)).toEqual(
      turns("Fix the test.", "Patched.", "Thanks, and now?", "Patched."),
    );
    expect(await home.sessions()).toHaveLength(2);
  });
});
