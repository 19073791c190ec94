// A gateway on loopback with a fake model behind it, and the official clients in front of it.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import type { UserMemory } from "@hermes-memory/core/internal/memory";
import OpenAI from "openai";
import { stringify } from "yaml";
import { modelSection } from "../../../agent/test/agent/agent-home.ts";
import type { RecordedRequest, Script, Step, WireKind } from "../../../agent/test/fakes/wires/script.ts";
import { startWire, type Wire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import type { UserRef } from "../../src/types.ts";
import { runningGateway, type TestGateway } from "../running-gateway.ts";

export type Mode = "agent" | "proxy";
export const MODES = ["agent", "proxy"] as const;

export type ClientOptions = {
  readonly mode?: Mode | "";
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxRetries?: number;
  readonly apiKey?: string;
  readonly timeoutMs?: number;
};

export type HomeOptions = {
  /** Of config.yaml. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Of the fake server: by default the model in config is on it. */
  readonly model?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly mayRunOut?: boolean;
};

/** A request that the agent makes for itself: the title of a session. */
function isTitle({ system, raw }: Pick<RecordedRequest, "system" | "raw">): boolean {
  return /\btitle\b/i.test(system) && !raw.includes("session_search");
}

export type ClientHome = {
  readonly server: Wire;
  readonly gateway: TestGateway;
  /** Requests of conversations, without those for titles. */
  readonly asked: readonly RecordedRequest[];
  readonly owner: UserMemory;
  user(user: UserRef): UserMemory;
  /** Roles and texts of a stored conversation as it is now. */
  lines(chatId: string, user?: UserRef): Promise<readonly string[]>;
  /** Rows that were taken back. */
  inactive(sessionId: string): Promise<readonly string[]>;
  sessions(user?: UserRef): Promise<readonly string[]>;
  /** The server stops, and another one starts with the same home. */
  restart(): Promise<void>;
  openai(options?: ClientOptions): OpenAI;
  anthropic(options?: ClientOptions): Anthropic;
  ai(options?: ClientOptions): {
    readonly responses: ReturnType<ReturnType<typeof createOpenAI>["responses"]>;
    readonly chat: ReturnType<ReturnType<typeof createOpenAI>["chat"]>;
    readonly compatible: ReturnType<ReturnType<typeof createOpenAICompatible>>;
    readonly anthropic: ReturnType<ReturnType<typeof createAnthropic>>;
  };
};

/** `hermes` is the model of config; a fake server answers to any name. */
export const MODEL = "hermes";

export async function clientHome(
  kind: WireKind,
  script: Script,
  { config = {}, model, env = {}, mayRunOut }: HomeOptions = {},
): Promise<ClientHome> {
  const asked: RecordedRequest[] = [];
  const server = await startWire(
    kind,
    async (request): Promise<Step> => {
      if (isTitle(request)) return { text: "A title" };
      const counted = { ...request, index: asked.length };
      asked.push(counted);
      if (typeof script === "function") return script(counted);
      const step = script[counted.index];
      if (step === undefined) throw new Error(`no step for request ${counted.index}`);
      return step;
    },
    mayRunOut === undefined ? {} : { mayRunOut },
  );
  let gateway = await runningGateway({
    env,
    config: stringify({
      model: model ?? modelSection(kind, server.url),
      agent: { api_max_retries: 1 },
      ...config,
    }),
  });
  let memory = gateway.gateway.memory(undefined);
  const person = (user?: UserRef): UserMemory => (user === undefined ? memory.owner : memory.user(user));
  /** With the local token in it, unless the client has another one: the key stays free for the model's vendor. */
  const address = ({ mode = "", apiKey = "", headers = {} }: ClientOptions): string => {
    const hasToken = [apiKey, ...Object.values(headers)].some((text) => /\bhm_/.test(text));
    return `${gateway.url}${hasToken ? "" : `/${gateway.localToken}`}${mode === "" ? "" : `/${mode}`}`;
  };
  const headersOf = ({ headers = {} }: ClientOptions) => ({ ...headers });
  return {
    server,
    get gateway() {
      return gateway;
    },
    asked,
    get owner() {
      return memory.owner;
    },
    async restart() {
      await gateway.close();
      gateway = await runningGateway({ env, home: gateway.home });
      memory = gateway.gateway.memory(undefined);
    },
    user: person,
    async lines(chatId, user) {
      const found = await person(user).transcript(chatId, { format: "openai", limit: Infinity });
      return (found?.messages ?? []).map(({ role, content, tool_calls: calls }) => {
        const names = Array.isArray(calls)
          ? calls.map((call) => ` +${String((call as { function: { name: string } }).function.name)}`)
          : [];
        return `${role}: ${typeof content === "string" ? content : JSON.stringify(content ?? "")}${names.join("")}`;
      });
    },
    async inactive(sessionId) {
      const store = await memory.administration.administrator.sessions({ mode: "read" });
      const rows = (await store?.getMessages(sessionId, { includeInactive: true })) ?? [];
      return rows.flatMap((row) => (row.active === 0 ? [`${row.role}: ${String(row.content)}`] : []));
    },
    async sessions(user) {
      const store = await person(user).layers.sessions({ mode: "read" });
      return (await store?.listSessionIds()) ?? [];
    },
    openai: (options = {}) =>
      new OpenAI({
        baseURL: `${address(options)}/v1`,
        apiKey: options.apiKey ?? "none",
        maxRetries: options.maxRetries ?? 0,
        timeout: options.timeoutMs ?? 30_000,
        defaultHeaders: headersOf(options),
      }),
    anthropic: (options = {}) =>
      new Anthropic({
        baseURL: address(options),
        apiKey: options.apiKey ?? "none",
        maxRetries: options.maxRetries ?? 0,
        timeout: options.timeoutMs ?? 30_000,
        defaultHeaders: headersOf(options),
      }),
    ai: (options = {}) => {
      const baseURL = `${address(options)}/v1`;
      const settings = { baseURL, apiKey: options.apiKey ?? "none", headers: headersOf(options) };
      const openai = createOpenAI(settings);
      return {
        responses: openai.responses(MODEL),
        chat: openai.chat(MODEL),
        compatible: createOpenAICompatible({ ...settings, name: "hermes", includeUsage: true })(MODEL),
        anthropic: createAnthropic(settings)(MODEL),
      };
    },
  };
}

/** The stored lines of a conversation in which user and model take turns. */
export function turns(...texts: readonly string[]): readonly string[] {
  return texts.map((text, at) => `${at % 2 === 0 ? "user" : "assistant"}: ${text}`);
}

export const QUESTION = "What is the password of the kiln?";
export const KINDS = ["chat", "responses", "anthropic"] as const;
export type Kind = (typeof KINDS)[number];

/** How the conversation is named: not at all, by us, by the client. */
export const NAMED: readonly Readonly<Record<string, string>>[] = [
  {},
  { "x-hermes-session-id": "mine" },
  { "x-openwebui-chat-id": "mine" },
];

/** Asks it; the text of the reply, streamed or whole. */
export async function ask(
  home: ClientHome,
  kind: Kind,
  options: ClientOptions,
  isStream = false,
): Promise<string> {
  const messages = [{ role: "user" as const, content: QUESTION }];
  switch (kind) {
    case "chat": {
      const { completions } = home.openai(options).chat;
      const body = { model: MODEL, messages };
      const done = isStream
        ? await completions.stream(body).finalChatCompletion()
        : await completions.create(body);
      return done.choices[0]?.message.content ?? "";
    }
    case "responses": {
      const { responses } = home.openai(options);
      const body = { model: MODEL, input: QUESTION };
      return (isStream ? await responses.stream(body).finalResponse() : await responses.create(body))
        .output_text;
    }
    case "anthropic": {
      const api = home.anthropic(options).messages;
      const body = { model: MODEL, max_tokens: 100, messages };
      const done = isStream ? await api.stream(body).finalMessage() : await api.create(body);
      return done.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    }
    default:
      return kind satisfies never;
  }
}
