// The memories of a fake Mem0: records, who owns them, filters, search. No HTTP here.
import { randomUUID } from "node:crypto";
import { rank } from "./fake-server.ts";
import { isObject, type JsonObject } from "./strict.ts";

export type Mem0Edition = "platform" | "oss";

export const ENTITIES = ["user_id", "agent_id", "app_id", "run_id"] as const;
type Entity = (typeof ENTITIES)[number];

/** Whose a memory is; null: nobody of that kind. */
type Owners = Readonly<Record<Entity, string | null>>;

export type Mem0Memory = Owners & {
  readonly id: string;
  readonly memory: string;
  readonly metadata: JsonObject | null;
  readonly categories: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** A day like `2027-01-01`. */
  readonly expiration_date: string | null;
};

type Change = {
  readonly id: string;
  readonly event: "ADD" | "UPDATE" | "DELETE";
  readonly before: Mem0Memory | undefined;
  readonly after: Mem0Memory | undefined;
  readonly atMs: number;
};

const NOBODY: Owners = { user_id: null, agent_id: null, app_id: null, run_id: null };

export class Mem0Memories {
  readonly #memories = new Map<string, Mem0Memory>();
  readonly #changes: Change[] = [];

  /** Stores a memory; one with the same id is replaced. */
  put(memory: Partial<Mem0Memory> & { readonly memory: string }): Mem0Memory {
    const now = Date.now();
    const whole: Mem0Memory = {
      ...NOBODY,
      id: randomUUID(),
      metadata: null,
      categories: [],
      createdAtMs: now,
      updatedAtMs: now,
      expiration_date: null,
      ...memory,
    };
    const before = this.#memories.get(whole.id);
    this.#memories.set(whole.id, whole);
    this.#note(before === undefined ? "ADD" : "UPDATE", before, whole);
    return whole;
  }

  get(id: string): Mem0Memory | undefined {
    return this.#memories.get(id);
  }

  /** Whether there was one. */
  delete(id: string): boolean {
    const before = this.#memories.get(id);
    if (before === undefined) return false;
    this.#memories.delete(id);
    this.#note("DELETE", before, undefined);
    return true;
  }

  all(): readonly Mem0Memory[] {
    return [...this.#memories.values()];
  }

  changesOf(id: string): readonly Change[] {
    return this.#changes.filter(({ before, after }) => (after ?? before)?.id === id);
  }

  /** Those that pass, oldest first. Expired ones only when asked for. */
  matching(filters: JsonObject, options: { readonly showExpired?: boolean } = {}): readonly Mem0Memory[] {
    const today = new Date().toISOString().slice(0, 10);
    const isLive = ({ expiration_date: last }: Mem0Memory) => last === null || last >= today;
    return this.all().filter(
      (memory) => (options.showExpired === true || isLive(memory)) && passes(filters, memory),
    );
  }

  #note(event: Change["event"], before: Mem0Memory | undefined, after: Mem0Memory | undefined): void {
    this.#changes.push({ id: randomUUID(), event, before, after, atMs: Date.now() });
  }
}

export type SearchLimits = { readonly topK: number; readonly threshold: number };

/** Best first, at most `topK`, none below the threshold. */
export function searchMemories(
  query: string,
  among: readonly Mem0Memory[],
  { topK, threshold }: SearchLimits,
) {
  return rank(query, among, ({ memory }) => memory)
    .filter(({ score }) => score >= threshold)
    .slice(0, topK);
}

// ---- Facts

type Message = { readonly role: string; readonly content: string };

/** The memories that an add makes. */
export function factsOf(body: JsonObject, edition: Mem0Edition) {
  const given = body.messages as string | readonly Message[];
  const messages = typeof given === "string" ? [{ role: "user", content: given }] : given;
  const { metadata = null, expiration_date = null, timestamp } = body;
  const time = timestamp === undefined ? {} : { createdAtMs: Number(timestamp) * 1000 };
  const owners: Owners = { ...NOBODY, ...ownersIn(body) };
  const isSplit = edition === "platform" && body.infer !== false;
  return messages.flatMap(({ role, content }) => {
    if (isSplit && role === "system") return []; // instructions state no facts
    // The platform gives what a user said to the user alone, and what the assistant said to the agent alone.
    const lost = role === "user" ? { agent_id: null } : { user_id: null };
    const kept: Owners = isSplit ? { ...owners, ...lost } : owners;
    const isLost = namesOwner(owners) && !namesOwner(kept);
    const fact = { ...kept, ...time, memory: content, metadata, expiration_date };
    return isLost ? [] : [fact as Partial<Mem0Memory> & { readonly memory: string }];
  });
}

export function ownersIn(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    ENTITIES.filter((entity) => entity in fields).map((entity) => [entity, fields[entity]]),
  );
}

export function namesOwner(fields: JsonObject): boolean {
  return ENTITIES.some((entity) => typeof fields[entity] === "string");
}

export function inCategories(memories: readonly Mem0Memory[], wanted: readonly string[] | undefined) {
  if (wanted === undefined) return memories;
  return memories.filter(({ categories }) => categories.some((category) => wanted.includes(category)));
}

// ---- Filters: `{user_id: "u"}`, `{AND: [...]}`, `{created_at: {gte: "2026-01-01"}}`

const GROUPS = ["AND", "OR", "NOT"];
const FIELDS = [...ENTITIES, "categories", "created_at", "updated_at", "metadata"];
const OPERATORS = ["in", "ne", "gt", "gte", "lt", "lte", "contains", "icontains"];

/** Why the platform refuses these filters; undefined: it does not. */
export function filterProblem(filters: unknown): string | undefined {
  if (!isObject(filters)) return "filters is not an object";
  const shape = shapeProblem(filters);
  if (shape !== undefined) return shape;
  if (!namesEntity(filters)) return `filters must hold an entity id: one of ${ENTITIES.join(", ")}`;
  return undefined;
}

function shapeProblem(filters: unknown): string | undefined {
  if (!isObject(filters)) return "a filter is not an object";
  for (const [key, value] of Object.entries(filters)) {
    if (GROUPS.includes(key)) {
      if (!Array.isArray(value) || value.length === 0) return `filters: ${key} needs a list of filters`;
      const inner = value.map(shapeProblem).find((problem) => problem !== undefined);
      if (inner !== undefined) return inner;
    } else if (!FIELDS.includes(key)) return `filters: ${key} is an unknown field`;
    else if (key === "metadata") {
      if (!isObject(value)) return "filters: metadata is not an object";
    } else if (isObject(value)) {
      const operator = Object.keys(value).find((each) => !OPERATORS.includes(each));
      if (operator !== undefined) return `filters: ${key} has the unknown operator ${operator}`;
      if ("in" in value && !Array.isArray(value.in)) return `filters: ${key}.in is not a list`;
    } else if (typeof value !== "string" || value === "") return `filters: ${key} is not a non-empty string`;
  }
  return undefined;
}

function namesEntity(filters: JsonObject): boolean {
  return Object.entries(filters).some(([key, value]) =>
    GROUPS.includes(key)
      ? (value as readonly JsonObject[]).some(namesEntity)
      : (ENTITIES as readonly string[]).includes(key),
  );
}

function passes(filters: JsonObject, memory: Mem0Memory): boolean {
  return Object.entries(filters).every(([key, wanted]) => {
    const each = () => (wanted as readonly JsonObject[]).map((filter) => passes(filter, memory));
    if (key === "AND") return each().every(Boolean);
    if (key === "OR") return each().some(Boolean);
    if (key === "NOT") return !each().some(Boolean);
    if (key === "metadata")
      return Object.entries(wanted as JsonObject).every(
        ([name, value]) => JSON.stringify(memory.metadata?.[name]) === JSON.stringify(value),
      );
    return valuesOf(key, memory).some((value) => fits(wanted, value));
  });
}

function valuesOf(field: string, memory: Mem0Memory): readonly string[] {
  if (field === "categories") return memory.categories;
  if (field === "created_at") return [new Date(memory.createdAtMs).toISOString()];
  if (field === "updated_at") return [new Date(memory.updatedAtMs).toISOString()];
  return [memory[field as Entity]].filter((owner) => owner !== null);
}

function fits(wanted: unknown, value: string): boolean {
  if (!isObject(wanted)) return wanted === "*" || wanted === value;
  return Object.entries(wanted).every(([operator, operand]) => {
    const other = String(operand);
    if (operator === "in") return (operand as readonly unknown[]).includes(value);
    if (operator === "ne") return value !== other;
    if (operator === "gt") return value > other;
    if (operator === "gte") return value >= other;
    if (operator === "lt") return value < other;
    if (operator === "lte") return value <= other;
    if (operator === "contains") return value.includes(other);
    return value.toLowerCase().includes(other.toLowerCase());
  });
}
