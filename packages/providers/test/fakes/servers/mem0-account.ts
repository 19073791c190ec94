// The calls of the Mem0 platform beside add, search and list: single memories, batches, entities, profiles, the project.
import type { FakeReply } from "./fake-server.ts";
import { ENTITIES, type Mem0Memories, type Mem0Memory } from "./mem0-memories.ts";
import { invalid, pageLinks, pageOf, refused, toWire, wireTime } from "./mem0-wire.ts";
import {
  anyObject,
  either,
  integer,
  type JsonObject,
  listOf,
  nullable,
  objectOf,
  oneOf,
  queryInteger,
  type Route,
  text,
} from "./strict.ts";

type Job = { readonly id: string; readonly operation: string; readonly entity_type: string };

const ONE = /^\/v1\/memories\/([^/]+)\/$/;
const BATCH = /^\/v1\/batch\/$/;
const OWNER_QUERY = { user_id: text(), agent_id: text(), app_id: text(), run_id: text() };

/** What these calls need of the server. */
type Platform = {
  readonly url: string;
  readonly table: Mem0Memories;
  readonly profile: JsonObject;
  readonly account: { readonly org_id: string; readonly project_id: string };
};

export function accountRoutes(fake: Platform): readonly Route[] {
  const { table } = fake;
  const jobs: Job[] = [];
  const jobOfKey = new Map<string, Job>();

  const one = (id: string, answer: (memory: Mem0Memory) => FakeReply): FakeReply => {
    const memory = table.get(id);
    return memory === undefined ? { status: 404, body: { error: "Memory not found!" } } : answer(memory);
  };
  const change = (memory: Mem0Memory, { text: words, metadata, timestamp, expiration_date }: JsonObject) =>
    table.put({
      ...memory,
      updatedAtMs: timestamp === undefined ? Date.now() : Number(timestamp) * 1000,
      ...(words === undefined ? {} : { memory: words as string }),
      ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
      ...(expiration_date === undefined ? {} : { expiration_date: expiration_date as string | null }),
    });
  const batch = (body: unknown, apply: (memory: Mem0Memory, entry: JsonObject) => void): FakeReply => {
    const entries = (body as { memories: readonly JsonObject[] }).memories;
    const missing = entries.find(({ memory_id }) => table.get(String(memory_id)) === undefined);
    if (missing !== undefined) return { status: 404, body: { error: "Memory not found!" } };
    for (const entry of entries) {
      const memory = table.get(String(entry.memory_id));
      if (memory !== undefined) apply(memory, entry);
    }
    return ok(`Successfully processed ${entries.length} memories`);
  };

  return [
    {
      method: "GET",
      path: ONE,
      answer: (_, id = "") => one(id, (memory) => ({ status: 200, body: toWire(memory) })),
    },
    {
      method: "PUT",
      path: ONE,
      answer: ({ body }, id = "") => {
        const fields = {
          text: text(),
          metadata: anyObject,
          timestamp: either(integer(0), text()),
          expiration_date: nullable(text()),
        };
        const refusal = refused(body, {}, fields);
        if (refusal !== undefined) return refusal;
        return one(id, (memory) => ({ status: 200, body: toWire(change(memory, body as JsonObject)) }));
      },
    },
    {
      method: "DELETE",
      path: ONE,
      answer: ({ query }, id = "") =>
        refused(query, {}, { delete_linked: oneOf("true", "false") }) ??
        one(id, () => {
          table.delete(id);
          return ok("Memory deleted successfully!");
        }),
    },
    {
      method: "DELETE",
      path: /^\/v1\/memories\/$/,
      answer: ({ query }) => {
        const refusal = refused(query, {}, OWNER_QUERY);
        if (refusal !== undefined) return refusal;
        if (Object.keys(query).length === 0) return invalid("Invalid request", "an entity id is required");
        for (const { id } of table.matching(query, { showExpired: true })) table.delete(id);
        return ok("Memories deleted successfully!");
      },
    },
    {
      method: "GET",
      path: /^\/v1\/memories\/([^/]+)\/history\/$/,
      answer: (_, id = "") => {
        const changes = table.changesOf(id);
        if (changes.length === 0) return { status: 404, body: { error: "Memory not found!" } };
        const body = changes.map(({ id: changeId, event, before, after, atMs }) => ({
          id: changeId,
          memory_id: id,
          input: [{ role: "user", content: (after ?? before)?.memory }],
          old_memory: before?.memory ?? null,
          new_memory: after?.memory ?? null,
          user_id: (after ?? before)?.user_id,
          categories: (after ?? before)?.categories,
          event,
          created_at: wireTime(atMs),
          updated_at: wireTime(atMs),
        }));
        return { status: 200, body };
      },
    },
    {
      method: "PUT",
      path: BATCH,
      answer: ({ body }) => {
        const entry = objectOf({ memory_id: text() }, { text: text(), metadata: anyObject });
        return refused(body, { memories: listOf(entry, 1) }) ?? batch(body, change);
      },
    },
    {
      method: "DELETE",
      path: BATCH,
      answer: ({ body }) =>
        refused(body, { memories: listOf(objectOf({ memory_id: text() }), 1) }) ??
        batch(body, ({ id }) => table.delete(id)),
    },
    {
      method: "POST",
      path: /^\/v1\/feedback\/$/,
      answer: ({ body }) => {
        const feedback = nullable(oneOf("POSITIVE", "NEGATIVE", "VERY_NEGATIVE"));
        const refusal = refused(body, { memory_id: text() }, { feedback, feedback_reason: nullable(text()) });
        return refusal ?? one((body as { memory_id: string }).memory_id, () => ok("Feedback recorded"));
      },
    },
    {
      method: "GET",
      path: /^\/v1\/entities\/$/,
      answer: ({ query, path }) => {
        const refusal = refused(query, {}, { page: queryInteger(1), page_size: queryInteger(1, 200) });
        if (refusal !== undefined) return refusal;
        const entities = entitiesOf(table.all());
        const results = pageOf(entities, query);
        return { status: 200, body: { ...pageLinks(`${fake.url}${path}`, query, entities.length), results } };
      },
    },
    {
      method: "DELETE",
      path: /^\/v2\/entities\/(user|agent|app|run)\/([^/]+)\/$/,
      answer: (_, type = "", name = "") => {
        const found = table.matching({ [`${type}_id`]: name }, { showExpired: true });
        if (found.length === 0) return { status: 404, body: { error: "Entity not found!" } };
        for (const { id } of found) table.delete(id);
        return ok("Entity deleted successfully!");
      },
    },
    {
      method: "GET",
      path: /^\/v2\/entities\/user\/([^/]+)\/profile\/$/,
      answer: (_, name = "") => {
        const state = { profile: fake.profile, status: "succeeded", entity_type: "user", entity_id: name };
        return { status: 200, body: { ...state, updated_at: wireTime(Date.now()), generation_count: 1 } };
      },
    },
    {
      method: "POST",
      path: /^\/v2\/profiles\/jobs\/$/,
      answer: ({ body, headers }) => {
        const fields = { operation: oneOf("trigger"), entity_type: oneOf("user"), entity_id: text() };
        const refusal = refused(body, fields);
        if (refusal !== undefined) return refusal;
        const key = String(headers["idempotency-key"] ?? "");
        const { operation, entity_type } = body as { operation: string; entity_type: string };
        const job = jobOfKey.get(key) ?? { id: `job_${jobs.length + 1}`, operation, entity_type };
        if (!jobs.includes(job)) jobs.push(job);
        if (key !== "") jobOfKey.set(key, job);
        const status_url = `/v2/profiles/jobs/${job.id}/`;
        return {
          status: 202,
          body: { job_id: job.id, status: "pending", status_url, operation, entity_type },
        };
      },
    },
    {
      method: "GET",
      path: /^\/v2\/profiles\/jobs\/([^/]+)\/$/,
      answer: (_, id = "") => {
        const job = jobs.find((each) => each.id === id);
        if (job === undefined) return { status: 404, body: { error: "Job not found!" } };
        const counts = { total: 1, completed: 1, succeeded: 1, failed: 0, skipped: 0 };
        const state = { ...job, status: "succeeded", enumeration_complete: true, ...counts };
        return { status: 200, body: { job: state } };
      },
    },
    {
      method: "GET",
      path: /^\/api\/v1\/orgs\/organizations\/([^/]+)\/projects\/([^/]+)\/$/,
      answer: (_, organization, project) =>
        organization === fake.account.org_id && project === fake.account.project_id
          ? { status: 200, body: { custom_instructions: "none", custom_categories: [] } }
          : { status: 404, body: { detail: "Not found." } },
    },
  ];
}

function ok(message: string): FakeReply {
  return { status: 200, body: { message } };
}

function entitiesOf(memories: readonly Mem0Memory[]) {
  return ENTITIES.flatMap((entity) => {
    const names = new Set(memories.map((memory) => memory[entity]).filter((name) => name !== null));
    return [...names].map((name) => {
      const owned = memories.filter((memory) => memory[entity] === name);
      return {
        id: `${entity}:${name}`,
        name,
        created_at: wireTime(Math.min(...owned.map(({ createdAtMs }) => createdAtMs))),
        updated_at: wireTime(Math.max(...owned.map(({ updatedAtMs }) => updatedAtMs))),
        total_memories: owned.length,
        owner: "a",
        type: entity.replace("_id", ""),
      };
    });
  });
}
