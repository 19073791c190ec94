// Expands the short form in which the compressor vectors write their messages.
import { takeCodePoints } from "../../src/lib/index.ts";

export type CompactText = { readonly pre?: string; readonly t?: string; readonly n?: number };

type CompactCall = CompactText & {
  readonly id: string;
  readonly call_id?: string;
  readonly name: string;
  readonly args?: string;
  readonly head?: string;
  readonly tail?: string;
};

export type CompactMessage = CompactText & {
  readonly r: "S" | "U" | "A" | "T";
  readonly c?: unknown;
  readonly of?: string;
  readonly calls?: readonly CompactCall[];
};

export type GoldenMessage = {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly call_id?: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
};

const ROLES = { S: "system", U: "user", A: "assistant", T: "tool" } as const;

export function expandMessage(compact: CompactMessage): GoldenMessage {
  return {
    role: ROLES[compact.r],
    ...("c" in compact ? { content: compact.c } : {}),
    ...(compact.t === undefined ? {} : { content: expandText(compact) }),
    ...(compact.of === undefined ? {} : { tool_call_id: compact.of }),
    ...(compact.calls === undefined ? {} : { tool_calls: compact.calls.map(expandCall) }),
  };
}

export function expandText({ pre = "", t = "", n = 0 }: CompactText): string {
  const unit = `${t} `;
  return pre + takeCodePoints(unit.repeat(Math.ceil(n / unit.length) + 1), n);
}

export function expandArguments(call: Pick<CompactCall, "args" | "head" | "tail" | "t" | "n">): string {
  return call.args ?? (call.head ?? "") + expandText({ t: call.t ?? "", n: call.n ?? 0 }) + (call.tail ?? "");
}

/** One letter per role, as in the vectors. */
export function roleLetters(messages: readonly { readonly role: string }[]): string {
  return messages.map(({ role }) => role.charAt(0).toUpperCase()).join("");
}

function expandCall(call: CompactCall) {
  return {
    id: call.id,
    ...(call.call_id === undefined ? {} : { call_id: call.call_id }),
    type: "function" as const,
    function: { name: call.name, arguments: expandArguments(call) },
  };
}
