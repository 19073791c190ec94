// Which answers are RetainDB's. JSON of something else in between must not count as a stored turn, or as an empty list of memories.
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { HttpCall } from "../kit/http.ts";
import { fieldsOf, numberIn, textIn } from "../kit/networked/answers.ts";
import { errorText, RetainDbError } from "./failure.ts";

export type Proof = (answer: unknown) => boolean;

/** A call, and how an answer to it is recognised. */
export type Call = HttpCall & { readonly proof?: Proof };

/** The id of a stored memory; "" when the server stores it later and has not said. */
export function memoryIdIn(answer: unknown): string {
  const { memory_id, id, memory } = fieldsOf(answer);
  return textIn(memory_id) || textIn(id) || textIn(fieldsOf(memory).id);
}

/** The server stores it later. */
const isQueued: Proof = (answer) => {
  const { job_id, status_url } = fieldsOf(answer);
  return textIn(job_id) !== "" || textIn(status_url) !== "";
};

const isDone: Proof = (answer) => fieldsOf(answer).success === true;

export const isStored: Proof = (answer) => memoryIdIn(answer) !== "" || isQueued(answer);

export const isIngested: Proof = (answer) =>
  isDone(answer) || numberIn(fieldsOf(answer).memories_created) !== undefined || isQueued(answer);

/** `{deleted: null}` is the local edition's answer for a memory that is not there. */
export const isDeleted: Proof = (answer) =>
  answer === undefined || isDone(answer) || "deleted" in fieldsOf(answer);

export const isSeed: Proof = (answer) => isDone(answer) || "seeded" in fieldsOf(answer);

export const isUploaded: Proof = (answer) => textIn(fieldsOf(fieldsOf(answer).file).id) !== "";

/** An object whose field `key` is a list of objects. */
export function hasList(key: string): Proof {
  return (answer) => {
    const list = fieldsOf(answer)[key];
    return Array.isArray(list) && list.every(isRecord);
  };
}

export function proven(answer: unknown, { proof, ...call }: Call): unknown {
  if (proof === undefined || (fieldsOf(answer).success !== false && proof(answer))) return answer;
  const message = `RetainDB did not confirm ${call.method} ${call.path}: the answer is not one that RetainDB gives. Check RETAINDB_BASE_URL.`;
  const detail = errorText(answer) ?? "";
  throw new RetainDbError({ kind: "bad-answer", message, detail, mayHaveHappened: true }, call);
}
