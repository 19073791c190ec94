// What strict fakes share: a table of routes, and checks that refuse unknown, missing and wrong fields of a body or a query.
import type { FakeReply, SeenRequest } from "./fake-server.ts";

export type Route = {
  readonly method: string;
  /** Of the whole path; its groups are decoded and given to `answer`. */
  readonly path: RegExp;
  readonly answer: (request: SeenRequest, ...ids: readonly string[]) => FakeReply;
};

/** The answer of the first route that fits; else whether the path or only the method is unknown. */
export function route(routes: readonly Route[], request: SeenRequest): FakeReply | "no-path" | "no-method" {
  let isKnownPath = false;
  for (const { method, path, answer } of routes) {
    const match = path.exec(request.path);
    if (match === null) continue;
    isKnownPath = true;
    if (method === request.method) return answer(request, ...match.slice(1).map(decodeURIComponent));
  }
  return isKnownPath ? "no-method" : "no-path";
}

/** What is wrong with a value, as the end of a sentence that begins with the field; undefined: nothing. */
export type Check = (value: unknown) => string | undefined;

export type Fields = Readonly<Record<string, Check>>;

export type FieldProblem = {
  readonly field: string;
  readonly kind: "unknown" | "missing" | "wrong";
  readonly message: string;
};

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The first problem of a body or a query; undefined: it has all required fields and no others than these. */
export function fieldProblem(
  body: unknown,
  required: Fields,
  optional: Fields = {},
): FieldProblem | undefined {
  if (!isObject(body)) return { field: "body", kind: "wrong", message: "body is not a JSON object" };
  for (const [field, value] of Object.entries(body)) {
    const check = own(required, field) ?? own(optional, field);
    if (check === undefined) return { field, kind: "unknown", message: `${field} is an unknown field` };
    const wrong = check(value);
    if (wrong !== undefined) return { field, kind: "wrong", message: `${field} ${wrong}` };
  }
  const field = Object.keys(required).find((name) => !Object.hasOwn(body, name));
  return field === undefined ? undefined : { field, kind: "missing", message: `${field} is required` };
}

function own(fields: Fields, name: string): Check | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

// ---- Checks

export const isBoolean: Check = (value) => (typeof value === "boolean" ? undefined : "is not a boolean");

export const anyObject: Check = (value) => (isObject(value) ? undefined : "is not an object");

/** Lengths in characters. */
export function text(min = 1, max = Number.POSITIVE_INFINITY): Check {
  return (value) => {
    if (typeof value !== "string") return "is not a string";
    if (value.length < min) return `is shorter than ${min}`;
    return value.length > max ? `is longer than ${max}` : undefined;
  };
}

export function textLike(pattern: RegExp, rule: string): Check {
  return (value) => (typeof value === "string" && pattern.test(value) ? undefined : rule);
}

export function oneOf(...values: readonly unknown[]): Check {
  return (value) => (values.includes(value) ? undefined : `is none of ${JSON.stringify(values)}`);
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Check {
  return (value) => {
    if (!Number.isSafeInteger(value)) return "is not an integer";
    return (value as number) < min || (value as number) > max ? `is not in ${min}..${max}` : undefined;
  };
}

/** An integer in a query, where every value is a string. */
export function queryInteger(min: number, max = Number.MAX_SAFE_INTEGER): Check {
  const check = integer(min, max);
  return (value) =>
    typeof value === "string" && /^-?\d+$/.test(value) ? check(Number(value)) : "is not an integer";
}

export function between(min: number, max: number): Check {
  return (value) =>
    typeof value === "number" && value >= min && value <= max
      ? undefined
      : `is not a number in ${min}..${max}`;
}

export function listOf(check: Check, min = 0): Check {
  return (value) => {
    if (!Array.isArray(value)) return "is not a list";
    if (value.length < min) return `has fewer than ${min} elements`;
    const wrong = value.findIndex((each) => check(each) !== undefined);
    return wrong < 0 ? undefined : `[${wrong}] ${check(value[wrong])}`;
  };
}

export function objectOf(required: Fields, optional: Fields = {}): Check {
  return (value) => {
    const problem = fieldProblem(value, required, optional);
    return problem === undefined ? undefined : `has a problem: ${problem.message}`;
  };
}

export function nullable(check: Check): Check {
  return (value) => (value === null ? undefined : check(value));
}

export function either(first: Check, second: Check): Check {
  return (value) => (first(value) === undefined ? undefined : second(value));
}
