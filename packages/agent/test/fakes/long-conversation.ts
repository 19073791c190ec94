// A conversation of any length, said the same way by whoever drives it and by the fake model that answers: user messages,
// answers and tool results are a few hundred characters each, and some of them hold a fact that is said nowhere else.
import type { RecordedRequest, Reply, Step } from "./wires/script.ts";

export type Fact = {
  readonly turn: number;
  readonly place: "user" | "assistant" | "tool";
  /** What one asks for; in no other message. */
  readonly name: string;
  /** What one gets to know; in no other message and in no question. */
  readonly value: string;
};

const PLACES = ["user", "assistant", "tool"] as const;

/** Spread evenly over the turns `from` to `to`, over the three places in turn. */
export function plantedFacts(count: number, from: number, to: number): readonly Fact[] {
  return Array.from({ length: count }, (_, n) => ({
    turn: from + Math.floor((n * (to - from)) / Math.max(1, count - 1)),
    place: PLACES[n % PLACES.length] ?? "user",
    name: `${word(n)}berg`,
    value: `${word(n + 500)}thal`,
  }));
}

export const TOOL_NAME = "read_log";
const SUMMARY_SIGNS = [
  "Write a checkpoint of a conversation",
  "Write a note that stands",
  "Write one note that",
];

export function userText(turn: number, facts: readonly Fact[]): string {
  return `Turn ${turn}: ${wanted(turn, facts)} ${fact(turn, "user", facts)} ${filler(turn, 60)}`;
}

export function toolResult(turn: number, facts: readonly Fact[]): string {
  return `Log of turn ${turn}: ${fact(turn, "tool", facts)} ${filler(turn + 7_000, 60)}`;
}

export function answerText(turn: number, facts: readonly Fact[]): string {
  return `Answer ${turn}: ${fact(turn, "assistant", facts)} ${filler(turn + 3_000, 60)}`;
}

/** `Call <tool> with <json>` in a user message makes the model do just that, and then say what it got. */
export function callText(tool: string, args: Readonly<Record<string, unknown>>): string {
  return `Call ${tool} with ${JSON.stringify(args)}`;
}

export function isSummaryRequest({ messages }: Pick<RecordedRequest, "messages">): boolean {
  const text = String(messages.at(-1)?.content ?? "");
  return SUMMARY_SIGNS.some((sign) => text.includes(sign));
}

/** What the fake model answers. Summaries name no fact: whoever wants one has to look it up. */
export function longAnswer(request: RecordedRequest, facts: readonly Fact[]): Step {
  const chunkChars = 100_000;
  if (isSummaryRequest(request))
    return { text: `## Goal\nTalk about weather and logs.\n\n${filler(request.index, 40)}`, chunkChars };
  return { ...reply(request, facts), chunkChars };
}

function reply({ messages }: RecordedRequest, facts: readonly Fact[]): Reply {
  const last = messages.at(-1);
  const asked = messages.findLast(({ role }) => role === "user");
  const text = String(asked?.content ?? "");
  const order = [...text.matchAll(/Call (\w+) with (\{.*\})/g)].at(-1);
  if (last?.role === "tool")
    return { text: order ? "I have looked it up." : answerText(turnOf(text), facts) };
  if (order) return { toolCalls: [{ name: order[1] ?? "", arguments: order[2] ?? "{}" }] };
  const turn = turnOf(text);
  return usesTool(turn, facts)
    ? { toolCalls: [{ name: TOOL_NAME, arguments: { turn } }] }
    : { text: answerText(turn, facts) };
}

function turnOf(text: string): number {
  return Number([...text.matchAll(/Turn (\d+):/g)].at(-1)?.[1] ?? 0);
}

/** Where the tool is needed for a fact, and now and then anyway. */
function usesTool(turn: number, facts: readonly Fact[]): boolean {
  return turn % 5 === 0 || facts.some((each) => each.turn === turn && each.place === "tool");
}

function wanted(turn: number, facts: readonly Fact[]): string {
  return usesTool(turn, facts) ? "have a look at the log." : "what do you think?";
}

function fact(turn: number, place: Fact["place"], facts: readonly Fact[]): string {
  const found = facts.find((each) => each.turn === turn && each.place === place);
  return found ? `The keeper of ${found.name} is called ${found.value}.` : "Nothing new.";
}

const FILLER = "rain wind cloud sun storm fog frost hail breeze calm heat cold north south east west".split(
  " ",
);

/** Words that say nothing, other ones each time, so that no two messages are equal. */
function filler(seed: number, words: number): string {
  let state = seed * 2_654_435_761;
  return Array.from({ length: words }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return FILLER[Math.floor(state / 65_536) % FILLER.length];
  }).join(" ");
}

/** A word of its own for each number. */
function word(n: number): string {
  const syllables = ["ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "pe", "ra"];
  return [...String(1_000 + n)].map((digit) => syllables[Number(digit)]).join("");
}
