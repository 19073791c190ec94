// Asks every question of a database unchanged: for sessions through the model's tool, for messages directly.
import { type SessionStore, sessionSearchTool } from "@hermes-memory/core/internal/sessions";
import { foundSessions } from "../search/tool-answer.ts";
import type { Database } from "./question-types.ts";
import type { Found } from "./share.ts";

type Outcome = {
  readonly sessions: Found<string>;
  readonly messages: Found<string>;
  readonly confidence: Sureness;
  /** Of each search. */
  readonly ms: readonly number[];
};

/** How sure the store is of an answer. */
export type Sureness = { readonly score: number; readonly isWeak: boolean };

export type Answers = {
  readonly outcomes: readonly Outcome[];
  readonly unanswerable: readonly Sureness[];
  readonly foreign: readonly Sureness[];
};

const NOTHING_FOUND: Sureness = { score: 0, isWeak: true };

export async function ask(
  store: SessionStore,
  { questions, unanswerable, foreign }: Database,
  turnOf: ReadonlyMap<number, string>,
): Promise<Answers> {
  const outcomes: Outcome[] = [];
  for (const { text, turns, meetings } of questions) {
    const calledAt = performance.now();
    const answer = await sessionSearchTool(store, { query: text, limit: 10 });
    const answeredAt = performance.now();
    const { hits, confidence } = await store.search(text, { limit: 20 });
    const ms = [answeredAt - calledAt, performance.now() - answeredAt];
    outcomes.push({
      sessions: { answers: foundSessions(answer), wanted: meetings },
      messages: { answers: hits.map(({ id }) => turnOf.get(id) ?? ""), wanted: turns },
      confidence: confidence ?? NOTHING_FOUND,
      ms,
    });
  }
  const sureOf = async (texts: readonly string[]) => {
    const found: Sureness[] = [];
    for (const text of texts)
      found.push((await store.search(text, { limit: 1 })).confidence ?? NOTHING_FOUND);
    return found;
  };
  return { outcomes, unanswerable: await sureOf(unanswerable), foreign: await sureOf(foreign) };
}
