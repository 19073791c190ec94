// A provider refused the request for what it contains. Which messages are left out of later requests, and what the user is told. Pure.
import {
  isRefused,
  type Message,
  REFUSED_BY_POLICY,
  toolCallsOf,
  withMeta,
} from "@hermes-memory/core/message";

/** What no accepted request has held, by how it came about. A refused message is in none of these: requests are without it already. */
type Unread = {
  /** The newest reply: an accepted request led to it, and none has held it since. */
  readonly reply: readonly Message[];
  /** Left unanswered by earlier turns. */
  readonly earlier: readonly Message[];
  /** Of this turn: the user's message, or the results of the newest calls. */
  readonly own: readonly Message[];
  /** Something was refused since the newest reply. */
  readonly isRepeated: boolean;
};

function unread(messages: readonly Message[], userMessageId: string): Unread {
  const spoken = messages.filter(({ meta }) => meta.ephemeral === undefined);
  const at = spoken.findLastIndex(({ role }) => role === "assistant");
  const behind = spoken.slice(at + 1);
  const own = Math.max(
    0,
    behind.findIndex(({ meta }) => meta.id === userMessageId),
  ); // with results behind the reply, all are of this turn
  const open = (list: readonly Message[]) => list.filter((message) => !isRefused(message));
  return {
    reply: open(spoken.slice(Math.max(0, at), at + 1)),
    earlier: open(behind.slice(0, own)),
    own: open(behind.slice(own)),
    isRepeated: behind.some(isRefused),
  };
}

/**
 * What a refused request is tried without, one after the other, before this turn's own messages are held to be the cause: the newest
 * reply, what earlier turns left unanswered, both. The first that is accepted tells which messages were refused.
 */
export function trials(messages: readonly Message[], userMessageId: string): readonly (readonly Message[])[] {
  const { reply, earlier } = unread(messages, userMessageId);
  const isMixed = reply.length > 0 && earlier.length > 0;
  return [reply, earlier, ...(isMixed ? [[...reply, ...earlier]] : [])].filter(({ length }) => length > 0);
}

/**
 * Left out from now on, when no trial was accepted: this turn's own messages. Without trials (`wasTried` false: no model calls were
 * left for them), and when the same was done before in vain, everything that no accepted request has held.
 */
export function suspects(
  messages: readonly Message[],
  userMessageId: string,
  wasTried: boolean,
): readonly Message[] {
  const { reply, earlier, own, isRepeated } = unread(messages, userMessageId);
  return isRepeated && !wasTried ? [...reply, ...earlier, ...own] : own;
}

/** The list with these marked for one request. */
export function withoutTried(messages: readonly Message[], ids: ReadonlySet<string>): readonly Message[] {
  if (ids.size === 0) return messages;
  return messages.map((message) =>
    ids.has(message.meta.id) ? withMeta(message, { finishReason: REFUSED_BY_POLICY }) : message,
  );
}

/** For the user, who has read the provider's words already. */
export function leftOutText(messages: readonly Message[]): string {
  const results = messages.filter(({ role }) => role === "tool").length;
  const typed = messages.filter(({ role }) => role === "user").length;
  const reply = messages.find(({ role }) => role === "assistant");
  const parts = [
    ...(reply === undefined
      ? []
      : [
          toolCallsOf(reply).length === 0
            ? "the model's last reply"
            : "the text and arguments of the model's last calls",
        ]),
    ...(typed === 0 ? [] : [typed === 1 ? "your message" : `${typed} messages of yours`]),
    ...(results === 0
      ? []
      : [results === 1 ? "the result of 1 tool call" : `the results of ${results} tool calls`]),
  ];
  const what = parts.join(" and ");
  return `The model's provider refused the request, so ${what} will be left out of later requests. The database keeps it, with a mark.`;
}

export const GO_ON_HINT =
  "Go on with another message, or put this one differently. /retry sends it again, for example after /model. If everything is refused, an earlier message may be the cause: take turns back with /undo, or begin anew with /new.";
