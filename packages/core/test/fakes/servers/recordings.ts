// Recordings of official clients (golden/wires), sent again to a fake, and a comparison of the shape of the answers.
import { readVectors } from "../../golden/vectors.ts";
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

type Recording = Exchange & {
  readonly id: string;
  readonly op: string;
  readonly before?: readonly Exchange[];
};

/** One request that a client sent and that was answered with success. */
export type Replay = {
  readonly id: string;
  readonly op: string;
  readonly request: RecordedRequest;
  readonly status: number;
  readonly body: unknown;
};

/** All successful requests of a file in their order; undefined where another set of vectors lacks the file. */
export function replaysOf(provider: string): readonly Replay[] | undefined {
  return readVectors<Recording>(`wires/${provider}.jsonl`)?.flatMap(({ id, op, before = [], ...last }) =>
    [...before, last].flatMap(({ request, response }) => {
      const status = response?.status ?? 599;
      const isOurs = request !== null && !request.path.startsWith("/__other_host__");
      return isOurs && status < 400 ? [{ id, op, request, status, body: response?.body }] : [];
    }),
  );
}

export type Answer = { readonly status: number; readonly body: unknown };

/** Sends it with the key in the place of the placeholder. */
export async function sendAgain(base: string, key: string, { request }: Replay): Promise<Answer> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query))
    for (const each of [value].flat()) query.append(name, each);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, value.replace("<KEY>", key));
  const form = formOf(request.body);
  if (form !== undefined) headers.delete("content-type"); // fetch sets it, with the boundary
  const response = await fetch(`${base}${request.path}${query.size === 0 ? "" : `?${query}`}`, {
    method: request.method,
    headers,
    body: form ?? (request.body === null ? undefined : JSON.stringify(request.body)),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}

function formOf(body: unknown): FormData | undefined {
  const parts = (body as { multipart?: readonly (FormPart & { content_type?: string })[] } | null)?.multipart;
  if (parts === undefined) return undefined;
  const form = new FormData();
  for (const { name, filename, value, content_type } of parts)
    if (filename === undefined) form.append(name, value);
    else form.append(name, new Blob([value], { type: content_type ?? "" }), filename);
  return form;
}

/**
 * Where an answer differs in shape from the recorded one; undefined: nowhere. Objects have the same keys, a list has elements that are each
 * like one of the recorded elements (or none), null was recorded for a field that may hold anything, metadata is whatever was stored.
 */
export function shapeProblem(recorded: unknown, answered: unknown, place = "body"): string | undefined {
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
