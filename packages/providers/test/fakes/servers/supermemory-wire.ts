// Checks, times and refusals of the Supermemory wire.
import type { FakeReply } from "./fake-server.ts";
import {
  type Check,
  type Fields,
  fieldProblem,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  oneOf,
  text,
  textLike,
} from "./strict.ts";
import type { Hit } from "./supermemory-store.ts";

export const TAG = textLike(/^[A-Za-z0-9_.-]{1,100}$/, "is not 1 to 100 letters, digits, '-', '_' or '.'");
export const TAGS = listOf(TAG, 1);
export const CONTEXT = text(0, 1500);

export const METADATA: Check = (value) => {
  if (!isObject(value)) return "is not an object";
  const isPlain = (each: unknown) =>
    ["string", "number", "boolean"].includes(typeof each) ||
    (Array.isArray(each) && each.every((element) => typeof element === "string"));
  const wrong = Object.keys(value).find((key) => !isPlain(value[key]));
  return wrong === undefined
    ? undefined
    : `.${wrong} is not a string, a number, a boolean or a list of strings`;
};

export const DOCUMENT_FIELDS: Fields = {
  metadata: METADATA,
  entityContext: CONTEXT,
  customId: TAG,
  title: text(),
  taskType: oneOf("memory", "superrag"),
  filepath: text(),
};

export const CONTAINER_FIELDS: Fields = { containerTag: TAG, containerTags: TAGS };

const FILTER: Check = objectOf({ key: text(), value: text() });
export const FILTERS: Check = objectOf({}, { AND: listOf(FILTER, 1), OR: listOf(FILTER, 1) });

export function passes(filters: JsonObject | undefined, hit: Hit): boolean {
  const { metadata } = hit.kind === "memory" ? hit.memory : hit.document;
  const { AND = [], OR } = (filters ?? {}) as {
    AND?: readonly { key: string; value: string }[];
    OR?: readonly { key: string; value: string }[];
  };
  const fits = ({ key, value }: { key: string; value: string }) => String(metadata?.[key]) === value;
  return AND.every(fits) && (OR === undefined || OR.some(fits));
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function invalid(details: string): FakeReply {
  return { status: 400, body: { error: "Invalid request parameters", details } };
}

export function notFound(): FakeReply {
  return { status: 404, body: { error: "Not found" } };
}

export function refused(fields: unknown, required: Fields, optional: Fields = {}): FakeReply | undefined {
  const problem = fieldProblem(fields, required, optional);
  return problem === undefined ? undefined : invalid(problem.message);
}
