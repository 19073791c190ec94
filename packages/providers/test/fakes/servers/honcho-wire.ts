// What Honcho 3 accepts: the bodies and queries of its calls, and how it words what it refuses (422).
import { z } from "zod";
import { Refusal } from "./routes.ts";

const ID_PATTERN = /^[a-zA-Z0-9_-]+$/;
const id = z.string().min(1).max(512).regex(ID_PATTERN);
const record = z.record(z.string(), z.unknown());
const time = z.iso.datetime({ offset: true, local: true });

/** Python counts code points, JavaScript UTF-16 units. */
function text(min: number, max: number) {
  return z.string().superRefine((value, context) => {
    const length = [...value].length;
    const limit = { origin: "string", inclusive: true, input: value } as const;
    if (length < min) context.addIssue({ code: "too_small", minimum: min, ...limit });
    if (length > max) context.addIssue({ code: "too_big", maximum: max, ...limit });
  });
}

const flags = z.strictObject({
  observe_me: z.boolean().nullish(),
  observe_others: z.boolean().nullish(),
});
const REASONING_LEVELS = ["minimal", "low", "medium", "high", "max"] as const;

const question = {
  query: text(1, 10_000),
  stream: z.boolean().optional(),
  session_id: z.string().nullish(),
  reasoning_level: z.enum(REASONING_LEVELS).nullish(),
  include_evidence: z.boolean().optional(),
  scope: z.union([z.string(), z.array(z.string())]).nullish(),
  response_format: record.nullish(),
};

const selection = {
  search_query: z.string().nullish(),
  search_top_k: z.int().min(1).max(100).nullish(),
  search_max_distance: z.number().min(0).max(1).nullish(),
  include_most_frequent: z.boolean().nullish(),
  max_conclusions: z.int().min(1).max(100).nullish(),
};

export const bodies = {
  workspace: z.strictObject({ id, metadata: record.optional(), configuration: record.optional() }),
  peer: z.strictObject({ id, metadata: record.nullish(), configuration: record.nullish() }),
  session: z.strictObject({
    id,
    metadata: record.nullish(),
    configuration: record.nullish(),
    peers: z.record(id, flags).nullish(),
    scopes: z.array(id).nullish(),
  }),
  scope: z.strictObject({ id, metadata: record.nullish() }),
  update: z.strictObject({ metadata: record.nullish(), configuration: record.nullish() }),
  messageUpdate: z.strictObject({ metadata: record.nullish() }),
  peers: z.record(id, flags),
  peerIds: z.array(id),
  flags,
  messages: z.strictObject({
    messages: z
      .array(
        z.strictObject({
          content: text(0, 25_000),
          peer_id: id,
          metadata: record.nullish(),
          configuration: record.nullish(),
          created_at: time.nullish(),
        }),
      )
      .min(1)
      .max(100),
  }),
  upload: z.strictObject({
    file: z.string(),
    peer_id: id,
    metadata: z.string().optional(),
    configuration: z.string().optional(),
    created_at: time.optional(),
  }),
  list: z.strictObject({ filters: record.nullish() }),
  search: z.strictObject({
    query: z.string(),
    filters: record.nullish(),
    limit: z.int().min(1).max(100).optional(),
    scope: z.string().nullish(),
  }),
  representation: z.strictObject({
    target: z.string().nullish(),
    session_id: z.string().nullish(),
    ...selection,
  }),
  card: z.strictObject({ peer_card: z.array(z.string()) }),
  chat: z.strictObject({ ...question, target: z.string().nullish() }),
  workspaceChat: z.strictObject(question),
  conclusions: z.strictObject({
    conclusions: z
      .array(
        z.strictObject({
          content: text(1, 65_535),
          observer_id: id,
          observed_id: id,
          session_id: id.nullish(),
        }),
      )
      .min(1)
      .max(100),
  }),
  conclusionQuery: z.strictObject({
    query: z.string(),
    top_k: z.int().min(1).max(100).optional(),
    distance: z.number().min(0).max(1).nullish(),
    filters: record.nullish(),
  }),
  dream: z.strictObject({
    observer: id,
    observed: id.nullish(),
    session_id: id.nullish(),
    dream_type: z.enum(["omni"]),
  }),
};

const number = z.string().transform((value, context) => {
  const parsed = Number(value);
  if (value.trim() !== "" && Number.isFinite(parsed)) return parsed;
  context.addIssue({ code: "invalid_type", expected: "int", input: value });
  return z.NEVER;
});
const flag = z.enum(["true", "false"]).transform((value) => value === "true");
const whole = (most: number) => number.pipe(z.int().min(1).max(most)).optional();

const page = z.strictObject({ page: whole(2 ** 31), size: whole(100), reverse: flag.optional() });
const searched = {
  search_query: z.string().optional(),
  search_top_k: whole(100),
  search_max_distance: number.pipe(z.number().min(0).max(1)).optional(),
  include_most_frequent: flag.optional(),
  max_conclusions: whole(100),
};

export const queries = {
  none: z.strictObject({}),
  page,
  target: z.strictObject({ target: z.string().optional() }),
  peerContext: z.strictObject({ target: z.string().optional(), ...searched }),
  sessionContext: z.strictObject({
    summary: flag.optional(),
    tokens: whole(100_000),
    peer_target: z.string().optional(),
    peer_perspective: z.string().optional(),
    limit_to_session: flag.optional(),
    sessions: z.union([z.string(), z.array(z.string())]).optional(),
    ...searched,
  }),
  queue: z.strictObject({
    observer_id: z.string().optional(),
    sender_id: z.string().optional(),
    session_id: z.string().optional(),
  }),
  clone: z.strictObject({ message_id: z.string().optional() }),
};

export type Page = z.output<typeof page>;
export type Selection = { readonly [Key in keyof typeof selection]?: z.output<(typeof selection)[Key]> };

/** The value as the schema reads it; what does not fit is refused with 422. */
export function parse<T>(schema: z.ZodType<T>, value: unknown, where: "body" | "query"): T {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new Refusal({
    status: 422,
    body: { detail: parsed.error.issues.flatMap((issue) => details(issue, where)) },
  });
}

/** An id in a path, such as that of a session which the call would create. */
export function parsePathId(name: string, value: string): string {
  if (id.safeParse(value).success) return value;
  const detail = {
    type: "string_pattern_mismatch",
    loc: ["path", name],
    msg: "String should match the pattern",
    input: value,
  };
  throw new Refusal({ status: 422, body: { detail: [detail] } });
}

export function invalidValue(msg: string, loc: readonly string[]): Refusal {
  return new Refusal({ status: 422, body: { detail: [{ type: "value_error", loc, msg, input: null }] } });
}

type Detail = { type: string; loc: (string | number)[]; msg: string; input: unknown; ctx?: object };

function details(issue: z.core.$ZodIssue, where: "body" | "query"): Detail[] {
  const loc = [where, ...issue.path.map((key) => (typeof key === "symbol" ? String(key) : key))];
  const input = issue.input;
  const at = (type: string, msg: string, ctx?: object): Detail[] => [
    { type, loc, msg, input: input ?? null, ...(ctx === undefined ? {} : { ctx }) },
  ];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        type: "extra_forbidden",
        loc: [...loc, key],
        msg: "Extra inputs are not permitted",
        input: (input as Record<string, unknown> | undefined)?.[key] ?? null,
      }));
    case "too_big":
      return sizeDetail(issue.origin, "most", Number(issue.maximum));
    case "too_small":
      return sizeDetail(issue.origin, "least", Number(issue.minimum));
    case "invalid_format":
      return at("string_pattern_mismatch", "String should match the pattern", { pattern: ID_PATTERN.source });
    case "invalid_value":
      return at("literal_error", `Input should be one of ${issue.values.join(", ")}`);
    default:
      if (input === undefined) return at("missing", "Field required");
      return at(issue.code === "invalid_type" ? `${issue.expected}_type` : "value_error", issue.message);
  }

  function sizeDetail(origin: string, end: "most" | "least", limit: number): Detail[] {
    const isMost = end === "most";
    if (origin === "string")
      return at(
        isMost ? "string_too_long" : "string_too_short",
        `String should have at ${end} ${limit} characters`,
        {
          [isMost ? "max_length" : "min_length"]: limit,
        },
      );
    if (origin === "array")
      return at(isMost ? "too_long" : "too_short", `List should have at ${end} ${limit} items`, {
        [isMost ? "max_length" : "min_length"]: limit,
      });
    return at(isMost ? "less_than_equal" : "greater_than_equal", `Input should be at ${end} ${limit}`, {
      [isMost ? "le" : "ge"]: limit,
    });
  }
}
