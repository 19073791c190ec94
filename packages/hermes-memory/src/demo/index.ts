// What `hermes demo` shows, step by step: two sessions of the real agent in a home of its own. Only the model is a script: it looks
// at the newest message, calls the tool that a model would call, and makes its answer of the result.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, type AgentOptions, createAgent } from "@hermes-memory/agent/internal/agent";
import type { ChatModel, ModelRequest } from "@hermes-memory/agent/internal/models";
import { memoriesDirectory } from "@hermes-memory/core/internal/home";
import { groupThousands, isRecord, ok, outsideJsonOr, pyStrip } from "@hermes-memory/core/internal/lib";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { type Message, textOf, toolCallsOf } from "@hermes-memory/core/internal/message";
import { promptHash } from "@hermes-memory/core/internal/prompt";

/** One thing that the demo shows. */
export type DemoStep = {
  readonly id: string;
  readonly layer: string;
  /** What happened, in one sentence. */
  readonly title: string;
  /** Statements, and whether they are true. */
  readonly checks: Readonly<Record<string, boolean>>;
  /** Values, as a person reads them. */
  readonly lines: readonly string[];
};

export type DemoEvent =
  | { readonly kind: "session"; readonly title: string }
  | { readonly kind: "said"; readonly who: "you" | "script"; readonly text: string }
  | { readonly kind: "step"; readonly step: DemoStep };

export const SCRIPTED_MODEL = "scripted-model";
const REVIEW_AFTER_TURNS = 2;

/** `changes`: to the agent, for tests that take a layer away. */
export async function* demoSteps(
  home: string,
  changes: Partial<AgentOptions> = {},
): AsyncGenerator<DemoEvent> {
  const settings = `# Written by 'hermes demo'.\nmemory:\n  nudge_interval: ${REVIEW_AFTER_TURNS}\n`;
  writeFileSync(join(home, "config.yaml"), settings);
  const model = new ScriptedModel();
  await using memory = await openMemory({ home, env: {} });
  const { owner } = memory;
  const openAgent = (): Promise<Agent> =>
    createAgent({ memory: owner, model, contextLength: 128_000, env: {}, review: true, ...changes });
  const fileOf = (name: string): string => join(memoriesDirectory(home), name);
  const textIn = (name: string): string =>
    existsSync(fileOf(name)) ? readFileSync(fileOf(name), "utf8") : "";

  yield { kind: "session", title: "Session 1: something is remembered" };
  let first: string;
  {
    await using agent = await openAgent();
    first = agent.sessionId;
    yield* said(agent, "Remember that the Vesuvius kiln is fired to 1240 degrees, never higher.");
    const { result } = lastToolUse(agent, "memory");
    const [change] = await owner.history();
    yield shown({
      id: "memory-write",
      layer: "curated memory",
      title: "The model called the memory tool; the entry is on disk and in the journal.",
      checks: {
        "the tool reported success": result.success === true,
        "the entry is in memories/MEMORY.md": textIn("MEMORY.md").includes(FACT),
        "the journal names the tool and the session":
          change?.origin === "tool" && change.sessionId === agent.sessionId,
      },
      lines: [
        `memory(action: add, target: memory) -> ${String(result.message ?? result.error)}  ${String(result.usage)}`,
        `memories/MEMORY.md  + ${change?.after.join() ?? "nothing"}`,
        `journal             change ${change?.change}, origin ${change?.origin}, session ${change?.sessionId}`,
      ],
    });
    yield* said(agent, "The celadon of Monday crawled, because the bisque was dusty.");
    const [before = "", after, next] = model.prompts;
    yield shown({
      id: "frozen-prompt",
      layer: "frozen prompt",
      title: "The running session's prompt did not move: the same bytes in every request.",
      checks: {
        "three requests were made": model.prompts.length === 3,
        "the prompt is the same before and after the write": before === after && before !== "",
        "and in the next turn": before === next,
        "it does not hold the new entry": !before.includes(FACT),
      },
      lines: [
        `sha256 ${short(before)}  before the write (${groupThousands(before.length)} characters)`,
        `sha256 ${short(after)}  after the write`,
        `sha256 ${short(next)}  next turn`,
      ],
    });
  }

  yield { kind: "session", title: "Session 2: a new one, with what is known" };
  let second: string;
  {
    await using agent = await openAgent();
    second = agent.sessionId;
    yield* said(agent, "What did we say about the celadon that crawled?");
    const prompt = model.prompts.at(-1) ?? "";
    const line = prompt.split("\n").find((each) => each.includes(FACT));
    yield shown({
      id: "snapshot",
      layer: "memory snapshot",
      title: "The prompt of the new session has the entry in it.",
      checks: { "the entry is in the prompt": line !== undefined },
      lines: [
        `sha256 ${short(prompt)}  (session 1: ${short(model.prompts[0])})`,
        `in the prompt: ${line ?? "nothing of it"}`,
      ],
    });
    const search = lastToolUse(agent, "session_search");
    const hit = hitsIn(search.result)[0] ?? {};
    yield shown({
      id: "search",
      layer: "session search",
      title: "What was said, but never saved, is found in session 1 by its words.",
      checks: {
        "the first hit is in session 1": hit.session_id === first,
        "the snippet shows the words": String(hit.snippet).includes(">>>celadon<<<"),
      },
      lines: [
        `session_search(query: ${String(search.given.query)})`,
        `session ${String(hit.session_id)}`,
        pyStrip(String(hit.snippet)),
      ],
    });
    yield* said(agent, "I like short answers: I read them on my phone, beside the kiln.");
  } // closing the agent waits for the review

  const review = (await owner.history()).find(({ origin }) => origin === "review");
  yield shown({
    id: "review",
    layer: "background review",
    title: `After the reply, unasked, a review saved a preference (here every ${REVIEW_AFTER_TURNS} turns).`,
    checks: {
      "the journal says origin review, and names the session": review?.sessionId === second,
      "the entry is in memories/USER.md": textIn("USER.md").includes(PREFERENCE),
    },
    lines: [
      `memories/USER.md  + ${review?.after.join() ?? "nothing"}`,
      `journal           change ${review?.change}, origin ${review?.origin}, session ${review?.sessionId}`,
    ],
  });
  const undone = await owner.undo(review?.change);
  const [newest] = await owner.history();
  yield shown({
    id: "undo",
    layer: "undo",
    title: "What the review wrote is taken back, as 'hermes memory undo' does it.",
    checks: {
      "the change was taken back": undone.changes.length === 1,
      "the entry is in memories/USER.md no longer": !textIn("USER.md").includes(PREFERENCE),
      "what session 1 saved is untouched": textIn("MEMORY.md").includes(FACT),
    },
    lines: [`journal  change ${newest?.change} takes back ${undone.changes.join() || "nothing"}`],
  });
  const sessions = await owner.chats();
  yield shown({
    id: "files",
    layer: "files",
    title: "All of it is in files of one home, which other programs can read.",
    checks: {
      "memories/MEMORY.md is the entry and nothing else": textIn("MEMORY.md") === FACT,
      "state.db has both sessions": [first, second].every((id) =>
        sessions.some(({ sessionId }) => sessionId === id),
      ),
    },
    lines: [
      `memories/MEMORY.md  ${textIn("MEMORY.md")}`,
      `memories/USER.md    ${textIn("USER.md") || "(empty again)"}`,
      ...sessions.map(
        ({ sessionId, messages }) => `state.db            session ${sessionId}, ${messages} messages`,
      ),
    ],
  });
}

function shown(step: DemoStep): DemoEvent {
  return { kind: "step", step };
}

/** One turn: what the user says, and the answer. */
async function* said(agent: Agent, text: string): AsyncGenerator<DemoEvent> {
  yield { kind: "said", who: "you", text };
  const { final_response: answer, error } = await agent.run(text);
  yield { kind: "said", who: "script", text: error ?? answer };
}

type Json = Readonly<Record<string, unknown>>;

/** The newest call of a tool, and its result; both empty when it was not called. */
function lastToolUse({ messages }: Pick<Agent, "messages">, tool: string): Record<"given" | "result", Json> {
  const call = messages.flatMap((message) => toolCallsOf(message)).findLast(({ name }) => name === tool);
  const answer = messages.findLast((message) => message.role === "tool" && message.toolCallId === call?.id);
  return { given: jsonIn(call?.arguments ?? ""), result: jsonIn(textOf(answer?.content ?? "")) };
}

function hitsIn({ results }: Json): readonly Json[] {
  return Array.isArray(results) ? results.filter(isRecord) : [];
}

/** The JSON object in a text, without the text around it. */
function jsonIn(text: string): Json {
  const value = outsideJsonOr(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1), undefined);
  return isRecord(value) ? value : {};
}

function short(prompt: string | undefined): string {
  return prompt === undefined ? "none" : promptHash(prompt).slice(0, 16);
}

// The script.

const FACT = "The Vesuvius kiln is fired to 1240 degrees, never higher";
const PREFERENCE = "Wants short answers: reads them on a phone beside the kiln";

type Reply = string | { readonly tool: string; readonly given: Json };

class ScriptedModel implements ChatModel {
  readonly identity = {
    model: SCRIPTED_MODEL,
    provider: "custom",
    apiMode: "chat_completions",
    baseUrl: "",
  } as const;
  /** The system prompts of all requests, in order. */
  readonly prompts: string[] = [];

  async stream({ messages }: ModelRequest) {
    this.prompts.push(textOf(messages[0]?.content ?? ""));
    const reply = replyTo(messages);
    const calls =
      typeof reply === "string"
        ? []
        : [
            {
              id: `call_${this.prompts.length}`,
              type: "function" as const,
              function: { name: reply.tool, arguments: JSON.stringify(reply.given) },
            },
          ];
    const content = typeof reply === "string" ? reply : null;
    const message = { role: "assistant" as const, content, tool_calls: calls };
    return ok({ message, finishReason: "stop" as const, usage: undefined, model: SCRIPTED_MODEL });
  }
}

function replyTo(messages: readonly Message[]): Reply {
  const last = messages.at(-1);
  const text = textOf(last?.content ?? "");
  if (last?.role === "tool") {
    const result = jsonIn(text);
    if (!("results" in result)) return result.success === true ? "Noted." : "That was refused.";
    // A hit can be a stored tool call; the text of a message makes the better answer.
    const hit = hitsIn(result).find(({ snippet }) => !String(snippet).trimStart().startsWith("[{"));
    return hit ? `We said: ${String(hit.snippet).replace(/>>>|<<</g, "")}` : "I find nothing about it.";
  }
  // What a background review asks for comes after the conversation.
  if (text.includes("[Only the memory and skill tools may be called now"))
    return { tool: "memory", given: { action: "add", target: "user", content: PREFERENCE } };
  if (text.startsWith("Remember"))
    return { tool: "memory", given: { action: "add", target: "memory", content: FACT } };
  const [, topic] = /what did we say about (.+?)\?/i.exec(text) ?? [];
  if (topic !== undefined) return { tool: "session_search", given: { query: topic } };
  return text.includes("crawled")
    ? "Then wipe the bisque with a damp sponge before glazing."
    : "Short it is.";
}
