// A Hindsight server on loopback, versions 0.4.22 to 0.9.1: memories, recall, reflect, banks, documents and operations below /v1/default/banks.
// Unlike the real server it refuses unknown body fields, so that a wrong field name cannot pass unnoticed.
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer, type FormPart, type SeenRequest } from "./fake-server.ts";
import {
  byMethod,
  documentReply,
  failure,
  invalid,
  listDocuments,
  listMemories,
  listOperations,
  listTags,
  NOT_FOUND,
  OTHER_OPERATION,
  ok,
  operationState,
  profileOf,
  refuse,
  statsOf,
  USAGE,
  unitOf,
} from "./hindsight-answers.ts";
import {
  Bank,
  type Fact,
  type HindsightDocument,
  type Operation,
  type RetainItem,
  type TagsMatch,
} from "./hindsight-bank.ts";
import { bankBody, configBody, recallBody, reflectBody, retainBody, UUID } from "./hindsight-bodies.ts";

export type HindsightOptions = {
  /** What `/version` reports; undefined: there is no such route. */
  readonly version?: string;
};

export class FakeHindsight extends FakeServer {
  version: string | undefined;
  /** The name of the field of `/version`. */
  versionField: "api_version" | "version" = "api_version";
  /** Changes to the features that `/version` reports. */
  features: Readonly<Record<string, boolean>> = {};
  /** The text that reflect answers. */
  reflection: string | ((query: string, bank: string) => string) = "Nothing is known about that.";
  /** Without a language model facts come as they are, without observations, and reflect is refused. */
  hasLanguageModel = true;
  /** In batch mode only asynchronous retains are accepted. */
  isBatchMode = false;
  isHealthy = true;
  /** Asynchronous retains wait for `settle`. */
  settleByHand = false;
  /** Banks that answer 503 with Retry-After. */
  readonly movingBanks = new Set<string>();
  readonly #banks = new Map<string, Bank>();
  #ids = 0;

  constructor({ version = "0.9.1" }: HindsightOptions = {}) {
    super();
    this.version = version;
  }

  // ---- For tests

  /** Applies the asynchronous retains that wait, oldest first. */
  settle(): void {
    for (const bank of this.#banks.values())
      for (const operation of bank.operations.values())
        if (operation.status === "pending") this.#apply(bank, operation);
  }

  /** Stores items without a request. */
  retain(bank: string, ...items: readonly RetainItem[]): void {
    this.#bank(bank).retain(items, [], this.hasLanguageModel);
  }

  banks(): readonly string[] {
    return [...this.#banks.keys()];
  }

  documents(bank: string): readonly HindsightDocument[] {
    return [...(this.#banks.get(bank)?.documents.values() ?? [])];
  }

  document(bank: string, id: string): HindsightDocument | undefined {
    return this.#banks.get(bank)?.documents.get(id);
  }

  facts(bank: string): readonly Fact[] {
    return this.#banks.get(bank)?.facts ?? [];
  }

  operations(bank: string): readonly Operation[] {
    return [...(this.#banks.get(bank)?.operations.values() ?? [])];
  }

  /** What PATCH config and PUT changed. */
  overrides(bank: string): Readonly<Record<string, unknown>> {
    return this.#banks.get(bank)?.overrides ?? {};
  }

  /** Every bank with its documents (as the items that were retained into them) and settings, without times. */
  stored(): unknown {
    const banks = [...this.#banks.values()].map((bank) => {
      const documents = [...bank.documents.values()].map(({ id, text, tags, items }) => ({
        id,
        text,
        tags,
        items,
      }));
      const waiting = [...bank.operations.values()].filter((operation) => operation.status === "pending");
      return [bank.id, { documents, overrides: bank.overrides, waiting: waiting.map(({ items }) => items) }];
    });
    return Object.fromEntries(banks);
  }

  // ---- Requests

  protected isAuthorised(headers: IncomingHttpHeaders, token: string, path: string): boolean {
    return !path.startsWith("/v1/") || headers.authorization === `Bearer ${token}`;
  }

  protected refusal(): FakeReply {
    return failure(401, "Invalid API key");
  }

  protected handle(request: SeenRequest): FakeReply {
    const [root, tenant, area, bankId, ...rest] = request.path.split("/").slice(1).map(decodeURIComponent);
    if (root === "version" && tenant === undefined) return this.#versionReply();
    if (root === "health" && [undefined, "live", "ready"].includes(tenant) && area === undefined)
      return this.#health();
    if (root !== "v1" || tenant !== "default" || area !== "banks") return NOT_FOUND;
    if (bankId === undefined) return byMethod(request, { GET: () => this.#listBanks() });
    if (bankId === "") return NOT_FOUND;
    if (this.movingBanks.has(bankId))
      return { ...failure(503, "The bank is moving"), headers: { "retry-after": "1" } };
    const isNew = !this.#banks.has(bankId);
    const reply = this.#inBank(bankId, rest, request);
    if (isNew && reply.status >= 400) this.#banks.delete(bankId); // a refused request makes no bank
    return reply;
  }

  #inBank(id: string, [kind, item, ...more]: readonly string[], request: SeenRequest): FakeReply {
    if (more.length > 0) return NOT_FOUND;
    const bank = () => this.#bank(id);
    const { body } = request;
    if (item === undefined)
      switch (kind) {
        case undefined:
          return byMethod(request, {
            PUT: () => this.#updateBank(bank(), body),
            DELETE: () => this.#deleteBank(id),
          });
        case "profile":
          return byMethod(request, { GET: () => ok(profileOf(bank())) });
        case "config":
          return this.#config(bank(), request);
        case "memories":
          return byMethod(request, {
            POST: () => this.#retain(bank(), body),
            DELETE: () => ok({ success: true, deleted_count: bank().clear() }),
          });
        case "reflect":
          return byMethod(request, { POST: () => this.#reflect(bank(), body) });
        case "documents":
          return byMethod(request, { GET: () => listDocuments(bank(), request) });
        case "operations":
          return byMethod(request, { GET: () => listOperations(bank(), request) });
        case "tags":
          return byMethod(request, { GET: () => listTags(bank(), request) });
        case "stats":
          return byMethod(request, { GET: () => ok(statsOf(bank())) });
        case "directives":
        case "mental-models":
          return byMethod(request, { GET: () => ok({ items: [] }) });
        default:
          return NOT_FOUND;
      }
    switch (`${kind}/${item}`) {
      case "memories/list":
        return byMethod(request, { GET: () => listMemories(bank(), request) });
      case "memories/recall":
        return byMethod(request, { POST: () => this.#recall(bank(), body) });
      case "files/retain":
        return byMethod(request, { POST: () => this.#retainFiles(bank(), body) });
    }
    if (kind === "documents") return documentReply(bank(), item, request);
    if (kind === "operations") return this.#operation(bank(), item, request);
    return NOT_FOUND;
  }

  #versionReply(): FakeReply {
    if (this.version === undefined) return NOT_FOUND;
    return ok({ [this.versionField]: this.version, features: this.#features() });
  }

  #features(): Readonly<Record<string, boolean>> {
    const isNew = this.#isSince("0.5.0");
    return {
      observations: true,
      mcp: true,
      worker: true,
      bank_config_api: isNew,
      bank_llm_health: isNew,
      file_upload_api: isNew,
      document_export_api: isNew,
      document_import_api: isNew,
      audit_log: false,
      llm_trace: false,
      store_document_text: true,
      ...this.features,
    };
  }

  #isSince(version: string): boolean {
    const parts = (each: string) => each.split(".").map(Number);
    const [wanted, own] = [parts(version), parts(this.version ?? "0")];
    const index = wanted.findIndex((part, at) => part !== (own[at] ?? 0));
    return index === -1 || (own[index] ?? 0) > (wanted[index] ?? 0);
  }

  #health(): FakeReply {
    if (this.isHealthy) return ok({ status: "healthy", database: "connected" });
    return { status: 503, body: { status: "unhealthy", database: "disconnected" } };
  }

  #bank(id: string): Bank {
    const bank = this.#banks.get(id) ?? new Bank(id, () => this.#nextId());
    this.#banks.set(id, bank);
    return bank;
  }

  #nextId(): string {
    this.#ids += 1;
    return `10000000-0000-4000-8000-${this.#ids.toString(16).padStart(12, "0")}`;
  }

  #apply(bank: Bank, operation: Operation): void {
    bank.retain(operation.items, operation.documentTags, this.hasLanguageModel);
    operation.status = "completed";
    operation.updatedAt = new Date().toISOString();
  }

  // ---- Calls

  #listBanks(): FakeReply {
    const banks = [...this.#banks.values()].map(({ id, name, createdAt }) => ({
      bank_id: id,
      name,
      created_at: createdAt,
      updated_at: createdAt,
    }));
    return ok({ banks });
  }

  #updateBank(bank: Bank, body: unknown): FakeReply {
    const wrong = invalid(body, bankBody);
    if (wrong !== undefined) return wrong;
    const { name, ...settings } = body as Record<string, unknown>;
    if (typeof name === "string") bank.name = name;
    Object.assign(bank.overrides, settings);
    return ok(profileOf(bank));
  }

  #deleteBank(id: string): FakeReply {
    const count = this.#banks.get(id)?.facts.length ?? 0;
    if (!this.#banks.delete(id)) return failure(404, "Bank not found");
    return ok({ success: true, message: `Bank '${id}' was deleted`, deleted_count: count });
  }

  #config(bank: Bank, request: SeenRequest): FakeReply {
    if (this.#features().bank_config_api !== true) return failure(404, "The bank configuration API is off");
    const config = () =>
      ok({
        bank_id: bank.id,
        config: { reflect_mission: "", retain_mission: "", ...bank.overrides },
        overrides: bank.overrides,
      });
    return byMethod(request, {
      GET: config,
      PATCH: () => {
        const wrong = invalid(request.body, configBody);
        if (wrong !== undefined) return wrong;
        Object.assign(bank.overrides, (request.body as { updates: object }).updates);
        return config();
      },
      DELETE: () => {
        for (const key of Object.keys(bank.overrides)) delete bank.overrides[key];
        return config();
      },
    });
  }

  #retain(bank: Bank, body: unknown): FakeReply {
    const wrong = invalid(body, retainBody(this.#isSince("0.5.0"), this.#isSince("0.9.1")));
    if (wrong !== undefined) return wrong;
    const request = body as {
      items: readonly RetainItem[];
      async?: boolean;
      document_tags?: readonly string[] | null;
      operation_id?: string | null;
    };
    const appended = request.items.filter((item) => item.update_mode === "append");
    if (appended.some((item) => !item.document_id))
      return failure(400, "update_mode 'append' needs a document_id");
    if (appended.length > 0 && this.#features().store_document_text !== true)
      return failure(400, "update_mode 'append' needs stored document texts, and storing them is off");
    const documentTags = request.document_tags ?? [];
    const answer = { success: true, bank_id: bank.id, items_count: request.items.length };
    if (request.async !== true) {
      if (this.isBatchMode) return failure(400, "In batch mode only asynchronous retains are possible");
      bank.retain(request.items, documentTags, this.hasLanguageModel);
      return ok({ ...answer, async: false, usage: USAGE });
    }
    const id = request.operation_id ?? this.#nextId();
    const others = [...this.#banks.values()].filter((other) => other !== bank);
    if (others.some((other) => other.operations.has(id))) return OTHER_OPERATION;
    const known = bank.operations.get(id);
    if (known !== undefined && known.request !== JSON.stringify(body)) return OTHER_OPERATION;
    if (known === undefined)
      this.#submit(bank, { id, items: request.items, documentTags, request: JSON.stringify(body) });
    return ok({ ...answer, async: true, operation_id: id, operation_ids: [id] });
  }

  #submit(
    bank: Bank,
    given: Pick<Operation, "id" | "items" | "documentTags" | "request">,
    type: Operation["type"] = "retain",
  ): void {
    const now = new Date().toISOString();
    const operation: Operation = { ...given, type, status: "pending", createdAt: now, updatedAt: now };
    bank.operations.set(given.id, operation);
    if (!this.settleByHand) this.#apply(bank, operation);
  }

  #retainFiles(bank: Bank, body: unknown): FakeReply {
    if (this.#features().file_upload_api !== true) return failure(404, "The file upload API is off");
    const parts: readonly FormPart[] =
      (body as { multipart?: readonly FormPart[] } | undefined)?.multipart ?? [];
    const files = parts.filter((part) => part.name === "files");
    const request = parts.find((part) => part.name === "request");
    if (files.length === 0 || request === undefined)
      return refuse([
        { type: "missing", loc: ["body", files.length === 0 ? "files" : "request"], msg: "Field required" },
      ]);
    const about = JSON.parse(request.value) as { files_metadata?: readonly Partial<RetainItem>[] };
    const ids = files.map((file, index) => {
      const id = this.#nextId();
      const items = [{ ...about.files_metadata?.[index], content: file.value }];
      this.#submit(bank, { id, items, documentTags: [], request: id }, "file_convert_retain");
      return id;
    });
    return ok({ operation_ids: ids });
  }

  #recall(bank: Bank, body: unknown): FakeReply {
    const wrong = invalid(body, recallBody);
    if (wrong !== undefined) return wrong;
    const request = body as {
      query: string;
      types?: readonly string[] | null;
      tags?: readonly string[] | null;
      tags_match?: TagsMatch;
      max_tokens?: number;
      prefer_observations?: boolean;
      include?: { entities?: unknown };
      min_scores?: Readonly<Record<string, number | null>> | null;
    };
    const found = bank.recall(request.query, {
      types: request.types ?? ["world", "experience"],
      tags: request.tags ?? [],
      tagsMatch: request.tags_match ?? "any",
      maxTokens: request.max_tokens ?? 4096,
      minScore: Math.max(0, ...Object.values(request.min_scores ?? {}).map((score) => score ?? 0)),
      prefersObservations: request.prefer_observations === true,
    });
    const names = new Set(found.flatMap(({ item }) => item.entities));
    const entities = [...names].map((name) => [
      name,
      { entity_id: `entity-${name}`, canonical_name: name, observations: [] },
    ]);
    return ok({
      results: found.map(({ item, score }) => ({
        ...unitOf(item),
        scores: { final: score, semantic: score, keyword: score },
      })),
      trace: null,
      entities: request.include?.entities === null ? null : Object.fromEntries(entities),
      chunks: null,
    });
  }

  #reflect(bank: Bank, body: unknown): FakeReply {
    const wrong = invalid(body, reflectBody);
    if (wrong !== undefined) return wrong;
    if (!this.hasLanguageModel)
      return failure(400, "Reflect needs a language model, and the provider is 'none'");
    const { query } = body as { query: string };
    const answer = typeof this.reflection === "string" ? this.reflection : this.reflection(query, bank.id);
    return ok({ text: answer, based_on: null, structured_output: null, usage: USAGE, trace: null });
  }

  #operation(bank: Bank, id: string, request: SeenRequest): FakeReply {
    if (!UUID.test(id)) return failure(400, `Invalid operation_id: ${id}`);
    const operation = bank.operations.get(id);
    return byMethod(request, {
      GET: () =>
        ok(operation === undefined ? { operation_id: id, status: "not_found" } : operationState(operation)),
      DELETE: () => {
        if (operation === undefined) return failure(404, "Operation not found");
        if (operation.status !== "pending") return failure(409, `The operation is ${operation.status}`);
        operation.status = "cancelled";
        return ok({ success: true, message: "The operation was cancelled", operation_id: id });
      },
    });
  }
}
