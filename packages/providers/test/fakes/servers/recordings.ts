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
