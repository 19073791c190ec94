// Texts that go to Honcho or to the model, and how long ones are cut. Pure.
import { codePointLength, pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { hasContext, hasTools, type ProviderMode } from "../kit/provider-mode.ts";
import type { Impression } from "./wire.ts";

// ---- Messages ----

const CONTINUED = "[continued] ";
/** A cut at a paragraph, sentence or word must leave at least this share of the chunk. */
const MIN_SHARE = 0.3;

/** The parts of a message that the server takes, each at most `limit` code points long. [] for a blank text. */
export function chunked(text: string, limit: number): readonly string[] {
  const chunks: string[] = [];
  let rest = pyStrip(text);
  while (rest !== "") {
    const mark = chunks.length === 0 ? "" : CONTINUED;
    const window = takeCodePoints(rest, limit - mark.length);
    if (window.length === rest.length) return [...chunks, mark + rest];
    const cut = cutAt(window);
    chunks.push(mark + pyStrip(rest.slice(0, cut)));
    rest = pyStrip(rest.slice(cut));
  }
  return chunks;
}

function cutAt(window: string): number {
  const sentence = window.lastIndexOf(". ");
  const places = [window.lastIndexOf("\n\n"), sentence < 0 ? -1 : sentence + 1, window.lastIndexOf(" ")];
  return places.find((place) => place >= window.length * MIN_SHARE && place > 0) ?? window.length;
}

/** At most `limit` code points, cut at a word, without an ellipsis: for questions. */
export function cutAtWord(text: string, limit: number): string {
  if (codePointLength(text) <= limit) return text;
  const head = takeCodePoints(text, limit);
  const blank = head.lastIndexOf(" ");
  return blank > head.length * MIN_SHARE ? head.slice(0, blank) : head;
}

// ---- Recall ----

export type BaseLayer = { readonly summary: string; readonly user: Impression; readonly ai: Impression };

/** Blocks without content are left out. */
export function baseText({ summary, user, ai }: BaseLayer): string {
  return sections([
    ["Session Summary", summary],
    ["User Representation", user.representation],
    ["User Peer Card", user.card.join("\n")],
    ["AI Self-Representation", ai.representation],
    ["AI Identity Card", ai.card.join("\n")],
  ]);
}

export function sections(blocks: readonly (readonly [heading: string, text: string])[]): string {
  return blocks
    .filter(([, text]) => pyStrip(text) !== "")
    .map(([heading, text]) => `## ${heading}\n${withoutBlankEnds(text)}`)
    .join("\n\n");
}

/** The first line keeps its indent. */
function withoutBlankEnds(text: string): string {
  return text.replace(/^\s*\n/, "").trimEnd();
}

/** Lines that are not headings, as the number of memories shown to the user. */
export function countMemories(text: string): number {
  return text.split("\n").filter((line) => pyStrip(line) !== "" && !line.startsWith("#")).length;
}

// ---- Questions to Honcho's model ----

export type Questioning = {
  /** Nothing is known about the user yet. */
  readonly isCold: boolean;
  /** The user's current message; "" to leave it out. */
  readonly message: string;
  readonly answers: readonly string[];
};

export function dialecticQuestion({ isCold, message, answers }: Questioning): string {
  const [first = "", second = ""] = answers;
  switch (answers.length) {
    case 0:
      return [
        isCold
          ? "Who is this person? Describe their preferences, goals and way of working, and the facts that would let an assistant help them well from the first message on."
          : "Which of the things you know about this person matter for the conversation they are having now? Use this session, and put what is going on at present before their biography.",
        ...(message === "" ? [] : [`Their current message:\n${message}`]),
      ].join("\n\n");
    case 1:
      return `This is a first assessment:\n\n${first || "(empty)"}\n\nWhat is missing in it? Use evidence from recent sessions and sum up what is known about the person's present situation and needs.`;
    default:
      return `Two assessments of the same person:\n\nFirst:\n${first || "(empty)"}\n\nSecond:\n${second || "(empty)"}\n\nResolve what contradicts itself and write one short synthesis of what matters now.`;
  }
}

/** Whether a further pass would add little. */
export function isSufficient(answer: string): boolean {
  const length = codePointLength(pyStrip(answer));
  if (length > 300) return true;
  return length >= 100 && /\n/.test(answer) && /##|•|^[*-] |^\s*\d+[.)] /m.test(answer);
}

// ---- The system prompt ----

const TOOL_PURPOSES: Readonly<Record<string, string>> = {
  honcho_profile: "the short list of facts about a person, to read or to replace",
  honcho_search: "stored excerpts about a topic, without a model",
  honcho_reasoning: "an answer that Honcho's model works out; slow and costly",
  honcho_context: "summary, representation, card and last messages of this session",
  honcho_conclude: "store a lasting fact, or delete one that must not be kept",
};

export function honchoPromptBlock(mode: ProviderMode): string {
  const tools = Object.entries(TOOL_PURPOSES).map(([name, purpose]) => `- \`${name}\`: ${purpose}`);
  return [
    "# Honcho Memory",
    `Honcho remembers the user across sessions. Mode: ${mode}.`,
    hasContext(mode)
      ? "What it knows is added to a turn by itself."
      : "Nothing is added by itself: ask with the tools.",
    ...(hasTools(mode) ? ["Tools:", ...tools] : ["There are no tools for it."]),
  ].join("\n");
}

// ---- Files from before Honcho ----

export type MemoryFile = {
  readonly name: string;
  readonly uploadName: string;
  readonly peer: "user" | "ai";
  readonly holds: string;
};

export const MEMORY_FILES: readonly MemoryFile[] = [
  {
    name: "MEMORY.md",
    uploadName: "consolidated_memory.md",
    peer: "user",
    holds: "the agent's notes about the user's projects, environment and past work",
  },
  {
    name: "USER.md",
    uploadName: "user_profile.md",
    peer: "user",
    holds: "what the agent knew about the user",
  },
  { name: "SOUL.md", uploadName: "agent_soul.md", peer: "ai", holds: "the agent's identity and manner" },
];

export function priorMemory({ holds }: MemoryFile, text: string): string {
  return [
    "<prior_memory_file>",
    `<context>This file was written before Honcho was in use. It holds ${holds}. Treat it as foundational knowledge.</context>`,
    "",
    pyStrip(text),
    "</prior_memory_file>",
  ].join("\n");
}

export function identitySeed(source: string, text: string): string {
  return `<ai_identity_seed>\n<source>${source}</source>\n\n${pyStrip(text)}\n</ai_identity_seed>`;
}
