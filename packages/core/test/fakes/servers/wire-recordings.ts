// Recordings of official clients (test/golden/wires), to be sent again to a fake server, and the comparison of its answers with the recorded ones.
import { readVectors } from "../../golden/vectors.ts";
import { isObject } from "./body-check.ts";

type RecordedRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

type RecordedResponse = { readonly status: number | null; readonly body: unknown };

type Exchange = { readonly request: RecordedRequest; readonly response: RecordedResponse };

/** One line whose requests all succeeded: the last exchange, and those that the client needed before it. */
export type Recording = Exchange & {
  readonly id: string;
  readonly op: string;
  readonly before?: readonly Exchange[];
};

type Line = Omit<Recording, "request" | "response"> & {
  readonly request: RecordedRequest | null;
  readonly response: RecordedResponse | null;
};

/** The lines of a file with a request that was answered with a status below 400; undefined where the file is missing. */
export function answeredRecordings(file: string): readonly Recording[] | undefined {
  return readVectors<Line>(`wires/${file}`)?.filter(
    (line): line is Line & Recording =>
      line.request !== null &&
      line.response !== null &&
      line.response.status !== null &&
      line.response.status < 400,
  );
}

/** Sends the request to a server. `<KEY>` in a header becomes the token. */
export async function sendRecorded(
  base: string,
  request: RecordedRequest,
  token: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const url = new URL(base + request.path);
  for (const [name, values] of Object.entries(request.query))
    for (const value of [values].flat()) url.searchParams.append(name, value);
  const form =
    isObject(request.body) && "multipart" in request.body ? formOf(request.body.multipart) : undefined;
  const headers = Object.entries(request.headers)
    .filter(([name]) => form === undefined || name !== "content-type")
    .map(([name, value]): [string, string] => [name, value.replace("<KEY>", token)]);
  const json = request.body === null ? undefined : JSON.stringify(request.body);
  const response = await fetch(url, { method: request.method, headers, body: form ?? json });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

type RecordedPart = {
  readonly name: string;
  readonly filename?: string;
  readonly content_type?: string;
  readonly value: string;
};

const EMPTY_ZIP = Buffer.concat([Buffer.from("PK\x05\x06"), Buffer.alloc(18)]);

function formOf(parts: unknown): FormData {
  const form = new FormData();
  for (const { name, filename, content_type: type, value } of parts as readonly RecordedPart[])
    if (filename === undefined) form.append(name, value);
    else
      form.append(
        name,
        new Blob([value === "<zip bytes>" ? EMPTY_ZIP : value], type === undefined ? {} : { type }),
        filename,
      );
  return form;
}

/**
 * Where an answer lacks a key of the recorded one or has a value of another type there. A recorded null fits every value, an empty list
 * fits every list, and the answer may have more keys.
 */
export function shapeDifferences(recorded: unknown, answer: unknown, place = "$"): readonly string[] {
  if (recorded === null) return answer === undefined ? [`${place} is missing`] : [];
  if (Array.isArray(recorded)) {
    if (!Array.isArray(answer)) return [`${place} is not a list`];
    const [first] = recorded;
    if (first === undefined) return [];
    return answer.flatMap((item, index) => shapeDifferences(first, item, `${place}[${index}]`));
  }
  if (isObject(recorded)) {
    if (!isObject(answer)) return [`${place} is not an object`];
    return Object.entries(recorded).flatMap(([key, value]) =>
      shapeDifferences(value, answer[key], `${place}.${key}`),
    );
  }
  return typeof answer === typeof recorded ? [] : [`${place} is ${typeof answer}, not ${typeof recorded}`];
}
