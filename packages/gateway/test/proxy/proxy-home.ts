// Proxy mode over a real home and a fake model server: makes the turns that answer.ts would make, and a client that keeps its own list.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { sha256, systemClock } from "@hermes-memory/core/internal/lib";
import type { LogFields, Logger } from "@hermes-memory/core/internal/logger";
import { type Memory, openMemory, type UserMemory, usable } from "@hermes-memory/core/internal/memory";
import { onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createProxyMode, type ProxyMode } from "../../src/proxy/answer-as-proxy.ts";
import type {
  ClientName,
  Gateway,
  GatewayEvent,
  JsonObject,
  ModelTurn,
  SessionRef,
} from "../../src/types.ts";
import { chatWire } from "../../src/wires/chat.ts";
import { messagesWire } from "../../src/wires/messages.ts";
import { responsesWire } from "../../src/wires/responses.ts";
import type { WireName } from "../../src/wires/wire.ts";

const WIRES = { chat: chatWire, messages: messagesWire, responses: responsesWire };
const API_MODES = {
  chat: "chat_completions",
  messages: "anthropic_messages",
  responses: "responses",
} as const;
export const FAKES = { chat: "chat", messages: "anthropic", responses: "responses" } as const;

export type ProxyHomeOptions = {
  readonly wire: WireName;
  readonly url: string;
  /** Of config.yaml, below `gateway:`. */
  readonly gateway?: Readonly<Record<string, unknown>>;
  /** Instead of `model:` with the address above. */
  readonly model?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Changes the door. */
  readonly door?: (memory: UserMemory) => UserMemory;
};

export type Sent = {
  readonly wire?: WireName;
  readonly chatId?: string;
  readonly client?: ClientName;
  readonly headers?: Readonly<Record<string, string>>;
  readonly session?: Partial<SessionRef>;
  readonly signal?: AbortSignal;
  readonly clientCredential?: ModelTurn["clientCredential"];
  readonly raw?: string;
  readonly retryKey?: string;
};

export class ProxyHome {
  readonly home: string;
  readonly memory: UserMemory;
  readonly mode: ProxyMode;
  readonly gateway: Gateway;
  readonly lines: string[];
  readonly events: GatewayEvent[] = [];
  readonly #wire: WireName;

  static async open(options: ProxyHomeOptions): Promise<ProxyHome> {
    const { wire, url, gateway = {}, model } = options;
    const home = tempDirectory();
    const usual = { default: "fake-model", base_url: url, api_mode: API_MODES[wire], api_key: "sk-ours" };
    writeFileSync(join(home, "config.yaml"), JSON.stringify({ model: model ?? usual, gateway })); // JSON is YAML
    const lines: string[] = [];
    const log = (message: string, fields?: LogFields) =>
      void lines.push(fields === undefined ? message : `${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { debug: log, info: log, warn: log, error: log, dropped: 0 };
    const opened = await openMemory({ home, log: logger });
    const proxyHome = new ProxyHome(options, opened, { home, logger, lines });
    onTestFinished(async () => {
      proxyHome.mode.close();
      await opened.close();
    });
    return proxyHome;
  }

  private constructor(
    { wire, env = {}, door = (memory) => memory }: ProxyHomeOptions,
    opened: Memory,
    { home, logger, lines }: { readonly home: string; readonly logger: Logger; readonly lines: string[] },
  ) {
    this.home = home;
    this.lines = lines;
    this.#wire = wire;
    this.memory = door(opened.owner);
    this.gateway = {
      home: this.home,
      clock: systemClock,
      log: logger,
      env,
      config: async () => usable(await loadConfig(this.home)),
      memory: () => opened,
      metrics: { count() {}, observe() {}, gauge() {} },
      events: { emit: (event) => void this.events.push({ ...event, at: "" }), listen: () => () => {} },
      isStopping: false,
    };
    this.mode = createProxyMode(this.gateway);
  }

  turn(body: JsonObject, sent: Sent = {}): ModelTurn {
    const wire = WIRES[sent.wire ?? this.#wire];
    const raw = sent.raw ?? JSON.stringify(body);
    const { chatId = "chat-1", client = "unknown", headers = {}, session = {} } = sent;
    return {
      wire,
      request: wire.parse(JSON.parse(raw) as JsonObject),
      rawBody: new TextEncoder().encode(raw),
      bodyHash: sha256(raw),
      body: JSON.parse(raw) as JsonObject,
      headers: new Headers(headers),
      identity: {
        user: undefined,
        profile: undefined,
        client,
        session: { kind: "hermes-session-id", chatId, history: "client", ...session },
      },
      chatId,
      memory: this.memory,
      clientCredential: sent.clientCredential,
      retryKey: sent.retryKey,
      signal: sent.signal ?? new AbortController().signal,
      gateway: this.gateway,
    };
  }

  send(body: JsonObject, sent: Sent = {}): Promise<Response> {
    return this.mode.answer(this.turn(body, sent));
  }

  /** Roles and texts of the stored chat, the hidden rounds included. */
  async stored(chatId = "chat-1"): Promise<readonly string[]> {
    const found = await this.memory.transcript(chatId, { format: "openai" });
    return (found?.messages ?? []).map(({ role, content, tool_calls: calls }) => {
      const names = Array.isArray(calls)
        ? calls.map((call) => ` +${String((call as { function: { name: string } }).function.name)}`)
        : [];
      return `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}${names.join("")}`;
    });
  }
}

/** With a known block and numbered recall, so that asking twice would show. */
export function withDoor(memory: UserMemory): UserMemory {
  let asked = 0;
  return Object.assign(Object.create(memory) as UserMemory, {
    block: async () => "<memory>\nThe kiln is in room 4.\n</memory>",
    recall: async () => {
      asked += 1;
      return { text: `<memory-context>\nrecall ${asked}\n</memory-context>`, found: [], durationMs: 1 };
    },
  });
}

// ---- A client ----

/** The data of all events of a stream. */
export function eventsIn(text: string): readonly JsonObject[] {
  return text
    .split("\n\n")
    .flatMap((block) => block.split("\n").filter((line) => line.startsWith("data: ")))
    .map((line) => line.slice("data: ".length))
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data) as JsonObject);
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of vendors, read as a client reads them
type Any = any;

/** What a client adds to its list after a reply, as the vendors' own SDKs do it. */
export function replyItems(wire: WireName, text: string, isStream: boolean): readonly Any[] {
  const list = isStream ? eventsIn(text) : [JSON.parse(text) as JsonObject];
  switch (wire) {
    case "chat": {
      if (!isStream) return [(list[0] as Any).choices[0].message];
      let content = "";
      const calls: Any[] = [];
      for (const { choices } of list as Any[]) {
        const delta = choices[0]?.delta ?? {};
        content += delta.content ?? "";
        for (const { index, id, function: about } of delta.tool_calls ?? []) {
          calls[index] ??= { id, type: "function", function: { name: about.name, arguments: "" } };
          calls[index].function.arguments += about.arguments ?? "";
        }
      }
      return [{ role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
    }
    case "messages": {
      if (!isStream) return [{ role: "assistant", content: (list[0] as Any).content }];
      const blocks: Any[] = [];
      for (const event of list as Any[]) {
        if (event.type === "content_block_start") {
          if (event.index !== blocks.length) throw new Error(`block ${event.index} after ${blocks.length}`);
          blocks[event.index] = {
            ...event.content_block,
            ...(event.content_block.type === "tool_use" ? { input: "" } : {}),
          };
        }
        const { delta } = event;
        const block = blocks[event.index];
        if (delta?.type === "text_delta") block.text += delta.text;
        if (delta?.type === "thinking_delta") block.thinking += delta.thinking;
        if (delta?.type === "signature_delta") block.signature += delta.signature;
        if (delta?.type === "input_json_delta") block.input += delta.partial_json;
      }
      for (const block of blocks)
        if (typeof block.input === "string") block.input = JSON.parse(block.input || "{}");
      return [{ role: "assistant", content: blocks }];
    }
    case "responses": {
      if (!isStream) return (list[0] as Any).output;
      list.forEach((event, index) => {
        if (event.sequence_number !== index)
          throw new Error(`event ${String(event.sequence_number)} at ${index}`);
      });
      return (list.at(-1) as Any).response.output;
    }
    default:
      return wire satisfies never;
  }
}

export function bodyOf(wire: WireName, list: readonly unknown[], more: JsonObject = {}): JsonObject {
  const top = { model: "fake-model", ...more };
  if (wire === "responses")
    return {
      ...top,
      instructions: "Be short.",
      store: false,
      include: ["reasoning.encrypted_content"],
      input: list,
    };
  if (wire === "messages")
    return {
      ...top,
      max_tokens: 1000,
      system: [{ type: "text", text: "Be short.", cache_control: { type: "ephemeral" } }],
      messages: list,
    };
  return { ...top, messages: [{ role: "system", content: "Be short." }, ...list] };
}
