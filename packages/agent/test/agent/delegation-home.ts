// An agent that delegates to children; requests of parent and children are recorded separately.

import type { RecordedRequest, Step } from "../fakes/wires/script.ts";
import type { AgentSetting } from "./agent-home.ts";
import { toolResults } from "./review-home.ts";
import { type TurnHome, turnHome } from "./turns.ts";

type ChildResult = {
  readonly task_index: number;
  readonly status: string;
  readonly summary: string | null;
  readonly exit_reason: string;
  readonly error?: string;
  readonly [field: string]: unknown;
};

export type DelegationSetting = AgentSetting & {
  /** The parent's first reply; afterwards: `Done.` */
  readonly parent?: readonly Step[];
  /** A child's reply to its goal; `nth` counts the requests with that goal. Default: `Did <goal>.` */
  readonly child?: (goal: string, nth: number, request: RecordedRequest) => Step | Promise<Step>;
};

export type DelegationHome = TurnHome & {
  readonly parentRequests: RecordedRequest[];
  /** The child's requests, by goal. */
  readonly childRequests: ReadonlyMap<string, RecordedRequest[]>;
  /** The newest answer of `delegate_task`. */
  answer(): {
    readonly results: readonly ChildResult[];
    readonly error?: string;
    readonly total_duration_seconds: number;
  };
};

export function delegate(args: Readonly<Record<string, unknown>>): Step {
  return { toolCalls: [{ name: "delegate_task", arguments: args }] };
}

export async function delegationHome(setting: DelegationSetting): Promise<DelegationHome> {
  const { parent = [], child = (goal) => ({ text: `Did ${goal}.` }) } = setting;
  const parentRequests: RecordedRequest[] = [];
  const childRequests = new Map<string, RecordedRequest[]>();
  const made = await turnHome((request) => {
    const goal = goalOf(request);
    if (goal === undefined) return parent[parentRequests.push(request) - 1] ?? { text: "Done." };
    const requests = childRequests.get(goal) ?? [];
    childRequests.set(goal, requests);
    return child(goal, requests.push(request) - 1, request);
  }, setting);
  return {
    ...made,
    parentRequests,
    childRequests,
    answer: () => {
      const last = parentRequests.at(-1);
      return JSON.parse((last === undefined ? undefined : toolResults(last).at(-1)) ?? "{}");
    },
  };
}

/** The goal in a request of a child. */
function goalOf({ messages }: RecordedRequest): string | undefined {
  const [first] = messages;
  return /^Your task:\n(.*)/.exec(String(first?.content))?.[1];
}

export function requestsOf({ childRequests }: DelegationHome, goal: string): readonly RecordedRequest[] {
  return childRequests.get(goal) ?? [];
}
