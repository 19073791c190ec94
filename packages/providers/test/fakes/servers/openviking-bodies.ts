// The request bodies and query parameters that the fake OpenViking accepts.
import {
  anything,
  type Check,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  object,
  oneOf,
  problemsOf,
  text,
} from "./body-check.ts";
import type { SeenRequest } from "./fake-server.ts";
import { VikingError, type VikingProfile } from "./openviking-caller.ts";

const count = integer({ min: 1 });
const oneOrMore = (check: ReturnType<typeof text>) => nullable(either(listOf(check), check));

const findFields = {
  target_uri: oneOrMore(text()),
  limit: count,
  score_threshold: nullable(number),
  context_type: oneOrMore(oneOf("memory", "resource", "skill")),
  level: oneOrMore(integer({ min: 0 })),
  tags: oneOrMore(text()),
  since: nullable(text()),
  until: nullable(text()),
  read_content: flag,
};

const message = object({
  required: { role: oneOf("user", "assistant") },
  optional: {
    content: nullable(text()),
    parts: nullable(listOf(mapOf(anything), { min: 1 })),
    peer_id: nullable(text({ min: 1 })),
  },
});

export const BODIES = {
  find: object({ required: { query: text({ min: 1 }) }, optional: findFields }),
  search: object({
    required: { query: text({ min: 1 }) },
    optional: { ...findFields, session_id: nullable(text()) },
  }),
  grep: object({
    required: { uri: text(), pattern: text({ min: 1 }) },
    optional: { case_insensitive: flag, node_limit: nullable(count), level_limit: count },
  }),
  glob: object({
    required: { pattern: text({ min: 1 }) },
    optional: { uri: text(), node_limit: nullable(count) },
  }),
  write: object({
    required: { uri: text({ min: 1 }), content: text() },
    optional: { mode: oneOf("create", "replace", "append"), wait: flag, timeout: nullable(number) },
  }),
  mkdir: object({ required: { uri: text({ min: 1 }) }, optional: { description: nullable(text()) } }),
  session: object({ optional: { session_id: nullable(text({ min: 1 })) } }),
  message,
  batch: object({ required: { messages: listOf(message, { min: 1, max: 100 }) } }),
  commit: object({
    optional: { keep_recent_count: integer({ min: 0 }), extraction_metadata: nullable(mapOf(anything)) },
  }),
  resource: object({
    optional: {
      path: nullable(text({ min: 1 })),
      temp_file_id: nullable(text({ min: 1 })),
      to: nullable(text({ min: 1 })),
      parent: nullable(text({ min: 1 })),
      reason: text(),
      instruction: text(),
      wait: flag,
      timeout: nullable(number),
      source_name: nullable(text()),
      strict: flag,
      directly_upload_media: flag,
      watch_interval: number,
    },
  }),
};

/** The query parameters of each GET and DELETE call. */
export const PARAMETERS = {
  ls: [
    "uri",
    "simple",
    "recursive",
    "output",
    "abs_limit",
    "show_all_hidden",
    "node_limit",
    "offset",
    "limit",
    "sort_by",
    "sort_order",
  ],
  tree: ["uri", "output", "abs_limit", "show_all_hidden", "node_limit", "level_limit"],
  uri: ["uri"],
  read: ["uri", "offset", "limit"],
  remove: ["uri", "recursive", "wait"],
  context: ["token_budget"],
  none: [],
};

/** The body, if it fits. Version 0.3 ignores fields that it does not know. */
export function bodyOf<T>(request: SeenRequest, profile: VikingProfile, check: Check): T {
  const body = request.body ?? {};
  const problems = problemsOf(body, check).filter(
    ({ type }) => profile === "v04" || type !== "extra_forbidden",
  );
  if (problems.length > 0) refuse(problems);
  return body as T;
}

/** The query, if it has only these parameters. Version 0.3 ignores others. */
export function queryOf(
  request: SeenRequest,
  profile: VikingProfile,
  names: readonly string[],
): Readonly<Record<string, string | undefined>> {
  const entries = Object.entries(request.query);
  const wrong = entries.filter(([name, value]) => !names.includes(name) || typeof value !== "string");
  if (profile === "v04" && wrong.length > 0)
    refuse(
      wrong.map(([name]) => ({
        loc: ["query", name],
        msg: "Extra inputs are not permitted",
        type: "extra_forbidden",
      })),
    );
  return Object.fromEntries(entries.map(([name, value]) => [name, String([value].flat()[0])]));
}

export function refuse(problems: readonly object[]): never {
  throw new VikingError("INVALID_ARGUMENT", "Invalid request parameters", { validation_errors: problems });
}

export function numberOf(value: string | undefined, standard: number): number {
  const parsed = Number(value ?? standard);
  if (!Number.isInteger(parsed))
    refuse([{ loc: ["query"], msg: `Not an integer: ${value}`, type: "int_parsing" }]);
  return parsed;
}
