// A target that a benchmark fills: the store or the floor.
import type { CorpusMessage } from "../corpus/index.ts";

/** `Input`: a message in the target's form, converted before the measurement starts. */
export type Target<Input> = {
  createSession(id: string, startedAt: number): unknown;
  prepare(message: CorpusMessage): Input;
  appendOne(sessionId: string, input: Input): unknown;
  appendMany(sessionId: string, inputs: readonly Input[]): unknown;
  close(): unknown;
};
