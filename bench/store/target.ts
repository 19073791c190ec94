// What can be filled: the store or the floor.
import type { CorpusMessage } from "../corpus/index.ts";

/** `Input` is what a message is turned into before the clock runs. */
export type Target<Input> = {
  createSession(id: string, startedAt: number): unknown;
  prepare(message: CorpusMessage): Input;
  appendOne(sessionId: string, input: Input): unknown;
  appendMany(sessionId: string, inputs: readonly Input[]): unknown;
  close(): unknown;
};
