// The recorded requests of official clients (golden/wires), and how to send them to a fake again.
import { readVectors } from "../../../../core/test/golden/vectors.ts";
import type { FormPart } from "./fake-server.ts";

type RecordedRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

type Exchange = {
  readonly request: RecordedRequest | null;
  readonly response: { readonly status: number | null; readonly body: unknown } | null;
};

export type Recording = Exchange & {
  readonly id: string;
  readonly op: string;
  readonly before?: readonly Exchange[];
};

/** A request of a recording that was answered with success, and the answer. */
export type Recorded = { readonly request: RecordedRequest; readonly status: number; readonly body: unknown };

export function readRecordings(provider: string): readonly Recording[] | undefined {
  return readVectors<Recording>(`wires/${provider}.jsonl`);
}

/** The requests of a recording that succeeded, in the order they were sent. */
export function successesOf(recording: Recording): readonly Recorded[] {
  return [...(recording.before ?? []), recording].flatMap(({ request, response }) => {
    const status = response?.status ?? 599;
    return request === null || status >= 400 ? [] : [{ request, status, body: response?.body }];
  });
}

/** A line whose last request succeeded. */
export type AnsweredRecording = Recording & {
  readonly request: RecordedRequest;
  readonly response: { readonly status: number; readonly body: unknown };
};

export function answeredRecordings(provider: string): readonly AnsweredRecording[] | undefined {
  return readRecordings(provider)?.filter(
    (line): line is AnsweredRecording => line.request !== null && (line.response?.status ?? 599) < 400,
  );
}

export type Answer = { readonly status: number; readonly body: unknown };

/** Sends a recorded request; `<KEY>` in its headers becomes the key. A body that is no JSON is answered as text. */
export async function replay(url: string, recorded: RecordedRequest, key: string): Promise<Answer> {
  const target = new URL(`${url}${recorded.path}`);
  for (const [name, values] of Object.entries(recorded.query))
    for (const value of [values].flat()) target.searchParams.append(name, value);
  const parts = (recorded.body as { multipart?: readonly MultipartPart[] } | null)?.multipart;
  const headers = new Headers();
  for (const [name, value] of Object.entries(recorded.headers))
    if (parts === undefined || name !== "content-type") headers.set(name, value.replace("<KEY>", key));
  const body = parts === undefined ? jsonOf(recorded.body) : formOf(parts);
  return request(target, { method: recorded.method, headers, ...(body === undefined ? {} : { body }) });
}

/** The status and the JSON of an answer; a body that is no JSON as text, an empty one as undefined. */
export async function request(url: URL | string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (text === "") return { status: response.status, body: undefined };
  try {
    return { status: response.status, body: JSON.parse(text) };
  } catch {
    return { status: response.status, body: text };
  }
}

/** Where the answer lacks a key of the recorded one or has a value of another type. Null in the recorded answer fits everything. */
export function shapeDifferences(recorded: unknown, actual: unknown, at = "answer"): readonly string[] {
  if (recorded === null || recorded === undefined) return [];
  if (typeOf(recorded) !== typeOf(actual)) return [`${at}: ${typeOf(actual)} instead of ${typeOf(recorded)}`];
  if (Array.isArray(recorded)) {
    const [first] = recorded;
    return (actual as unknown[]).flatMap((item, index) => shapeDifferences(first, item, `${at}[${index}]`));
  }
  if (typeof recorded !== "object") return [];
  return Object.entries(recorded).flatMap(([key, value]) =>
    key in (actual as object)
      ? shapeDifferences(value, (actual as Record<string, unknown>)[key], `${at}.${key}`)
      : [`${at}.${key} is missing`],
  );
}

type MultipartPart = Omit<FormPart, "contentType"> & { readonly content_type?: string };

const EMPTY_ZIP = Buffer.concat([Buffer.from("PK\x05\x06"), Buffer.alloc(18)]);

function jsonOf(body: unknown): string | undefined {
  return body === null || body === undefined ? undefined : JSON.stringify(body);
}

function formOf(parts: readonly MultipartPart[]): FormData {
  const form = new FormData();
  for (const { name, filename, content_type = "", value } of parts)
    if (filename === undefined) form.append(name, value);
    else
      form.append(
        name,
        new Blob([value === "<zip bytes>" ? EMPTY_ZIP : value], { type: content_type }),
        filename,
      );
  return form;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}

/** One request that a client sent and that was answered with success. */
export type Replay = Recorded & { readonly id: string; readonly op: string };

/** All successful requests of a file in their order; undefined where another set of vectors lacks the file. */
export function replaysOf(provider: string): readonly Replay[] | undefined {
  return readRecordings(provider)?.flatMap((recording) =>
    successesOf(recording)
      .filter(({ request }) => !request.path.startsWith("/__other_host__"))
      .map((recorded) => ({ ...recorded, id: recording.id, op: recording.op })),
  );
}

/** Recordings whose request the server refuses with 400, and those whose answer was the recorder's own shape. */
export type Exceptions = { readonly refused: ReadonlySet<string>; readonly otherShape: ReadonlySet<string> };

/** Sends it with the key in the place of the placeholder. What is wrong with the answer; undefined: nothing. */
export async function replayProblem(
  base: string,
  key: string,
  recorded: Replay,
  { refused, otherShape }: Exceptions,
): Promise<string | undefined> {
  const { id, op } = recorded;
  const { status, body = null } = await replay(base, recorded.request, key);
  if (refused.has(id)) return status === 400 ? undefined : `${id}: ${status} instead of 400`;
  if (Math.floor(status / 100) !== Math.floor(recorded.status / 100))
    return `${id} ${op}: ${status} ${JSON.stringify(body)}`;
  const problem = otherShape.has(id) ? undefined : shapeProblem(recorded.body, body);
  return problem && `${id} ${op}: ${problem}`;
}

/**
 * Where an answer differs in shape from the recorded one; undefined: nowhere. Objects have the same keys, a list has elements that are each
 * like one of the recorded elements (or none), null was recorded for a field that may hold anything, metadata is whatever was stored.
 */
function shapeProblem(recorded: unknown, answered: unknown, place = "body"): string | undefined {
  if (recorded === null || recorded === undefined) return undefined;
  if (Array.isArray(recorded)) {
    if (!Array.isArray(answered)) return `${place} is not a list`;
    const problems = answered.map((element, index) => {
      const each = recorded.map((like) => shapeProblem(like, element, `${place}[${index}]`));
      return each.includes(undefined) ? undefined : each[0];
    });
    return problems.find((problem) => problem !== undefined);
  }
  if (typeof recorded !== "object")
    return typeof answered === typeof recorded ? undefined : `${place} is not a ${typeof recorded}`;
  if (typeof answered !== "object" || answered === null) return `${place} is not an object`;
  const keys = new Set([...Object.keys(recorded), ...Object.keys(answered)]);
  for (const key of keys) {
    if (!Object.hasOwn(answered, key)) return `${place}.${key} is missing`;
    if (!Object.hasOwn(recorded, key)) return `${place}.${key} was not recorded`;
    if (key === "metadata") continue;
    const [like, value] = [recorded, answered].map((each) => (each as Record<string, unknown>)[key]);
    const problem = shapeProblem(like, value, `${place}.${key}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
