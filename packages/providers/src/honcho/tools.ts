// The five tools. Every one of them takes `peer`: `user` (default), `ai`, or the id of a peer.
import { preview, pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { ServiceError } from "../kit/http.ts";
import { type ServiceTool, ToolRefusal } from "../kit/networked/service.ts";
import { tool } from "../kit/networked/tools.ts";
import { fitChars, fitTokens } from "../kit/provider-mode.ts";
import { type Subject, viewsOf } from "./erase.ts";
import type { HonchoRecall } from "./recall.ts";
import { type Peers, type ReadySession, viewOf } from "./session.ts";
import { type HonchoSettings, LEVELS, type Level, serverId } from "./settings.ts";
import { cutAtWord, sections } from "./texts.ts";
import { conclusionText, type HonchoWire, type Impression } from "./wire.ts";

/** What the tools need of a connection. */
export type ToolHost = {
  readonly wire: HonchoWire;
  readonly peers: Peers;
  readonly subject: Subject;
  readonly settings: HonchoSettings;
  /** False for a user of a gateway, who may not look at others. */
  readonly mayNameOthers: boolean;
  readonly canWrite: boolean;
  readonly recallNow: HonchoRecall;
  readonly readyForTool: (signal: AbortSignal) => Promise<ReadySession>;
};

type Args = Readonly<Record<string, unknown>>;

const DEFAULT_TOKENS = 800;
const MOST_TOKENS = 2_000;
const RECENT_MESSAGES = 5;
const MESSAGE_PREVIEW_CHARS = 200;
/** The server's limit of a card is not known; this keeps one answer of a model within reason. */
const CARD_FACTS = 100;
const CARD_FACT_CHARS = 1_000;

const PEER = {
  type: "string",
  description: "Whose memory: 'user' (default), 'ai' for yourself, or the id of another peer.",
};

export function honchoTools(host: ToolHost): readonly ServiceTool[] {
  const drafts: readonly Parameters<typeof tool>[0][] = [
    {
      name: "honcho_profile",
      description:
        "Read or replace the peer card: a short curated list of key facts about a person. Fast, no model. An empty card is not an error: it fills over time. With 'card' the whole list is replaced.",
      properties: {
        peer: PEER,
        card: {
          type: "array",
          items: { type: "string" },
          description: "The new list of facts. Leave out to read.",
        },
      },
      run: (args, signal) => profile(host, args, signal),
    },
    {
      name: "honcho_search",
      description:
        "Search stored memory about a person and return raw excerpts, best first. No model is asked, so it is cheaper and faster than honcho_reasoning: use it when you want the facts and draw the conclusion yourself.",
      properties: {
        query: { type: "string", description: "What to look for." },
        max_tokens: {
          type: "integer",
          description: "Longest result in tokens, 800 unless given, at most 2000.",
        },
        peer: PEER,
      },
      required: ["query"],
      run: (args, signal) => search(host, args, signal),
    },
    {
      name: "honcho_reasoning",
      description:
        "Ask Honcho's model a question about a person and get an answer worked out from everything stored. Slow and costly: prefer honcho_search or honcho_context when facts are enough.",
      properties: {
        query: { type: "string", description: "The question, in plain language." },
        reasoning_level: {
          type: "string",
          enum: LEVELS,
          description:
            "minimal: a simple fact; low: an ordinary question; medium: several things to connect; high: patterns and contradictions; max: a thorough study. Left out: the configured level.",
        },
        peer: PEER,
      },
      required: ["query"],
      run: (args, signal) => reasoning(host, args, signal),
    },
    {
      name: "honcho_context",
      description:
        "Get what is known for this session: summary, representation and card of the person, and the last messages. No model is asked.",
      properties: { query: { type: "string", description: "A topic to put first." }, peer: PEER },
      run: (args, signal) => context(host, args, signal),
    },
    {
      name: "honcho_conclude",
      description:
        "Store a lasting fact about a person, or delete one. Give exactly one of conclusion and delete_id. Delete only to remove personal data: Honcho corrects wrong facts by itself as it learns.",
      properties: {
        conclusion: { type: "string", description: "The fact, as a full sentence." },
        delete_id: { type: "string", description: "The id of a conclusion to delete." },
        peer: PEER,
      },
      isWriting: true,
      run: (args, signal) => conclude(host, args, signal),
    },
  ];
  return drafts.map((draft) => tool({ ...draft, failure: `Honcho ${draft.name} failed` }));
}

// ---- The tools ----

async function profile(host: ToolHost, args: Args, signal: AbortSignal): Promise<object> {
  const peer = peerIn(host, args);
  const { observation } = await host.readyForTool(signal);
  const view = viewOf(peer, host.peers, observation);
  if (Array.isArray(args.card) && args.card.length > 0) {
    if (!host.canWrite) throw new ToolRefusal("Honcho stores nothing for this agent.");
    refuseSharedAgent(host, peer);
    const card = args.card
      .map((fact) => fitChars(textArgument(fact), CARD_FACT_CHARS))
      .filter((fact) => fact !== "")
      .slice(0, CARD_FACTS);
    if (card.length === 0) throw new ToolRefusal("Failed to update peer card. It has no fact in it.");
    await orRefuse("Failed to update peer card.", host.wire.setCard(view, card, signal));
    host.recallNow.dropBase();
    return { result: `Peer card updated (${card.length} facts).`, card };
  }
  const found = await host.wire.card(view, signal);
  const isOwnView = view.target === undefined || view.target === view.observer;
  const facts =
    found.length > 0 || isOwnView
      ? found
      : await host.wire.card({ observer: peer, target: undefined }, signal);
  if (facts.length > 0) return { result: facts };
  return { result: "No profile facts available yet.", hint: emptyHint(host, peer, observation) };
}

async function search(host: ToolHost, args: Args, signal: AbortSignal): Promise<object> {
  const query = queryIn(args);
  const peer = peerIn(host, args);
  const { observation } = await host.readyForTool(signal);
  const found = await host.wire.impression(viewOf(peer, host.peers, observation), query, signal);
  const text = impressionText(found);
  return { result: text === "" ? "No relevant context found." : fitTokens(text, tokensIn(args)) };
}

async function reasoning(host: ToolHost, args: Args, signal: AbortSignal): Promise<object> {
  const { settings, peers } = host;
  const query = queryIn(args);
  const peer = peerIn(host, args);
  const asked = LEVELS.find((level) => level === args.reasoning_level);
  const level: Level = settings.hasDynamicLevel && asked !== undefined ? asked : settings.level;
  const { observation, name } = await host.readyForTool(signal);
  const seen = viewOf(peer, peers, observation);
  const view = peer === peers.ai ? { observer: peers.ai, target: undefined } : seen;
  const question = cutAtWord(query, settings.maxInputChars);
  const answer = pyStrip(await host.wire.chat(view, { query: question, session: name, level }, signal));
  if (answer === "") return { result: "No result from Honcho." };
  host.recallNow.noteReasoning();
  return { result: fitChars(answer, settings.maxAnswerChars) };
}

async function context(host: ToolHost, args: Args, signal: AbortSignal): Promise<object> {
  const { peers, settings, wire } = host;
  const peer = peerIn(host, args);
  const topic = textArgument(args.query) || undefined;
  const { observation, name } = await host.readyForTool(signal);
  const view = viewOf(peer, peers, observation);
  const found = await wire.sessionContext(
    name,
    {
      tokens: settings.contextTokens,
      peer_target: view.target ?? view.observer,
      peer_perspective: view.target === undefined ? undefined : view.observer,
      search_query: topic,
    },
    signal,
  );
  const isBare = found.representation === "" && found.card.length === 0;
  const known = isBare ? await wire.impression(view, topic, signal) : found;
  const recent = found.messages.slice(-RECENT_MESSAGES);
  const text = sections([
    ["Summary", found.summary],
    ["Representation", known.representation],
    ["Card", known.card.join("\n")],
    [
      "Recent messages",
      recent
        .map(({ peerId, content }) => `  [${peerId}] ${takeCodePoints(content, MESSAGE_PREVIEW_CHARS)}`)
        .join("\n"),
    ],
  ]);
  return { result: text === "" ? "No context available yet." : fitChars(text, settings.maxChars) };
}

async function conclude(host: ToolHost, args: Args, signal: AbortSignal): Promise<object> {
  const conclusion = conclusionText(textArgument(args.conclusion));
  const id = textArgument(args.delete_id);
  if ((conclusion === "") === (id === ""))
    throw new ToolRefusal("Exactly one of conclusion or delete_id must be provided.");
  const peer = peerIn(host, args);
  const { observation, name: session } = await host.readyForTool(signal);
  if (id !== "") {
    const failure = `Failed to delete conclusion ${preview(id, 100)}.`;
    if (!host.mayNameOthers && !(await isOwnConclusion(host, id, signal))) throw new ToolRefusal(failure);
    const wasThere = await orRefuse(failure, host.wire.deleteConclusion(id, signal));
    if (!wasThere) throw new ToolRefusal(failure);
    host.recallNow.drop();
    return { result: `Conclusion ${id} deleted.` };
  }
  refuseSharedAgent(host, peer);
  const view = viewOf(peer, host.peers, observation);
  await orRefuse(
    "Failed to save conclusion.",
    host.wire.addConclusion(view, conclusion, { session, signal }),
  );
  host.recallNow.dropBase();
  return { result: `Conclusion saved for ${peer}: ${conclusion}` };
}

/** A user of a gateway must not delete another user's memory by its id. */
async function isOwnConclusion(
  { wire, subject }: ToolHost,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  for (const view of viewsOf(subject))
    if ((await wire.conclusions(view, signal)).some((conclusion) => conclusion.id === id)) return true;
  return false;
}

/** What one user tells such an agent about itself would be shown to the others. */
function refuseSharedAgent({ subject, peers }: ToolHost, peer: string): void {
  if (peer === peers.ai && !subject.hasOwnAgent)
    throw new ToolRefusal("All users share this agent, so a user cannot change what it knows about itself.");
}

// ---- Arguments and texts ----

function textArgument(value: unknown): string {
  return typeof value === "string" ? pyStrip(value.toWellFormed().replaceAll("\0", "")) : "";
}

function queryIn({ query }: Args): string {
  const text = textArgument(query);
  if (text === "") throw new ToolRefusal("Missing required parameter: query");
  return text;
}

function peerIn({ peers, mayNameOthers }: ToolHost, { peer }: Args): string {
  const asked = textArgument(peer);
  if (asked === "" || asked === "user") return peers.user;
  if (asked === "ai") return peers.ai;
  const id = serverId(asked);
  if (mayNameOthers || id === peers.user || id === peers.ai) return id;
  throw new ToolRefusal("Only 'user' and 'ai' can be asked about in this conversation.");
}

function tokensIn({ max_tokens }: Args): number {
  const asked = Number(max_tokens ?? DEFAULT_TOKENS);
  return Number.isFinite(asked) && asked >= 1 ? Math.min(Math.floor(asked), MOST_TOKENS) : DEFAULT_TOKENS;
}

function impressionText({ representation, card }: Impression): string {
  const facts = card.map((fact) => `- ${fact}`).join("\n");
  return [pyStrip(representation), facts].filter((part) => part !== "").join("\n\n");
}

/** The failure's own words follow the fixed text. */
async function orRefuse<T>(message: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    throw new ToolRefusal(`${message} ${cause.failure.message}`);
  }
}

function emptyHint(
  { peers, settings, recallNow }: ToolHost,
  peer: string,
  { user, ai }: ReadySession["observation"],
): string {
  const flags = peer === peers.ai ? ai : user;
  const turns = Math.max(2, settings.dialecticCadence);
  const reasons = [
    ...(flags.observeMe || flags.observeOthers ? [] : ["observation is switched off for this peer"]),
    ...(recallNow.turns < turns ? [`this session has fewer than ${turns} turns`] : []),
  ];
  const known =
    reasons.length > 0 ? reasons : ["a card fills over time, and servers older than Honcho 3 have none"];
  return `Possible reasons: ${known.join("; ")}. Until then use honcho_reasoning or honcho_search.`;
}
