// Feeds messages of the corpus into a target: creates each session when its first message comes, and counts the text.
import { codePointLength } from "@hermes-memory/core/internal/lib";
import { textBytesOf } from "../corpus/index.ts";
import { type Corpus, messagesOf } from "./corpus.ts";
import type { Target } from "./target.ts";

export type Totals = { readonly sessions: number; readonly chars: number; readonly textBytes: number };

export type Intake<Input> = {
  /** The next `count` messages, prepared for the target and grouped by session. */
  take(target: Target<Input>, count: number): Promise<Map<string, Input[]>>;
  /** Of all messages taken so far. */
  totals(): Totals;
};

export function intakeFrom<Input>(corpus: Corpus): Intake<Input> {
  const source = messagesOf(corpus);
  const sessions = new Set<string>();
  let chars = 0;
  let textBytes = 0;
  return {
    async take(target, count) {
      const bySession = new Map<string, Input[]>();
      for (let i = 0; i < count; i += 1) {
        const { value: message, done } = await source.next();
        if (done) break;
        chars += typeof message.content === "string" ? codePointLength(message.content) : 0;
        textBytes += textBytesOf(message);
        if (!sessions.has(message.s)) await target.createSession(message.s, message.ts);
        sessions.add(message.s);
        const inputs = bySession.get(message.s);
        if (inputs) inputs.push(target.prepare(message));
        else bySession.set(message.s, [target.prepare(message)]);
      }
      return bySession;
    },
    totals: () => ({ sessions: sessions.size, chars, textBytes }),
  };
}
