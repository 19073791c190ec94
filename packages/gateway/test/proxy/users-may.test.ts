// What users may send with the server's key: every disguise of state that belongs to its account, and the ordinary bodies of clients.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { headerForUsers, isReference, refuseForUsers, withoutErrorText } from "../../src/proxy/users-may.ts";
import { type JsonObject, ProblemError } from "../../src/types.ts";
import type { WireName } from "../../src/wires/wire.ts";

/** The field that is refused. */
function refused(wire: WireName, body: JsonObject, more: readonly string[] = [], isForwarded = true) {
  try {
    refuseForUsers(wire, body, { isForwarded, more });
    return undefined;
  } catch (cause) {
    if (cause instanceof ProblemError && cause.problem.status === 403) return cause.problem.param;
    throw cause;
  }
}

const message = (...content: readonly unknown[]) => ({ role: "user", content });
const input = (...items: readonly unknown[]) => ({ model: "m", input: items });
const HI = { model: "m", input: "Hi" };
const messages = (...items: readonly unknown[]) => ({ model: "m", messages: items });

describe("a user with the server's key", () => {
  it.each<[WireName, JsonObject, string]>([
    ["responses", { ...HI, prompt: { id: "pmpt_1" } }, "prompt"],
    ["responses", { ...HI, background: true }, "background"],
    ["responses", { ...HI, service_tier: "priority" }, "service_tier"],
    ["responses", { ...HI, some_future_field: 1 }, "some_future_field"],
    ["responses", { ...HI, tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] }, "tools[0].type"],
    ["responses", { ...HI, tools: [{ type: "code_interpreter", container: "c" }] }, "tools[0].type"],
    ["responses", { ...HI, tools: [{ type: "mcp", connector_id: "connector_gmail" }] }, "tools[0].type"],
    ["responses", { ...HI, tools: [{ type: "image_generation" }] }, "tools[0].type"],
    ["responses", { ...HI, tools: [{ type: "namespace", tools: [{ type: "mcp" }] }] }, "tools[0].type"],
    [
      "responses",
      { ...HI, tools: [{ type: "shell", environment: { type: "container_auto" } }] },
      "tools[0].type",
    ],
    ["responses", { ...HI, tools: [{ type: null, name: "x" }] }, "tools[0].type"],
    ["responses", input(message({ type: "input_file", file_id: "file-1" })), "input[0].content[0].file_id"],
    ["responses", input(message({ type: "input_image", file_id: "file-1" })), "input[0].content[0].file_id"],
    ["responses", input(message({ type: "some_future_part" })), "input[0].content"],
    [
      "responses",
      input(message({ type: "input_image", image_url: "data:image/png;base64,file-1" })),
      "input[0].content[0].image_url",
    ],
    ["responses", { ...HI, ...JSON.parse('{"__proto__": 1}') }, "__proto__"],
    [
      "responses",
      input({ type: "function_call_output", call_id: "c", output: [{ type: "input_file", file_id: "f" }] }),
      "input[0].output[0].file_id",
    ],
    [
      "responses",
      input({ type: "shell_call", call_id: "c", action: {}, environment: { container_id: "c" } }),
      "input[0].environment.container_id",
    ],
    ["responses", input({ type: "additional_tools", tools: [{ type: "mcp" }] }), "input[0]"],
    ["responses", input({ type: "tool_search_output", tools: [{ type: "mcp" }] }), "input[0]"],
    ["responses", input({ type: "item_reference", id: 5 }), "input[0]"],
    [
      "chat",
      messages(message({ type: "file", file: { file_id: "file-1" } })),
      "messages[0].content[0].file.file_id",
    ],
    ["chat", messages({ role: "assistant", audio: { id: "audio_1" } }), "messages[0]"],
    ["chat", { ...messages(message()), audio: { voice: { id: "voice_1" }, format: "wav" } }, "audio"],
    ["chat", { ...messages(message()), tools: [{ type: "mcp" }] }, "tools[0].type"],
    ["chat", { ...messages(message()), models: ["gpt-5-pro"] }, "models"],
    ["messages", { ...messages(message()), container: "c" }, "container"],
    ["messages", { ...messages(message()), mcp_servers: [{ url: "https://x" }] }, "mcp_servers"],
    ["messages", { ...messages(message()), speed: "fast" }, "speed"],
    [
      "messages",
      { ...messages(message()), tools: [{ type: "code_execution_20250825", name: "x" }] },
      "tools[0].type",
    ],
    ["messages", { ...messages(message()), tools: [{ type: "mcp_toolset" }] }, "tools[0].type"],
    [
      "messages",
      messages(message({ type: "document", source: { type: "file", file_id: "f" } })),
      "messages[0].content[0].source.file_id",
    ],
    [
      "messages",
      messages(
        message({
          type: "tool_result",
          tool_use_id: "t",
          content: [{ type: "image", source: { file_id: "f" } }],
        }),
      ),
      "messages[0].content[0].content[0].source.file_id",
    ],
    ["messages", messages(message({ type: "container_upload", file_id: "f" })), "messages[0].content"],
  ])("may not send on %s: %j", (wire, body, param) => {
    expect(refused(wire, body)).toBe(param);
  });

  it("may send what config adds, and names of the account where they are a tool's own words", () => {
    const body = { ...HI, new_field: 1, tools: [{ type: "image_generation" }] };
    expect(refused("responses", body, ["new_field", "image_generation"])).toBeUndefined();
    const call = { type: "tool_use", id: "t", name: "open", input: { file_id: "f", container: "c" } };
    const tool = { name: "open", input_schema: { properties: { file_id: {}, container: {} } } };
    expect(refused("messages", { ...messages(message(call)), tools: [tool] })).toBeUndefined();
  });

  it("is asked nothing about fields that do not reach the vendor, and about parts always", () => {
    expect(
      refused("chat", { ...messages(message()), anything: 1, tools: [{ type: "x" }] }, [], false),
    ).toBeUndefined();
    expect(
      refused("chat", messages(message({ type: "file", file: { file_id: "f" } })), [], false),
    ).toBeDefined();
  });

  it("may send the bodies of real clients", () => {
    const samples = join(import.meta.dirname, "../samples");
    const names = readdirSync(samples);
    expect(names.length).toBeGreaterThan(30);
    for (const name of names) {
      const { wire, body } = JSON.parse(readFileSync(join(samples, name), "utf8")) as {
        wire: WireName;
        body: JsonObject;
      };
      expect(refused(wire, body), name).toBeUndefined();
    }
    for (const [wire, body] of ORDINARY) expect(refused(wire, body), JSON.stringify(body)).toBeUndefined();
  });
});

/** Written by hand after Codex, Claude Code, the AI SDK, OpenAI's agents and Open WebUI; whole requests are among the samples. */
const PNG = "data:image/png;base64,AA==";
const ORDINARY: readonly (readonly [WireName, JsonObject])[] = [
  ...[
    { role: "user", content: [{ type: "input_image", image_url: PNG, file_id: null }] },
    { type: "reasoning", id: "rs_1", summary: [], content: null, encrypted_content: "gAAA" },
    { type: "web_search_call", status: "completed", action: { type: "search", query: "kiln" } },
    { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: "*** Begin" },
    { type: "custom_tool_call_output", call_id: "c", output: "Done" },
    { type: "local_shell_call", call_id: "d", action: { type: "exec", command: ["ls"] } },
    { type: "function_call_output", call_id: "d", output: '{"output":"a"}' },
    { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Yes" }] },
  ].map((item) => ["responses", input(item)] as const),
  ...[
    { type: "custom", name: "apply_patch", format: { type: "grammar" } },
    { type: "local_shell" },
    { type: "web_search", external_web_access: false },
  ].map((tool) => ["responses", { ...HI, tools: [tool], service_tier: null, text: {} }] as const),
  ...[
    { type: "text", text: "Hi", cache_control: { type: "ephemeral" } },
    { type: "thinking", thinking: "", signature: "s" },
    { type: "tool_use", id: "t", name: "Read", input: {} },
    { type: "tool_result", tool_use_id: "t", content: [{ type: "image", source: { data: "AA==" } }] },
  ].map((part) => ["messages", messages(message(part))] as const),
  ["messages", { ...messages(), tools: [{ type: "web_search_20250305", name: "web_search" }] }],
  ["messages", { ...messages(), thinking: { type: "adaptive" }, context_management: { edits: [] } }],
  ...[
    { type: "image_url", image_url: { url: PNG } },
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" } },
  ].map((part) => ["chat", messages(message(part))] as const),
  ["chat", { ...messages(), metadata: { task: "x" }, response_format: {}, service_tier: "auto", seed: 3 }],
];

describe("an item of the Responses API", () => {
  it.each([
    { type: "item_reference", id: "msg_1" },
    { type: null, id: "msg_1" },
    { id: "msg_1" },
    { id: "msg_1", role: "user" },
    { id: "msg_1", role: null, content: "x" },
    { type: "message", id: "msg_1", role: "assistant" },
    { type: "ITEM_REFERENCE", id: "msg_1" },
    { type: ["item_reference"], id: "msg_1" },
    { type: "reasoning", id: "rs_1", summary: [] },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: null },
    { type: "web_search_call", id: "ws_1" },
    { type: "image_generation_call", id: "ig_1" },
    { type: "mcp_approval_response", approval_request_id: "mcpr_1" },
    { type: "function_call_output", id: "fco_1" },
    { type: "function_call", id: "fc_1", call_id: "c", name: "f" },
    { type: "message", id: "msg_1", role: "user", content: [] },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: " " },
  ])("is a reference, though it may not look like one: %j", (item) => {
    expect(isReference(item)).toBe(true);
  });

  it.each([
    { type: "additional_tools", id: "at_1", role: "developer", tools: [] }, // Codex
    { type: "function_call_output", id: "fco_1", call_id: "c", output: "" },
  ])("says all it means, whatever its id: %j", (item) => {
    expect(isReference(item)).toBe(false);
  });
});

describe("headers and errors", () => {
  it("pass as far as they name nothing of the account", () => {
    for (const name of [
      "openai-organization",
      "openai-project",
      "openai-beta",
      "idempotency-key",
      "x-codex-turn-metadata",
      "cookie",
    ])
      expect(headerForUsers(name, "x"), name).toBeUndefined();
    expect(headerForUsers("user-agent", "claude-cli/2")).toBe("claude-cli/2");
    const betas =
      "claude-code-20250219, files-api-2025-04-14,interleaved-thinking-2025-05-14,mcp-client-2025-11-20";
    expect(headerForUsers("anthropic-beta", betas)).toBe(
      "claude-code-20250219,interleaved-thinking-2025-05-14",
    );
    expect(headerForUsers("anthropic-beta", "fast-mode-2026-02-01")).toBeUndefined();
  });

  it.each([
    { error: { message: "key sk-1", type: "server_error", code: 500 } },
    { type: "error", error: { type: "overloaded_error", message: "key sk-1" } },
    { type: "error", code: "server_error", message: "key sk-1", sequence_number: 3 },
    { type: "response.failed", response: { id: "resp_1", error: { code: "x", message: "key sk-1" } } },
  ])("say nothing of the vendor: %j", (data) => {
    const clean = JSON.stringify(withoutErrorText(data));
    expect(clean).not.toContain("sk-1");
    expect(clean).toContain("The model could not answer this request.");
  });

  it("are only changed in errors", () => {
    expect(withoutErrorText({ type: "response.created", response: { error: null } })).toBeUndefined();
    expect(withoutErrorText({ choices: [{ delta: { content: "error" } }] })).toBeUndefined();
  });
});
