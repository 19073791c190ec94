// Conversations for tests, described by their shape: turns and tool results of a given number of characters.
import { type Message, newMessage } from "../../src/message/index.ts";

let made = 0;

/** Words that occur in no other message of the process, cut to the length. */
export function filler(chars: number): string {
  made += 1;
  return `w${made} `.repeat(Math.ceil(chars / 3)).slice(0, chars);
}

export const system = (chars = 200): Message => newMessage({ role: "system", content: filler(chars) });
export const user = (chars = 60): Message => newMessage({ role: "user", content: filler(chars) });
export const assistant = (chars = 60): Message =>
  newMessage({ role: "assistant", content: filler(chars), toolCalls: [] });

/** User first. */
export function alternating(count: number, chars: number, first: "user" | "assistant" = "user"): Message[] {
  const [one, other] = first === "user" ? [user, assistant] : [assistant, user];
  return Array.from({ length: count }, (_, index) => (index % 2 === 0 ? one(chars) : other(chars)));
}

/** One message with a call per size, followed by the results. */
export function toolGroup(...resultChars: readonly number[]): Message[] {
  const ids = resultChars.map(() => {
    made += 1;
    return `call_${made}`;
  });
  const toolCalls = ids.map((id) => ({
    id,
    name: "read_file",
    arguments: JSON.stringify({ path: `src/${id}.ts` }),
  }));
  return [
    newMessage({ role: "assistant", content: "", toolCalls }),
    ...resultChars.map((chars, index) =>
      newMessage({ role: "tool", toolCallId: ids[index] ?? "", content: filler(chars) }),
    ),
  ];
}

export function toolRounds(count: number, chars: number): Message[] {
  return Array.from({ length: count }, () => toolGroup(chars)).flat();
}

/** A list that throws when it is changed. */
export function frozen(messages: readonly Message[]): readonly Message[] {
  return freeze(messages);
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
