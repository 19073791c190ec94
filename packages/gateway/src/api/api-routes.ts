// The JSON API: one table of routes over the door (`UserMemory`) and the person's session store. Each entry names its schemas; parsing,
// rendering and the description at `/api/openapi.json` follow from them. Every route works on `request.person()`, so on the caller's own data.
import { statSync } from "node:fs";
import { chooseModel } from "@hermes-memory/agent/internal/models";
import { setConfigValue } from "@hermes-memory/core/internal/config";
import { fileNameOf, MEMORY_TARGETS, targetPaths } from "@hermes-memory/core/internal/curated";
import { isFile, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import type { EntryChange, Memory, Transcript, UserMemory } from "@hermes-memory/core/internal/memory";
import { fromRow, renderContent, renderToolCalls, toolCallsOf } from "@hermes-memory/core/internal/message";
import { findProviders } from "@hermes-memory/core/internal/providers";
import type { ListedSession } from "@hermes-memory/core/internal/sessions";
import { VERSION } from "@hermes-memory/core/internal/version";
import { z } from "zod";
import { seesAll } from "../identity.ts";
import {
  type Gateway,
  type GatewayEvent,
  type ProblemError,
  type Route,
  type RouteRequest,
  refused,
  type UserRef,
} from "../types.ts";
import { listOf } from "../wires/fields.ts";
import { sseEvent } from "../wires/sse.ts";
import * as schemas from "./schemas.ts";

type Person = Awaited<ReturnType<RouteRequest["person"]>>;

/** What a route's body gets: parsed input, the caller's memory, and the home it is in. */
type Call<Query, Body> = {
  readonly query: Query;
  readonly body: Body;
  readonly params: Readonly<Record<string, string>>;
  readonly me: UserMemory;
  readonly person: Person;
  readonly home: Memory;
  readonly request: RouteRequest;
  readonly gateway: Gateway;
};

type ApiRoute<Query extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType> = {
  readonly method: Route["method"];
  readonly path: string;
  readonly access?: Route["access"];
  readonly summary: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer: Answer;
  readonly run: (call: Call<z.output<Query>, z.output<Body>>) => Promise<z.input<Answer>>;
};

const NONE = z.object({});

/** Only so that each entry's types are inferred from its schemas. */
function route<
  Query extends z.ZodType = typeof NONE,
  Body extends z.ZodType = typeof NONE,
  Answer extends z.ZodType = typeof NONE,
>(entry: ApiRoute<Query, Body, Answer>): ApiRoute<z.ZodType, z.ZodType, z.ZodType> {
  return entry as unknown as ApiRoute<z.ZodType, z.ZodType, z.ZodType>;
}

const TABLE = [
  // ---- Status ----
  route({
    method: "GET",
    path: "/api/status",
    summary: "What is configured, what is missing, and how full memory is.",
    answer: schemas.status,
    run: describeStatus,
  }),

  // ---- Memory ----
  route({
    method: "GET",
    path: "/api/memory",
    summary: "The active memory provider, those there are, and the sizes of the files.",
    answer: schemas.memory,
    async run({ me, home }) {
      const { provider } = await home.administration.memoryConfig();
      const { providers } = await findProviders(home.home);
      return {
        active: provider,
        providers: providers.map(({ name, manifest }) => ({
          name,
          description: manifest.description,
          configured: name === provider,
        })),
        builtin_files: { memory: sizeOf(me, "memory"), user: sizeOf(me, "user") },
      };
    },
  }),
  route({
    method: "PUT",
    path: "/api/memory/provider",
    access: "admin",
    summary: "Choose the memory provider; an empty name, `none` or `builtin` for none.",
    body: schemas.providerChoice,
    answer: schemas.providerChosen,
    async run({ body, home }) {
      const wanted = ["", "built-in", "builtin", "none"].includes(body.provider) ? "" : body.provider;
      const { providers } = await findProviders(home.home);
      if (wanted !== "" && !providers.some(({ name }) => name === wanted))
        throw refused(400, "unknown-provider", {
          message: "There is no memory provider of this name.",
          hint: "GET /api/memory lists them; 'hermes memory setup' sets one up.",
          param: "provider",
        });
      const set = await setConfigValue(home.home, "memory.provider", wanted);
      if (!set.ok) throw refused(500, "config", { message: set.error.message });
      return { ok: true as const, active: wanted };
    },
  }),
  route({
    method: "POST",
    path: "/api/memory/reset",
    summary: "Delete the caller's memory files; the journal keeps them for undo.",
    body: schemas.resetRequest,
    answer: schemas.resetDone,
    async run({ me, body }) {
      const store = await me.layers.curated();
      const asked = MEMORY_TARGETS.filter((each) => body.target === "all" || body.target === each);
      const deleted: string[] = [];
      for (const each of asked) {
        if (store === undefined || !isFile(targetPaths(store.dir, each).file)) continue;
        const outcome = await store.reset(each, { origin: "library" });
        if (!outcome.ok)
          throw refused(500, `memory-${outcome.error.kind}`, { message: outcome.error.message });
        deleted.push(fileNameOf(each));
      }
      return { ok: true as const, deleted };
    },
  }),
  route({
    method: "GET",
    path: "/api/entries",
    summary: "The caller's entries.",
    query: schemas.entryQuery,
    answer: schemas.entries,
    run: async ({ me, query }) => ({ entries: [...(await me.list(query))] }),
  }),
  route({
    method: "POST",
    path: "/api/entries",
    summary: "Add an entry.",
    body: schemas.newEntry,
    answer: schemas.written,
    run: async ({ me, body: { text, ...options }, ...call }) =>
      toWritten(call, "add", await me.add(text, options)),
  }),
  route({
    method: "PATCH",
    path: "/api/entries/:id",
    summary: "Change an entry.",
    body: schemas.changedEntry,
    answer: schemas.written,
    run: async ({ me, params, body: { text, ...options }, ...call }) =>
      toWritten(call, "replace", await me.update(params.id ?? "", text, options)),
  }),
  route({
    method: "DELETE",
    path: "/api/entries/:id",
    summary: "Remove an entry.",
    answer: schemas.removed,
    run: async ({ me, params, ...call }) => {
      const removed = await me.remove(params.id ?? "");
      tell(call, { action: "remove" });
      return removed;
    },
  }),
  route({
    method: "GET",
    path: "/api/history",
    summary: "Changes of the caller's entries, newest first.",
    query: schemas.historyQuery,
    answer: schemas.history,
    run: async ({ me, query }) => ({ changes: (await me.history(query)).map(toChange) }),
  }),
  route({
    method: "POST",
    path: "/api/undo",
    summary: "Take a change back.",
    body: schemas.undoRequest,
    answer: schemas.undone,
    run: async ({ me, body, ...call }) => {
      const { changes, entries, warning } = await me.undo(body.change);
      tell(call, { action: "undo" });
      return { changes: [...changes], entries: [...entries], warning };
    },
  }),
  route({
    method: "GET",
    path: "/api/explain",
    summary: "Where a text is or was, who wrote it and when.",
    query: schemas.explainQuery,
    answer: schemas.explanation,
    async run({ me, query }) {
      const { text, isStored, lines, changes } = await me.explain(query.text);
      return { text, is_stored: isStored, lines: [...lines], changes: changes.map(toChange) };
    },
  }),

  // ---- Sessions ----
  route({
    method: "GET",
    path: "/api/sessions",
    summary: "The caller's conversations, most recently active first.",
    query: schemas.sessionQuery,
    answer: schemas.sessions,
    async run({ query, ...call }) {
      const store = await sessionsOf(call);
      if (store === undefined) return { sessions: [], total: 0 };
      const { source } = query;
      const listed = await store.listSessionsRich({
        ...query,
        orderByLastActive: true,
        projectCompressionTips: true,
      });
      const total = await store.sessionCount({ source, excludeChildren: true });
      return { sessions: listed.map(toSession), total };
    },
  }),
  route({
    method: "GET",
    path: "/api/sessions/:id",
    summary: "One conversation.",
    answer: schemas.session,
    async run({ params, ...call }) {
      const store = await sessionsOf(call);
      const id = params.id ?? "";
      // As the other routes, by the name of the chat too.
      const row = await store?.getSession((await call.me.chat(id))?.sessionId ?? id);
      if (!row) throw unknownSession();
      const [listed] = (await store?.searchSessionsById(row.id, { limit: 1, includeArchived: true })) ?? [];
      const rest = listed?.id === row.id ? listed : { ...row, last_active: row.started_at, preview: "" };
      return toSession(rest);
    },
  }),
  route({
    method: "GET",
    path: "/api/sessions/:id/messages",
    summary: "What was said in a conversation, newest page first, also before compactions.",
    query: schemas.messageQuery,
    answer: schemas.messages,
    async run({ params, query, ...call }) {
      const page = await transcriptOf(call, params.id ?? "", query);
      if (page === undefined) throw unknownSession();
      return {
        session_id: page.sessionId,
        messages: page.messages.map((each) => {
          const calls = toolCallsOf(each);
          return {
            id: each.meta.rowId ?? null,
            role: each.role,
            content: renderContent(each.content),
            timestamp: each.meta.atSeconds,
            ...(calls.length === 0 ? {} : { tool_calls: [...renderToolCalls(calls)] }),
            ...(each.role === "tool" ? { tool_name: each.toolName, tool_call_id: each.toolCallId } : {}),
          };
        }),
        left_out: page.leftOut,
        next: page.next ?? null,
      };
    },
  }),
  route({
    method: "PATCH",
    path: "/api/sessions/:id",
    summary: "Rename a conversation; null takes the title away.",
    body: schemas.renameRequest,
    answer: schemas.renamed,
    async run({ me, params, body }) {
      const id = params.id ?? "";
      if (!(await me.rename(id, body.title))) throw unknownSession();
      return { session_id: id, title: body.title };
    },
  }),
  route({
    method: "DELETE",
    path: "/api/sessions/:id",
    summary: "Delete a conversation with everything kept about it.",
    answer: schemas.deleted,
    async run({ me, params }) {
      if (!(await me.forgetChat(params.id ?? ""))) throw unknownSession();
      return { deleted: true as const };
    },
  }),

  // ---- Search, recall, live sessions ----
  route({
    method: "GET",
    path: "/api/search",
    summary: "Search entries, the archive and conversations.",
    query: schemas.searchQuery,
    answer: schemas.found,
    async run({ me, query }) {
      const { hits, leftOut, notes } = await me.search(query.q, { limit: query.limit, in: query.in });
      return { hits: hits.map(toHit), left_out: leftOut, notes: [...notes] };
    },
  }),
  route({
    method: "GET",
    path: "/api/recalls",
    summary: "What was recalled for which question, what was added to the request, and what was refused.",
    query: schemas.recallQuery,
    answer: schemas.recalls,
    async run({ query: { session_id: sessionId, ...page }, ...call }) {
      const store = await sessionsOf(call);
      const traces = (await store?.turns.listRecalls({ ...page, sessionId })) ?? [];
      return {
        recalls: traces.map(({ mark: _, found, ...trace }) => ({
          ...trace,
          found: [...listOf(outsideJsonOr(found, []))],
        })),
      };
    },
  }),
  route({
    method: "GET",
    path: "/api/live",
    summary: "Conversations that have not expired.",
    answer: schemas.live,
    async run(call) {
      const store = await sessionsOf(call);
      const rows = (await store?.gateway.listLiveSessions({ isFinalized: false, limit: 1_000 })) ?? [];
      return { live: rows.map((row) => schemas.liveSession.parse(row)) };
    },
  }),
  route({
    method: "POST",
    path: "/api/erase",
    summary: "Erase everything of the caller. Cannot be undone.",
    body: schemas.eraseRequest,
    answer: schemas.erased,
    async run({ me, body }) {
      const isDryRun = body.dry_run;
      if (!isDryRun && body.confirm === undefined)
        throw refused(400, "not-confirmed", {
          message: "Nothing was erased: the request has no 'confirm'.",
          hint: `Send "confirm": "erase everything", or "dry_run": true to see what would be erased.`,
          param: "confirm",
        });
      const { provider, remaining, ...counts } = await me.erase({ dryRun: isDryRun });
      return {
        dry_run: isDryRun,
        ...counts,
        provider: { ...provider, name: provider.name ?? null },
        remaining: [...remaining],
      };
    },
  }),
];

// ---- Mounting ----

export function apiRoutes(): readonly Route[] {
  const described = TABLE.map(mounted);
  return [
    ...described,
    {
      method: "GET",
      path: "/api/events",
      access: "user",
      summary: "What happens now, as server-sent events; read them with fetch, which sends the token.",
      shape: "api",
      handle: streamEvents,
    },
    {
      method: "GET",
      path: "/api/openapi.json",
      access: "any-caller",
      summary: "This API, as OpenAPI 3.1.",
      shape: "api",
      handle: async () => json(openApi()),
    },
  ];
}

function mounted({ query, body, answer: _, run, access, ...rest }: (typeof TABLE)[number]): Route {
  return {
    ...rest,
    access: access ?? "user",
    shape: "api",
    async handle(request, gateway) {
      const person = await request.person();
      const call = {
        query: parsed(query ?? NONE, queryOf(request.url), "query"),
        body: body === undefined ? {} : parsed(body, await request.json(), "body"),
        params: request.params,
        me: person.memory,
        person,
        home: gateway.memory(person.profile),
        request,
        gateway,
      };
      return json(await run(call));
    },
  };
}

function json(value: unknown): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}

/** A parameter that appears twice is refused by the schema: it is a list then. */
function queryOf(url: URL): Readonly<Record<string, unknown>> {
  const names = [...new Set(url.searchParams.keys())].filter((name) => name !== "user");
  return Object.fromEntries(
    names.map((name) => {
      const values = url.searchParams.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

function parsed<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const strict = schema instanceof z.ZodObject ? schema.strict() : schema;
  const result = strict.safeParse(value);
  if (result.success) return result.data as z.output<T>;
  const [first] = result.error.issues;
  const field = first?.path.join(".") || (first?.code === "unrecognized_keys" ? first.keys[0] : undefined);
  const message = `The ${where} of this request is wrong: ${first?.message ?? "unreadable"}.`;
  const hint = "GET /api/openapi.json describes what each route takes.";
  throw refused(400, "bad-request", { message, param: field, hint });
}

function openApi(): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path, summary, query, body, answer } of TABLE) {
    const at = path.replaceAll(/:(\w+)/g, "{$1}");
    const schemaOf = (schema: z.ZodType): object =>
      z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    const fields = query instanceof z.ZodObject ? Object.entries(query.shape) : [];
    const operation = {
      summary,
      parameters: [
        ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
          name,
          in: "path",
          required: true,
          schema: { type: "string" },
        })),
        ...fields.map(([name, schema]) => ({ name, in: "query", schema: schemaOf(schema as z.ZodType) })),
      ],
      ...(body === undefined
        ? {}
        : { requestBody: { content: { "application/json": { schema: schemaOf(body) } } } }),
      responses: {
        200: { description: "Done.", content: { "application/json": { schema: schemaOf(answer) } } },
        default: {
          description: "Refused or failed.",
          content: { "application/json": { schema: schemaOf(schemas.problem) } },
        },
      },
    };
    paths[at] = { ...paths[at], [method.toLowerCase()]: operation };
  }
  return { openapi: "3.1.0", info: { title: "hermes-memory", version: VERSION }, paths };
}

// ---- What the routes share ----

function unknownSession(): ProblemError {
  return refused(404, "unknown-session", {
    message: "The caller has no conversation with this id.",
    hint: "GET /api/sessions lists them.",
  });
}

type Whose = Pick<Call<unknown, unknown>, "me" | "request" | "person" | "home">;

function sessionsOf(call: Whose) {
  const { me, home, request, person } = call;
  return (seesAll(request.caller, person.user) ? home.administration.administrator : me.layers).sessions({
    mode: "read",
  });
}

type MessagePage = Pick<Transcript<"hermes">, "sessionId" | "messages" | "leftOut" | "next">;

/** An administrator reads a session of another person by its id: that session alone, with what compactions archived in it. */
async function transcriptOf(
  call: Whose,
  id: string,
  page: { readonly limit: number; readonly before?: number },
): Promise<MessagePage | undefined> {
  const own = await call.me.transcript(id, { ...page, format: "hermes" });
  if (own !== undefined || !seesAll(call.request.caller, call.person.user)) return own;
  const store = await sessionsOf(call);
  if (!(await store?.getSession(id))) return undefined;
  const rows = (await store?.getDisplayHistory(id)) ?? [];
  const older = rows.filter((row) => row.id < (page.before ?? Number.POSITIVE_INFINITY));
  const shown = older.slice(-page.limit);
  const leftOut = older.length - shown.length;
  return {
    sessionId: id,
    messages: shown.map(fromRow).filter((each) => each !== undefined),
    leftOut,
    next: leftOut === 0 ? undefined : shown[0]?.id,
  };
}

type Told = Pick<Call<unknown, unknown>, "gateway" | "person">;

function tell({ gateway, person }: Told, fields: Readonly<Record<string, unknown>>): void {
  const { user, profile } = person;
  gateway.events.emit({ type: "memory-write", user, profile, ...fields });
}

async function describeStatus({
  me,
  person,
  home,
  request,
  gateway,
  ...call
}: Call<unknown, unknown>): Promise<z.input<typeof schemas.status>> {
  const config = await gateway.config();
  const chosen = chooseModel({ env: gateway.env, config });
  const store = await me.layers.curated();
  const usageOf = (each: "memory" | "user") => {
    if (store === undefined || !store.isEnabled(each)) return null;
    const { used, limit } = store.usage(each);
    return { used, limit };
  };
  const sessions = await sessionsOf({ ...call, me, person, home, request });
  const { caller } = request;
  return {
    version: VERSION,
    mode: config.gateway.mode,
    user: person.user ?? null,
    profile: person.profile ?? null,
    rights: caller.kind === "local" ? "local" : caller.rights.kind,
    model: chosen.ok ? { model: chosen.value.model, provider: chosen.value.provider } : null,
    missing: chosen.ok ? [] : [{ what: "model", hint: `${chosen.error.message} ${chosen.error.hint}` }],
    provider: config.memory.provider || null,
    usage: { memory: usageOf("memory"), user: usageOf("user") },
    sessions: (await sessions?.sessionCount({ excludeChildren: true })) ?? 0,
  };
}

function sizeOf({ layers }: UserMemory, each: "memory" | "user"): number {
  return statSync(targetPaths(layers.directory, each).file, { throwIfNoEntry: false })?.size ?? 0;
}

function toWritten(
  call: Told,
  action: "add" | "replace",
  { change, archived, ...rest }: Awaited<ReturnType<UserMemory["add"]>>,
): z.input<typeof schemas.written> {
  tell(call, { action, target: rest.target });
  return { ...rest, change: change ?? null, archived: [...archived] };
}

function toChange({ at, before, after, sessionId, ...rest }: EntryChange): z.input<typeof schemas.change> {
  return {
    ...rest,
    at: at.toISOString(),
    before: [...before],
    after: [...after],
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
  };
}

function toSession(row: ListedSession): z.input<typeof schemas.session> {
  const { id, title, source, model, started_at, last_active, ended_at, message_count, preview, user_id } =
    row;
  const times = { started_at, last_active, ended_at };
  return { session_id: id, title, source, model, ...times, message_count, preview, user_id };
}

type Hit = Awaited<ReturnType<UserMemory["search"]>>["hits"][number];

function toHit(hit: Hit): z.input<typeof schemas.hit> {
  switch (hit.kind) {
    case "entry":
      return hit;
    case "archive": {
      const { archivedAt, ...rest } = hit;
      return { ...rest, archived_at: archivedAt.toISOString() };
    }
    case "session": {
      const { sessionId, messageId, at, chatId: _, ...rest } = hit;
      return { ...rest, session_id: sessionId, message_id: messageId, at: at.toISOString() };
    }
    default:
      return hit satisfies never;
  }
}

// ---- `/api/events`: a person sees their own events, an administrator all. A reader that is too slow loses some, and is told how many ----

/** Proxies close connections that are silent for a minute. */
const BEAT_MS = 15_000;
/** Events that wait for a slow reader. */
const MOST_WAITING = 500;

export async function streamEvents(request: RouteRequest, gateway: Gateway): Promise<Response> {
  const { user, profile } = await request.person();
  const { caller, signal } = request;
  const isEverything = seesAll(caller, user);
  const isMine = (event: GatewayEvent): boolean =>
    isEverything || (event.profile === profile && isSameUser(event.user, user));
  const encoder = new TextEncoder();
  let stop = (): void => {};
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let lost = 0;
        const send = (text: string): void => controller.enqueue(encoder.encode(text));
        const stopListening = gateway.events.listen((event) => {
          if (!isMine(event)) return;
          if ((controller.desiredSize ?? 0) <= 0) {
            lost += 1;
            return;
          }
          if (lost > 0) send(sseEvent({ type: "lost", count: lost }, "lost"));
          lost = 0;
          const { user: whose = null, profile: home = null, type } = event;
          send(sseEvent({ ...event, user: whose, profile: home }, type));
        });
        const beat = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) send(": beat\n\n");
        }, BEAT_MS);
        beat.unref();
        const end = (): void => {
          stop();
          controller.close();
        };
        stop = () => {
          stopListening();
          clearInterval(beat);
          signal.removeEventListener("abort", end);
          stop = () => {};
        };
        signal.addEventListener("abort", end, { once: true });
        send(": hello\n\n"); // so that fetch resolves at once
      },
      cancel: () => stop(),
    },
    { highWaterMark: MOST_WAITING },
  );
  return new Response(stream, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" },
  });
}

function isSameUser(one: UserRef | undefined, other: UserRef | undefined): boolean {
  return one?.platform === other?.platform && one?.id === other?.id;
}

/** For tests that compare answers with the schemas. */
export function answerSchemas(): ReadonlyMap<string, z.ZodType> {
  return new Map(TABLE.map(({ method, path, answer }) => [`${method} ${path}`, answer]));
}
