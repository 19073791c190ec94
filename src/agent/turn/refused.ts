// A provider refused the request for what it contains. Which messages are left out of later requests, and what the user is told. Pure.
import { toolCallsOf } from "../../context/index.ts";
import { isRefused } from "../../sessions/index.ts";
import type { AgentMessage } from "../message.ts";

/**
 * The messages that no accepted request has held: those of this turn behind the newest reply. When that was tried before and the
 * request was refused all the same, also what was left unanswered by earlier turns, and the calls whose results are left out.
 */
export function suspects(messages: readonly AgentMessage[], userMessageId: string): readonly AgentMessage[] {
  const spoken = messages.filter(({ _ephemeral }) => _ephemeral === undefined);
  const reply = spoken.findLastIndex(({ role }) => role === "assistant");
  const unanswered = spoken.slice(reply + 1);
  const earlier = spoken[reply];
  if (unanswered.some(isRefused)) {
    const calls = earlier !== undefined && toolCallsOf(earlier).length > 0 ? [earlier] : [];
    return [...calls, ...unanswered].filter((message) => !isRefused(message));
  }
  const own = unanswered.findIndex(({ _id }) => _id === userMessageId);
  return unanswered.slice(Math.max(0, own));
}

/** For the user, who has read the provider's words already. */
export function leftOutText(messages: readonly AgentMessage[]): string {
  const results = messages.filter(({ role }) => role === "tool").length;
  const calls = messages.filter(({ role }) => role === "assistant").length;
  const typed = messages.filter(({ role }) => role === "user").length;
  const parts = [
    ...(typed === 0 ? [] : [typed === 1 ? "your message" : `${typed} messages of yours`]),
    ...(results === 0
      ? []
      : [results === 1 ? "the result of 1 tool call" : `the results of ${results} tool calls`]),
    ...(calls === 0 ? [] : ["the arguments of the calls before them"]),
  ];
  const what = parts.join(" and ");
  return `The model's provider refused the request, so ${what} will be left out of later requests. The database keeps it, with a mark.`;
}

export const GO_ON_HINT =
  "Go on with another message, or put this one differently. /retry sends it again, for example after /model. If everything is refused, an earlier message may be the cause: take turns back with /undo, or begin anew with /new.";
