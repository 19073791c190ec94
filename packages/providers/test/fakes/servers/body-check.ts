// Checks of request bodies for the fakes whose real servers are written with FastAPI: what is wrong is listed the way pydantic lists it.

/** One entry of the list that FastAPI answers with. */
export type Problem = {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
};

type Place = readonly (string | number)[];

export type Check = (value: unknown, loc: Place) => readonly Problem[];

/** The problems of a body; those of unknown fields are told apart by their type `extra_forbidden`. */
export function problemsOf(body: unknown, check: Check): readonly Problem[] {
  return check(body, ["body"]);
}

export function text({ min = 0, pattern }: { readonly min?: number; readonly pattern?: RegExp } = {}): Check {
  return (value, loc) => {
    if (typeof value !== "string")
      return [{ type: "string_type", loc, msg: "Input should be a valid string" }];
    if (value.trim().length < min)
      return [{ type: "string_too_short", loc, msg: `String should have at least ${min} character` }];
    if (pattern !== undefined && !pattern.test(value))
      return [{ type: "value_error", loc, msg: `Value error, not of the form ${pattern.source}` }];
    return [];
  };
}

export const flag: Check = (value, loc) =>
  typeof value === "boolean" ? [] : [{ type: "bool_type", loc, msg: "Input should be a valid boolean" }];

export function integer({ min = Number.NEGATIVE_INFINITY }: { readonly min?: number } = {}): Check {
  return (value, loc) => {
    if (!Number.isInteger(value)) return [{ type: "int_type", loc, msg: "Input should be a valid integer" }];
    if ((value as number) < min)
      return [{ type: "greater_than_equal", loc, msg: `Input should be greater than or equal to ${min}` }];
    return [];
  };
}

export const number: Check = (value, loc) =>
  typeof value === "number" ? [] : [{ type: "float_type", loc, msg: "Input should be a valid number" }];

export function oneOf(...values: readonly string[]): Check {
  return (value, loc) =>
    typeof value === "string" && values.includes(value)
      ? []
      : [{ type: "literal_error", loc, msg: `Input should be '${values.join("' or '")}'` }];
}

export function listOf(item: Check, { min = 0, max = Number.POSITIVE_INFINITY } = {}): Check {
  return (value, loc) => {
    if (!Array.isArray(value)) return [{ type: "list_type", loc, msg: "Input should be a valid list" }];
    if (value.length < min) return [{ type: "too_short", loc, msg: `List should have at least ${min} item` }];
    if (value.length > max) return [{ type: "too_long", loc, msg: `List should have at most ${max} items` }];
    return value.flatMap((each, index) => item(each, [...loc, index]));
  };
}

export function mapOf(item: Check): Check {
  return (value, loc) =>
    isObject(value)
      ? Object.entries(value).flatMap(([key, each]) => item(each, [...loc, key]))
      : [{ type: "dict_type", loc, msg: "Input should be a valid dictionary" }];
}

export const anything: Check = () => [];

export function nullable(check: Check): Check {
  return (value, loc) => (value === null ? [] : check(value, loc));
}

/** Any of the checks passes; otherwise the problems of the last one are reported. */
export function either(...checks: readonly Check[]): Check {
  return (value, loc) => {
    const found = checks.map((check) => check(value, loc));
    return found.some((problems) => problems.length === 0) ? [] : (found.at(-1) ?? []);
  };
}

type Fields = Readonly<Record<string, Check>>;

/** An object with these fields and no others. */
export function object({
  required = {},
  optional = {},
}: {
  readonly required?: Fields;
  readonly optional?: Fields;
}): Check {
  const known: Fields = { ...required, ...optional };
  return (value, loc) => {
    if (!isObject(value))
      return [{ type: "model_attributes_type", loc, msg: "Input should be a valid dictionary" }];
    const missing = Object.keys(required)
      .filter((name) => value[name] === undefined)
      .map((name) => ({ type: "missing", loc: [...loc, name], msg: "Field required" }));
    const wrong = Object.entries(value).flatMap(([name, each]) => {
      const check = Object.hasOwn(known, name) ? known[name] : undefined;
      if (check !== undefined) return check(each, [...loc, name]);
      return [{ type: "extra_forbidden", loc: [...loc, name], msg: "Extra inputs are not permitted" }];
    });
    return [...missing, ...wrong];
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
