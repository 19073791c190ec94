// A proxied request whose model speaks another protocol: parsed, asked through the model's own SDK, and written in the client's protocol.
// What would be lost on the way is refused by name.
import {
  type ChatModel,
  callModel,
  type FinishReason,
  type ModelRequest,
  type Usage,
} from "@hermes-memory/agent/internal/models";
import { type Message, newMessage, partsOf, textOf, toolCallsOf } from "@hermes-memory/core/internal/message";
import { AnswerScrubber, scrubAnswer } from "@hermes-memory/core/internal/providers";
import { ofModelFailure, stoppedProblem } from "../problem.ts";
import { ReplyStream, type Said } from "../reply-stream.ts";
import { type JsonObject, type ModelTurn, ProblemError } from "../types.ts";
import { refuseLost } from "../wires/body-fields.ts";
import { hermesHeaders } from "../wires/fields.ts";
import type { Finish, ReplyMetadata } from "../wires/wire.ts";
import { partsOf as bodyParts, listOf, spaceless } from "./chain.ts";
import type { Insertions } from "./insert.ts";
import { finishTurn, type TurnMemory } from "./turn-memory.ts";

export type Translation = {
  readonly model: ChatModel;
  /** Called when nothing would be lost: what is refused is not stored. */
  readonly openMemory: () => Promise<TurnMemory>;
};

export async function translate(turn: ModelTurn, { model, openMemory }: Translation): Promise<Response> {
  const { wire, request, gateway, signal } = turn;
  refuseLost(
    request,
    `The model ${model.identity.model} speaks another protocol than this request, and these fields would be lost`,
    "Leave them out, ask for a model of this protocol, or send the request in the model's own protocol.",
  );
  const memory = await openMemory();
  const stream = new ReplyStream(turn);
  let partial = "";
  const scrubber = new AnswerScrubber();
  const say = (text: string): void => {
    partial += text;
    if (text !== "") stream.write({ type: "text", text });
  };
  const asked: ModelRequest = {
    messages: await messagesFor(turn, memory),
    tools: request.tools,
    toolChoice: request.toolChoice === "none" ? "none" : "auto",
    maxOutputTokens: request.maxOutputTokens,
    temperature: request.temperature,
    signal,
    onDelta: ({ kind, text }) => {
      if (kind === "text") say(scrubber.feed(text));
      else stream.write({ type: kind, text });
    },
  };
  const id = wire.newReplyId();
  const metadata: ReplyMetadata = { sessionId: memory.sessionId ?? "", notices: memory.notices };
  const finish = (message: Message | undefined, usage?: Usage): Promise<void> =>
    finishTurn(turn, memory, {
      model: model.identity,
      used: message !== undefined || signal.aborted ? [{ usage, reply: message }] : [],
      hidden: [],
      last: message,
      shownText: textOf(message?.content ?? ""),
      handedBack: message === undefined ? [] : toolCallsOf(message).map((call) => call.id),
      rounds: undefined,
      responseIds: [id],
    });
  const run = async (): Promise<Said> => {
    try {
      // The client has its own rules for trying again.
      const ended = await callModel(model, asked, { attempts: 1 }).finally(() => say(scrubber.end()));
      if (!ended.ok) throw new ProblemError(ofModelFailure(ended.error));
      const { message: said, usage, finishReason } = ended.value;
      const { content, toolCalls } = said;
      const message = typeof content === "string" ? { ...said, content: scrubAnswer(content) } : said;
      await finish(message, usage);
      const [text, reasoning] = [textOf(message.content), reasoningOf(message)];
      return { text, reasoning, toolCalls, finish: finishOf(finishReason), usage, metadata };
    } catch (cause) {
      await finish(interrupted(partial));
      if (!signal.aborted) throw cause;
      throw new ProblemError(stoppedProblem(gateway.isStopping), { cause });
    }
  };
  const start = {
    id,
    model: request.model === "" ? model.identity.model : request.model,
    createdAtSeconds: Math.floor(gateway.clock.now().getTime() / 1000),
  };
  const headers = hermesHeaders(metadata);
  turn.prepared?.();
  return stream.response(run(), { start: () => ({ ...start, headers }) });
}

// ---- The request ----

async function messagesFor(turn: ModelTurn, memory: TurnMemory): Promise<readonly Message[]> {
  const { request, identity, chatId } = turn;
  const { block, recalls } = memory.insertions;
  const system = [request.system, block].filter((text) => text !== "").join("\n\n");
  const isRest = identity.session.history === "server" && memory.sessionId !== undefined;
  // The client sends only what is new. The request has been stored, so that the transcript has all of it.
  const stored = isRest
    ? await turn.memory.transcript(chatId, { format: "hermes", limit: Infinity })
    : undefined;
  // A reply that this request asks for again is not part of it.
  const last = (stored?.messages ?? []).findLastIndex(({ role }) => role !== "assistant");
  const told = stored === undefined || last < 0 ? request.messages : stored.messages.slice(0, last + 1);
  const list = withRecalls(told, listOf(turn.wire.name, turn.body), recalls);
  return system === "" ? list : [newMessage({ role: "system", content: system }), ...list];
}

/** Recall belongs to a message of the client's body; ours with the same text stands for it. */
function withRecalls(
  messages: readonly Message[],
  list: readonly JsonObject[],
  recalls: Insertions["recalls"],
): readonly Message[] {
  const changed = [...messages];
  let at = messages.length;
  for (const { index, text } of recalls.toSorted((one, other) => other.index - one.index)) {
    const parts = bodyParts(list[index]?.content);
    const words = spaceless(parts.map((part) => (typeof part.text === "string" ? part.text : "")).join(""));
    const found = changed.findLastIndex(
      (message, place) =>
        place < at && message.role === "user" && spaceless(textOf(message.content)) === words,
    );
    const message = changed[found];
    if (message === undefined) continue;
    at = found;
    const { content } = message;
    const said =
      typeof content === "string"
        ? `${content}\n\n${text}`
        : [...partsOf(content), { type: "text" as const, text }];
    changed[found] = { ...message, content: said };
  }
  return changed;
}

// ---- The reply ----

function interrupted(text: string): Message | undefined {
  if (text.trim() === "") return undefined;
  return newMessage({ role: "assistant", content: text, toolCalls: [] }, { finishReason: "interrupted" });
}

function reasoningOf({ vendor = {} }: Message): string {
  const { reasoning, reasoning_content: content } = vendor;
  return typeof reasoning === "string" ? reasoning : typeof content === "string" ? content : "";
}

function finishOf(reason: FinishReason): Finish {
  return reason === "error" || reason === "other" ? "stop" : reason;
}
