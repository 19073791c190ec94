// The tour, step by step: three sessions one after the other, then what prompt caching saved in them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { addUsage, NO_USAGE, promptTokens, type Usage } from "@hermes-memory/agent/internal/models";
import type { HistoryLine } from "@hermes-memory/core/internal/curated";
import { memoriesDirectory } from "@hermes-memory/core/internal/home";
import {
  codePointLength,
  groupThousands,
  percentOf,
  pyStrip,
  sha256,
} from "@hermes-memory/core/internal/lib";
import { promptHash } from "@hermes-memory/core/internal/prompt";
import { EXAMPLE_PRICE, REVIEW_AFTER_TURNS, SMALL_WINDOW } from "./home.ts";
import { USER_ENTRY } from "./scripted-model.ts";
import { recordOf } from "./scripted-server.ts";
import { lastToolUse, needed, type Step, Tour, type TourOptions, type TourSession } from "./tour.ts";

/** Rejects only with the signal's reason. */
export async function runTour(options: TourOptions): Promise<readonly Step[]> {
  const tour = new Tour(options);
  await tour.session(1, { kind: "long", about: "something is remembered" }, async (session) => {
    tour.known.firstSession = session.agent.sessionId;
    await tour.step(
      {
        id: "memory-write",
        session: 1,
        layer: "curated memory",
        title: "The model called the memory tool; the entry is on disk and in the journal.",
      },
      () => memoryWrite(tour, session),
    );
    await tour.step(
      {
        id: "frozen-prompt",
        session: 1,
        layer: "frozen prompt",
        title: "The running session's prompt did not move: the same bytes in every request.",
      },
      () => frozenPrompt(tour, session),
    );
  });
  await tour.session(2, { kind: "long", about: "a new one, with what is known" }, async (session) => {
    await tour.step(
      {
        id: "snapshot",
        session: 2,
        layer: "memory snapshot",
        title: "The prompt of the new session has the entry in it.",
      },
      () => snapshot(tour, session),
    );
    await tour.step(
      {
        id: "search",
        session: 2,
        layer: "session search",
        title: "What was said, but never saved, is found in session 1 by its words.",
      },
      () => search(tour, session),
    );
    await tour.step(
      {
        id: "review",
        session: 2,
        layer: "background review",
        title: `After the reply, unasked, a review saved a preference (here every ${REVIEW_AFTER_TURNS} turns).`,
      },
      () => review(tour, session),
    );
  });
  const about = `a window of ${groupThousands(SMALL_WINDOW)} tokens, engine lcm`;
  await tour.session(3, { kind: "small", about }, async (session) => {
    const logs: string[] = [];
    await tour.step(
      {
        id: "compaction",
        session: 3,
        layer: "compaction",
        title: "The window was full, so the conversation went on in a continuation.",
      },
      () => compaction(session, logs),
    );
    await tour.step(
      {
        id: "expand",
        session: 3,
        layer: "lossless context",
        title: "A message that had left the conversation came back word for word.",
      },
      () => expand(session, logs),
    );
  });
  await tour.step(
    {
      id: "undo",
      session: 3,
      layer: "undo",
      title: "What the review wrote in session 2 is taken back.",
    },
    () => undo(tour),
  );
  await tour.step(
    {
      id: "savings",
      session: 3,
      layer: "prompt caching",
      title: "Prompts that stay the same to the byte are read from the server's cache.",
    },
    () => cacheSavings(tour),
  );
  return tour.steps;
}

// Session 1: the user asks for something to be remembered, and the prompt of the running session stays the same.

const FACT = "the Vesuvius kiln is fired to 1240 degrees, never higher";

async function memoryWrite(tour: Tour, session: TourSession) {
  const turn = await session.say(`Remember that ${FACT}.`);
  const used = needed(lastToolUse(turn, "memory"), "The model's call of the memory tool");
  const entry = String(used.arguments.content);
  const file = memoryFile(tour, "MEMORY.md");
  const line = (await tour.memoryCommands.history()).find(({ changes }) => changes[0]?.after === entry);
  tour.known.entry = entry;
  return {
    checks: {
      "the tool reported success": used.result.success === true,
      "the entry is in memories/MEMORY.md": file.includes(entry),
      "the journal names the session and the tool":
        line?.origin === "tool" && line.session === session.agent.sessionId,
    },
    facts: {
      session_id: session.agent.sessionId,
      tool_call: { name: "memory", arguments: used.arguments },
      tool_result: used.result,
      entry,
      file,
      change_id: line?.id ?? null,
      origin: line?.origin ?? null,
    },
    lines: [
      `memory(action: add, target: memory) -> ${String(used.result.message)}  ${String(used.result.usage)}`,
      `memories/MEMORY.md  + ${entry}`,
      `journal             ${journalLine(line)}`,
    ],
  };
}

async function frozenPrompt(tour: Tour, session: TourSession) {
  await session.say("The celadon of Monday crawled, because the bisque was dusty.");
  const hashes = tour.conversation.map(({ messages }) => promptHash(messages[0]?.text ?? ""));
  const [before = "", after = "", next = ""] = hashes;
  const prompt = tour.conversation[0]?.messages[0]?.text ?? "";
  tour.known.firstPrompt = prompt;
  return {
    checks: {
      "three requests were made": hashes.length === 3,
      "the prompt is the same before and after the write": before === after && before !== "",
      "and in the next turn": before === next,
      "it does not hold the new entry": !prompt.includes(needed(tour.known.entry, "The entry")),
      "it is what the agent holds": promptHash(session.agent.systemPrompt ?? "") === before,
    },
    facts: { hash_before: before, hash_after: after, hash_next_turn: next, prompt_chars: prompt.length },
    lines: [
      `sha256 ${short(before)}  before the write (${groupThousands(prompt.length)} characters, as the server got them)`,
      `sha256 ${short(after)}  after the write`,
      `sha256 ${short(next)}  next turn`,
    ],
  };
}

// Session 2: a new prompt with the entry in it, a search for session 1, and a background review.

async function snapshot(tour: Tour, session: TourSession) {
  await session.say("What did we say about the celadon that crawled?");
  const earlier = needed(tour.known.firstPrompt, "The prompt of session 1");
  const entry = needed(tour.known.entry, "The entry");
  const prompt = tour.conversation.at(-1)?.messages[0]?.text ?? "";
  const line = prompt.split("\n").find((each) => each.includes(entry));
  const [before, now] = [promptHash(earlier), promptHash(prompt)];
  return {
    checks: {
      "the prompt is another one": before !== now,
      "the entry is in it": line !== undefined,
      "it was not in the prompt of session 1": !earlier.includes(entry),
    },
    facts: { hash_session_1: before, hash_session_2: now, line: line ?? null },
    lines: [
      `sha256 ${short(now)}  (session 1: ${short(before)})`,
      `in the prompt: ${line ?? "nothing of it"}`,
    ],
  };
}

async function search(tour: Tour, session: TourSession) {
  const used = needed(lastToolUse(session.agent, "session_search"), "The model's call of session_search");
  const results = Array.isArray(used.result.results) ? used.result.results.map(recordOf) : [];
  const hit = needed(results[0], "A hit");
  return {
    checks: {
      "the first hit is in session 1": hit.session_id === tour.known.firstSession,
      "the snippet shows the words": String(hit.snippet).includes(">>>celadon<<<"),
    },
    facts: {
      query: used.arguments.query,
      session_id: hit.session_id,
      title: hit.title,
      snippet: hit.snippet,
      stage: used.result.stage,
      count: used.result.count,
    },
    lines: [
      `session_search(query: ${String(used.arguments.query)})`,
      `session ${String(hit.session_id)}  "${String(hit.title)}"`,
      pyStrip(String(hit.snippet)),
    ],
  };
}

async function review(tour: Tour, session: TourSession) {
  await session.say("I like short answers: I read them on my phone, beside the kiln.");
  needed(session.all("review-start")[0], "The start of a review");
  const { summary, failed } = await session.until("review-end");
  const change = (await tour.memoryCommands.history()).find(({ origin }) => origin === "review");
  if (change !== undefined) tour.known.reviewChange = change.id;
  const file = memoryFile(tour, "USER.md");
  const asked = needed(tour.reviews[0], "The review's request");
  const talked = needed(tour.conversation.at(-1), "The conversation's last request");
  const { promptTokens, cachedTokens } = asked;
  const beginning = asked.messages.slice(0, talked.messages.length);
  return {
    checks: {
      "the review ended well": !failed,
      "the journal says origin review": change?.origin === "review",
      "and names this session": change?.session === session.agent.sessionId,
      "the entry is in memories/USER.md": file.includes(USER_ENTRY),
      "its request begins with the conversation's own messages":
        JSON.stringify(beginning) === JSON.stringify(talked.messages),
    },
    facts: {
      origin: change?.origin ?? null,
      change_id: change?.id ?? null,
      session_id: change?.session ?? null,
      entry: change?.changes[0]?.after ?? null,
      summary,
      prompt_tokens: promptTokens,
      cached_tokens: cachedTokens,
    },
    lines: [
      `memories/USER.md  + ${change?.changes[0]?.after ?? "nothing"}`,
      `journal           ${journalLine(change)}`,
      `same prefix       ${groupThousands(cachedTokens)} of its ${groupThousands(promptTokens)} prompt tokens (${percentOf(cachedTokens, promptTokens)} %) were cached already`,
    ],
  };
}

// Session 3: the window is soon full. Messages that left it and entries that were changed can both be restored.

/** More than fit into the small window. */
const MOST_LOGS = 40;

async function compaction(session: TourSession, logs: string[]) {
  const { agent } = session;
  while (session.all("compaction-end").length === 0 && logs.length < MOST_LOGS) {
    const log = firingLog(logs.length + 1);
    logs.push(log);
    await session.say(log, { isTold: false });
    if (logs.length === 1) await session.until("title-set"); // in the background; a continuation is named after it
  }
  const hundreds = Math.round(codePointLength(logs[0] ?? "") / 100);
  session.tell(
    "you",
    `(${logs.length} firing logs, one a turn, about ${groupThousands(hundreds * 100)} characters each)`,
  );
  const { kind, oldSessionId, sessionId, messagesBefore, messagesAfter, tokensBefore, tokensAfter } = needed(
    session.all("compaction-end")[0],
    `A compaction within ${MOST_LOGS} logs`,
  );
  const row = await agent.store?.getSession(sessionId);
  const before = await agent.store?.getSession(oldSessionId);
  const stored = await agent.store?.getMessages(oldSessionId);
  const continued = await agent.store?.getMessages(sessionId);
  return {
    checks: {
      "the engine compacted": kind === "compacted",
      "the conversation has a new session id": sessionId !== oldSessionId && agent.sessionId === sessionId,
      "whose parent is the old one": row?.parent_session_id === oldSessionId,
      "its title goes on counting": row?.title === `${before?.title} #2`,
      "it is shorter": tokensAfter < tokensBefore,
      "the old session still has every message": (stored?.length ?? 0) >= messagesBefore,
      "the continuation is stored as it goes on": continued?.length === agent.messages.length,
    },
    facts: {
      kind,
      logs: logs.length,
      tokens_before: tokensBefore,
      tokens_after: tokensAfter,
      messages_before: messagesBefore,
      messages_after: messagesAfter,
      old_session_id: oldSessionId,
      session_id: sessionId,
      parent_session_id: row?.parent_session_id ?? null,
      old_title: before?.title ?? null,
      title: row?.title ?? null,
      stored_messages: stored?.length ?? 0,
    },
    lines: [
      `tokens    ${groupThousands(tokensBefore)} -> ${groupThousands(tokensAfter)}, messages ${messagesBefore} -> ${messagesAfter}; all ${stored?.length} stay in the database`,
      `session   ${oldSessionId} -> ${sessionId}`,
      `title     ${before?.title} -> ${row?.title}`,
    ],
  };
}

async function expand(session: TourSession, logs: readonly string[]) {
  const { agent } = session;
  const isLive = (log: string): boolean =>
    agent.messages.some(({ content }) => typeof content === "string" && content.includes(log));
  const original = needed(
    logs.find((log) => !isLive(log)),
    "A log that was compacted",
  );
  const name = `firing log ${logs.indexOf(original) + 1}`;
  const turn = await session.say(`What did ${name} say, word for word?`);
  const found = needed(lastToolUse(turn, "lcm_grep"), "The model's call of lcm_grep");
  const used = needed(lastToolUse(turn, "lcm_expand"), "The model's call of lcm_expand");
  const expanded = String(used.result.content);
  return {
    checks: {
      "what came back is the original": expanded === original,
      "a summary stands for it": typeof used.result.covered_by === "string",
    },
    facts: {
      query: found.arguments.query,
      store_id: used.arguments.store_id,
      node_id: used.result.covered_by ?? null,
      original,
      expanded,
    },
    lines: [
      `lcm_grep(query: ${String(found.arguments.query)}) -> store_id ${String(used.arguments.store_id)}, covered by ${String(used.result.covered_by)}`,
      `lcm_expand(store_id: ${String(used.arguments.store_id)}) -> ${groupThousands(codePointLength(expanded))} characters`,
      `sha256 ${short(sha256(expanded))}  (as it was typed: ${short(sha256(original))})`,
    ],
  };
}

async function undo(tour: Tour) {
  const id = needed(tour.known.reviewChange, "The review's change");
  const before = memoryFile(tour, "USER.md");
  const lines = await tour.memoryCommands.undo(id);
  const after = memoryFile(tour, "USER.md");
  const history = await tour.memoryCommands.history();
  const change = history.find((line) => line.id === id);
  return {
    checks: {
      "the entry was in memories/USER.md": before.includes(USER_ENTRY),
      "it is there no longer": !after.includes(USER_ENTRY),
      "the journal still has the change, as undone": change?.status === "undone",
      "what session 1 saved is untouched": memoryFile(tour, "MEMORY.md").includes(
        needed(tour.known.entry, "The entry"),
      ),
    },
    facts: {
      undone: id,
      undone_by: change?.undone_by ?? null,
      status: change?.status ?? null,
      file_before: before,
      file_after: after,
      history: history.map(({ id: change_id, origin, action, status }) => ({
        change_id,
        origin,
        action,
        status,
      })),
    },
    lines: [`$ hermes memory undo ${id}`, ...lines],
  };
}

// At the end: what prompt caching saved in the three sessions, in tokens the server reported and at an example price.

/** The agent adds the same numbers in another order. */
const ROUNDING_USD = 1e-9;

async function cacheSavings({ spent, conversation }: Tour) {
  const total = usageOf(spent.flatMap(({ calls }) => calls));
  const prompt = promptTokens(total);
  const saved = sum(spent.map(({ savings: each }) => each?.saved ?? 0));
  const cost = sum(spent.map(({ costUsd }) => costUsd ?? 0));
  const { input, cache_read: read } = EXAMPLE_PRICE;
  const reported = sum(conversation.map(({ cachedTokens }) => cachedTokens));
  const expected = (total.cacheRead * (input - read)) / 1e6;
  return {
    checks: {
      "all three sessions were counted": spent.length === 3 && spent.every((each) => each.savings !== null),
      "the agent counted the cached tokens that the server reported": total.cacheRead === reported,
      "something was read from the cache": total.cacheRead > 0,
      "saved is cached tokens times the difference of the prices": Math.abs(saved - expected) < ROUNDING_USD,
    },
    facts: {
      example_price: EXAMPLE_PRICE,
      prompt_tokens: prompt,
      cache_read_tokens: total.cacheRead,
      cache_write_tokens: total.cacheWrite,
      reported_cached_tokens: reported,
      cost_usd: cost,
      saved_usd: saved,
      sessions: spent.map(({ session, calls, costUsd, savings: each }) => {
        const usage = usageOf(calls);
        return {
          session,
          calls: calls.length,
          prompt_tokens: promptTokens(usage),
          cache_read_tokens: usage.cacheRead,
          cost_usd: costUsd,
          saved_usd: each?.saved ?? null,
          hit_rate: each?.hitRate ?? null,
        };
      }),
    },
    lines: [
      `${groupThousands(total.cacheRead)} of ${groupThousands(prompt)} prompt tokens (${percentOf(total.cacheRead, prompt)} %) in ${sum(spent.map(({ calls }) => calls.length))} calls`,
      `${dollars(cost)} instead of ${dollars(cost + saved)}: ${dollars(saved)} saved`,
      `(cached: what a request shares with earlier ones; example price: $${input} a million, $${read.toFixed(2)} cached)`,
    ],
  };
}

function usageOf(calls: readonly Usage[]): Usage {
  return calls.reduce(addUsage, NO_USAGE);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function dollars(value: number): string {
  return `$${value.toFixed(4)}`;
}

function short(hash: string): string {
  return hash.slice(0, 16);
}

function journalLine(line: HistoryLine | undefined): string {
  if (line === undefined) return "has no such change";
  return `change ${line.id}, origin ${line.origin}, session ${line.session ?? "unknown"}`;
}

function memoryFile(tour: Tour, name: "MEMORY.md" | "USER.md"): string {
  return readFileSync(join(memoriesDirectory(tour.home), name), "utf8");
}

const LOG_LINES = 48;
const LINE_MINUTES = 10;
const NOTES = [
  "burner low, damper open",
  "burner half",
  "burner full, damper a third",
  "cone 5 leans",
  "soak",
];

/** A long text to paste, about 600 tokens. The same number always gives the same text. */
function firingLog(number: number): string {
  const lines = Array.from({ length: LOG_LINES }, (_, step) => {
    const minutes = step * LINE_MINUTES;
    const clock = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
    const degrees = 20 + number + Math.round((1_195 * step) / (LOG_LINES - 1)) + ((step * (number + 3)) % 7);
    return `${clock}  ${degrees} degrees, draught ${(step * 13 + number * 7) % 90} Pa, ${NOTES[Math.floor((step * NOTES.length) / LOG_LINES)]}`;
  });
  return [`Firing log ${number} of the Vesuvius kiln.`, ...lines].join("\n");
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
