// The JSON of `/api`: requests and answers. The server parses and the dashboard types with these; it imports nothing but zod, so that a
// browser can load it. Field names are those of the command line's `--json` and of the tools.
import { z } from "zod";

const seconds = z.number().describe("Seconds since 1970.");
const target = z.enum(["memory", "user"]);
/** From a query string, where everything is text. */
const count = (most: number, standard: number) => z.coerce.number().int().min(1).max(most).default(standard);

export const problem = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    hint: z.string().optional(),
    param: z.string().optional().describe("The field of the request that is wrong."),
  }),
});

const user = z.object({ platform: z.string(), id: z.string() });

// ---- Status ----

export const status = z.object({
  version: z.string(),
  mode: z.enum(["agent", "proxy"]),
  /** Null: the owner of the home. */
  user: user.nullable(),
  profile: z.string().nullable(),
  rights: z.enum(["local", "owner", "user", "names-users", "admin"]),
  model: z.object({ model: z.string(), provider: z.string() }).nullable(),
  missing: z.array(z.object({ what: z.string(), hint: z.string() })),
  provider: z.string().nullable(),
  usage: z.record(target, z.object({ used: z.number(), limit: z.number() }).nullable()),
  sessions: z.number(),
});

// ---- Memory ----

export const memory = z.object({
  active: z.string(),
  providers: z.array(z.object({ name: z.string(), description: z.string(), configured: z.boolean() })),
  builtin_files: z.object({ memory: z.number(), user: z.number() }).describe("Sizes in bytes."),
});
export const providerChoice = z.object({ provider: z.string() });
export const providerChosen = z.object({ ok: z.literal(true), active: z.string() });
export const resetRequest = z.object({ target: z.enum(["all", "memory", "user"]).default("all") });
export const resetDone = z.object({ ok: z.literal(true), deleted: z.array(z.string()) });

const entry = z.object({ id: z.string(), target, text: z.string() });
export const entries = z.object({ entries: z.array(entry) });
export const entryQuery = z.object({ target: target.optional() });
export const newEntry = z.object({
  text: z.string().min(1),
  target: target.default("memory"),
  reason: z.string().optional(),
});
export const changedEntry = z.object({ text: z.string().min(1), reason: z.string().optional() });
export const written = entry.extend({
  change: z.string().nullable().describe("For undo; null: the text was already there."),
  warning: z.string().optional(),
  archived: z.array(z.string()),
});
export const removed = z.object({ change: z.string(), warning: z.string().optional() });
export const undoRequest = z.object({ change: z.string().min(1) });
export const undone = z.object({
  changes: z.array(z.string()),
  entries: z.array(entry),
  warning: z.string().optional(),
});
export const historyQuery = z.object({ target: target.optional(), limit: count(1_000, 50) });
export const change = z.object({
  change: z.string(),
  at: z.iso.datetime(),
  target,
  action: z.string(),
  origin: z.string(),
  status: z.enum(["committed", "aborted", "undone", "refused"]),
  before: z.array(z.string()),
  after: z.array(z.string()),
  reason: z.string().optional(),
  group: z.string().optional(),
  session_id: z.string().optional(),
});
export const history = z.object({ changes: z.array(change) });
export const explainQuery = z.object({ text: z.string().min(1) });
export const explanation = z.object({
  text: z.string(),
  is_stored: z.boolean(),
  lines: z.array(z.string()),
  changes: z.array(change),
});

// ---- Sessions ----

const page = z.object({
  limit: count(200, 50),
  offset: z.coerce.number().int().min(0).default(0),
});
export const sessionQuery = page.extend({ source: z.string().optional() });
export const session = z.object({
  session_id: z.string(),
  title: z.string().nullable(),
  source: z.string(),
  model: z.string().nullable(),
  started_at: seconds,
  last_active: seconds,
  ended_at: seconds.nullable(),
  message_count: z.number(),
  preview: z.string(),
  user_id: z.string().nullable(),
});
export const sessions = z.object({ sessions: z.array(session), total: z.number() });
export const messageQuery = z.object({
  limit: count(500, 200),
  before: z.coerce.number().int().optional(),
});
const message = z.object({
  id: z.number().nullable(),
  role: z.string(),
  content: z.unknown(),
  timestamp: seconds,
  tool_calls: z.array(z.unknown()).optional(),
  tool_name: z.string().optional(),
  tool_call_id: z.string().optional(),
});
export const messages = z.object({
  session_id: z.string(),
  messages: z.array(message),
  left_out: z.number().describe("Older messages that this page does not have."),
  next: z.number().nullable().describe("Pass it as `before` for the page with older messages."),
});
export const renameRequest = z.object({ title: z.string().max(100).nullable() });
export const renamed = z.object({ session_id: z.string(), title: z.string().nullable() });
export const deleted = z.object({ deleted: z.literal(true) });

// ---- Search ----

export const searchQuery = z.object({
  q: z.string().min(1),
  limit: count(50, 10),
  in: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(z.enum(["entries", "archive", "sessions"])))
    .optional(),
});
export const hit = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("entry"), id: z.string(), target, text: z.string() }),
  z.object({
    kind: z.literal("archive"),
    id: z.string(),
    target,
    text: z.string(),
    archived_at: z.iso.datetime(),
  }),
  z.object({
    kind: z.literal("session"),
    session_id: z.string(),
    message_id: z.number(),
    role: z.string(),
    text: z.string(),
    at: z.iso.datetime(),
    title: z.string().nullable(),
  }),
]);
export const found = z.object({
  hits: z.array(hit),
  left_out: z.number().describe("Hits that `limit` left out, at least."),
  notes: z.array(z.string()),
});

// ---- Recall, live sessions, erasing ----

export const recallQuery = page.extend({ session_id: z.string().optional() });
const recall = z.object({
  id: z.number(),
  session_id: z.string(),
  at: seconds,
  mode: z.string(),
  query: z.string(),
  injected: z.string(),
  found: z.array(z.unknown()),
  duration_ms: z.number(),
});
export const recalls = z.object({ recalls: z.array(recall) });
export const liveSession = z.object({
  key: z.string(),
  session_id: z.string(),
  source: z.string(),
  started_at: seconds,
  last_active_at: seconds,
  last_prompt_tokens: z.number(),
});
export const live = z.object({ live: z.array(liveSession) });
export const eraseRequest = z.object({
  dry_run: z.boolean().default(false),
  confirm: z.literal("erase everything").optional(),
});
export const erased = z.object({
  dry_run: z.boolean(),
  entries: z.number(),
  archived: z.number(),
  changes: z.number(),
  pending: z.number(),
  sessions: z.number(),
  messages: z.number(),
  files: z.number(),
  provider: z.object({
    name: z.string().nullable(),
    erased: z.number(),
    remaining: z.string().optional(),
  }),
  remaining: z.array(z.string()),
});

// ---- Events ----

/** One line of `/api/events`: a server-sent event whose data is this. */
export const event = z.looseObject({
  type: z.string(),
  at: z.iso.datetime(),
  user: user.nullable(),
  profile: z.string().nullable(),
  session_id: z.string().optional(),
});
