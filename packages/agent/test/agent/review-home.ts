// An agent whose turns are followed by a review; requests of turns and of reviews are recorded separately.
import { join } from "node:path";
import { type HistoryLine, MemoryStore } from "@hermes-memory/core/internal/curated";
import { type HomeStore, openSessionStore } from "@hermes-memory/core/internal/sessions";
import type { Agent, AgentEvent } from "../../src/agent/index.ts";
import { readReviewCounts } from "../../src/review/index.ts";
import type { RecordedRequest, Step } from "../fakes/wires/script.ts";
import { type AgentHome, type AgentSetting, agentHome } from "./agent-home.ts";

export type ReviewSetting = AgentSetting & {
  /** The replies of the reviewing model, over all reviews. After the last one: nothing to save. */
  readonly review?: readonly Step[] | ((request: RecordedRequest, nth: number) => Step | Promise<Step>);
  /** The model's replies in turns. Default: `Answer <n>.` */
  readonly turn?: (request: RecordedRequest, nth: number) => Step | Promise<Step>;
};

export type ReviewHome = AgentHome & {
  /** Indexes of the requests of reviews and of turns. */
  readonly reviewRequests: RecordedRequest[];
  readonly turnRequests: RecordedRequest[];
  /** Resolves with the last event when this many reviews have ended. */
  reviewed(count?: number): Promise<AgentEvent & { readonly type: "review-end" }>;
};

const MARK = "Only the memory and skill tools may be called now";

export function isReview({ messages }: RecordedRequest): boolean {
  return messages.some((message) => JSON.stringify(message).includes(MARK));
}

/** By default: a review of memory after every turn, none of skills. */
export async function reviewHome(setting: ReviewSetting = {}): Promise<ReviewHome> {
  const { review = [], turn = (_request, nth) => ({ text: `Answer ${nth}.` }), config = {} } = setting;
  const reviewRequests: RecordedRequest[] = [];
  const turnRequests: RecordedRequest[] = [];
  const made = await agentHome(
    (request) => {
      const requests = isReview(request) ? reviewRequests : turnRequests;
      const nth = requests.push(request) - 1;
      if (requests === turnRequests) return turn(request, nth);
      return typeof review === "function" ? review(request, nth) : (review[nth] ?? NOTHING);
    },
    {
      ...setting,
      config: {
        ...config,
        memory: { nudge_interval: 1, ...(config.memory as object) },
        skills: { creation_nudge_interval: 0, ...(config.skills as object) },
      },
      options: { review: true, waitForRetry: async () => undefined, ...setting.options },
    },
  );
  const reviewed: ReviewHome["reviewed"] = async (count = 1) => {
    const ends = await eventsOf(made, "review-end", count);
    const end = ends[count - 1];
    if (end === undefined) throw new Error("it has not ended");
    return end;
  };
  return { ...made, reviewRequests, turnRequests, reviewed };
}

export const NOTHING: Step = { text: "Nothing to save." };

export function remember(content: string, target = "user"): Step {
  return { toolCalls: [{ name: "memory", arguments: { action: "add", target, content } }] };
}

/** Resolves with the events of a type as soon as there are this many. */
async function eventsOf<T extends AgentEvent["type"]>(
  { agent, events }: Pick<AgentHome, "agent" | "events">,
  type: T,
  count = 1,
): Promise<readonly (AgentEvent & { readonly type: T })[]> {
  const isOfType = (event: AgentEvent): event is AgentEvent & { readonly type: T } => event.type === type;
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (events.filter(isOfType).length >= count) resolve();
  };
  const stop = agent.onEvent(look); // after the listener that fills `events`
  look();
  await promise;
  stop();
  return events.filter(isOfType);
}

export function notices(events: readonly AgentEvent[], cause = "review-failed"): readonly string[] {
  return events.flatMap((event) => (event.type === "notice" && event.cause === cause ? [event.text] : []));
}

export async function memoryHistory(home: string): Promise<readonly HistoryLine[]> {
  const store = new MemoryStore({ dir: join(home, "memories") });
  await store.load();
  return store.history();
}

export async function countsOf(agent: Agent) {
  return withSessions(agent, async (store) => readReviewCounts(await store.getMeta("hermes_memory_review")));
}

/** The tool results in the last request of a list. */
export function toolResults({ messages }: RecordedRequest): readonly string[] {
  return messages.flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));
}

/** With the sessions of everybody. */
async function withSessions<T>({ home }: Agent, work: (store: HomeStore) => Promise<T>): Promise<T> {
  await using store = await openSessionStore({ path: join(home, "state.db") });
  return await work(store);
}
