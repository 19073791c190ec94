// An agent that hands work to children, with the model's part in each told apart.

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
  /** What the parent's model says first; afterwards: `Done.` */
  readonly parent?: readonly Step[];
  /** What a child's model says to its goal; `nth` counts the requests with that goal. Default: `Did <goal>.` */
  readonly child?: (goal: string, nth: number, request: RecordedRequest) => Step | Promise<Step>;
};

export type DelegationHome = TurnHome & {
  readonly parentRequests: RecordedRequest[];
  /** By goal. */
  readonly childRequests: ReadonlyMap<string, RecordedRequest[]>;
  /** What `delegate_task` answered the parent's model last. */
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

/** Of a request that a child makes. */
function goalOf({ messages }: RecordedRequest): string | undefined {
  const [first] = messages;
  return /^Your task:\n(.*)/.exec(String(first?.content))?.[1];
}

export function requestsOf({ childRequests }: DelegationHome, goal: string): readonly RecordedRequest[] {
  return childRequests.get(goal) ?? [];
}
