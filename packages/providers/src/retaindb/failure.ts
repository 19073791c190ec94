// A request of RetainDB that failed: what was asked, the server's own words, and the text for the model.
import { type HttpCall, type HttpFailure, ServiceError } from "../kit/http.ts";
import { fieldsOf, recordsOf, textIn } from "../kit/networked/answers.ts";

/** A failed request, with what was asked. */
export class RetainDbError extends ServiceError {
  readonly call: HttpCall;

  constructor(failure: HttpFailure, call: HttpCall) {
    super(failure);
    this.name = "RetainDbError";
    this.call = call;
  }

  /** The path, or what it names, does not exist. */
  get isUnknown(): boolean {
    return this.failure.status === 404 || this.failure.status === 405;
  }
}

/** For an answer of a tool. */
export function failureText({ call, failure }: RetainDbError): string {
  const { status, detail, message } = failure;
  if (status === undefined) return message;
  return `RetainDB ${call.method} ${call.path} failed (${status}): ${detail || message}`;
}

/** The words in an error of the server. */
export function errorText(body: unknown): string | undefined {
  const { error, message } = fieldsOf(body);
  const inner = fieldsOf(error);
  const [issue] = recordsOf(inner.issues);
  const candidates = [inner.message, error, message, issue?.message, inner.code];
  return candidates.map(textIn).find((text) => text !== "");
}
