// What RetainDB accepts, in the words of its own validator (the open server validates with Zod as well).
import { z } from "zod";
import { Refusal } from "./routes.ts";

export const MEMORY_TYPES = ["factual", "preference", "goal", "instruction", "event", "opinion"] as const;
const LEVELS = ["minimal", "low", "medium", "high"] as const;

const name = z.string().min(1);
const writeMode = z.enum(["sync", "async"]).optional();
const memory = {
  content: z.string().min(1).max(10_000),
  memory_type: z.enum(MEMORY_TYPES).optional(),
  user_id: name.optional(),
  session_id: name.optional(),
  importance: z.number().min(0).max(1).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
};

/** `timestamp` decides what a time may look like: the local edition does not check it. */
function ingest(timestamp: z.ZodString | z.ZodISODateTime) {
  return z.strictObject({
    project: name,
    session_id: name,
    user_id: name.optional(),
    messages: z
      .array(
        z.strictObject({
          role: z.enum(["user", "assistant", "system", "tool"]),
          content: z.string(),
          timestamp,
        }),
      )
      .min(1),
    write_mode: writeMode,
  });
}

export const bodies = {
  context: z.strictObject({
    project: name,
    query: z.string().min(1).max(5000),
    user_id: name.optional(),
    session_id: name.optional(),
    include_memories: z.boolean().optional(),
    max_tokens: z.int().min(1).optional(),
  }),
  search: z.strictObject({
    project: name,
    query: z.string().min(1),
    user_id: name.optional(),
    session_id: name.optional(),
    top_k: z.int().min(1).max(50).optional(),
    include_pending: z.boolean().optional(),
    profile: z.string().optional(),
  }),
  add: z.strictObject({ project: name, ...memory, write_mode: writeMode }),
  /** Only times that end in `Z`: an offset such as `+00:00` is refused. */
  ingest: ingest(z.iso.datetime()),
  ingestLocal: ingest(z.string()),
  ask: z.strictObject({
    project: name,
    query: z.string().min(1),
    reasoning_level: z.enum(LEVELS).optional(),
  }),
  dialectic: z.strictObject({
    project: name,
    user_id: name,
    question: z.string().min(1).max(1000),
    reasoning_level: z.enum(LEVELS).optional(),
  }),
  seed: z.strictObject({
    project: name,
    content: z.string().min(1).max(32_000),
    source: z.string().optional(),
  }),
  file: z.strictObject({
    file: z.string(),
    path: name,
    scope: z.enum(["USER", "PROJECT", "ORG"]),
    project_id: name.optional(),
  }),
  ingestFile: z.strictObject({
    project: name.optional(),
    user_id: name.optional(),
    agent_id: name.optional(),
  }),
};

const flag = z.enum(["true", "false"]).optional();
const limit = z
  .string()
  .regex(/^[1-9]\d*$/)
  .transform(Number)
  .optional();

export const queries = {
  none: z.strictObject({}),
  project: z.strictObject({ project: name }),
  profile: z.strictObject({ project: name, include_pending: flag }),
  memories: z.strictObject({ project: name, user_id: name.optional(), limit }),
  files: z.strictObject({ limit, prefix: z.string().optional(), project_id: name.optional() }),
};

/** The value as the schema reads it; what does not fit is refused with 400. */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ code, path, message }) => ({ code, path, message }));
  throw new Refusal({ status: 400, body: { success: false, error: { issues, name: "ZodError" } } });
}
