// Every question of a conversation, exactly as it stands: sessions through the tool a model calls, messages directly.
import { type SessionStore, sessionSearchTool } from "../../src/sessions/index.ts";
import { foundSessions } from "../search/tool-answer.ts";
import type { Conversation } from "./locomo.ts";
import type { Found } from "./share.ts";

export type Outcome = {
  readonly sessions: Found<string>;
  readonly messages: Found<string>;
  /** Of each search that was made. */
  readonly ms: readonly number[];
};

export async function ask(
  store: SessionStore,
  { questions, meetings }: Conversation,
  turnOf: ReadonlyMap<number, string>,
): Promise<Outcome[]> {
  const meetingOf = new Map(meetings.flatMap(({ id, turns }) => turns.map((turn) => [turn.id, id] as const)));
  const outcomes: Outcome[] = [];
  for (const { text, evidence } of questions) {
    const calledAt = performance.now();
    const answer = await sessionSearchTool(store, { query: text, limit: 10 });
    const answeredAt = performance.now();
    const rows = await store.searchMessages(text, { limit: 20 });
    const ms = [answeredAt - calledAt, performance.now() - answeredAt];
    const meetingsWanted = [...evidence].flatMap((turn) => meetingOf.get(turn) ?? []);
    outcomes.push({
      sessions: { answers: foundSessions(answer), wanted: new Set(meetingsWanted) },
      messages: { answers: rows.map(({ id }) => turnOf.get(id) ?? ""), wanted: evidence },
      ms,
    });
  }
  return outcomes;
}
