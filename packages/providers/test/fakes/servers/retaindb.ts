// A fake RetainDB: the service (`cloud`), the open server (`open`) or `@retaindb/local` (`local`). What the server extracts from a
// conversation, its answers and the model of an agent are set by the test.
import type { z } from "zod";
import { type FakeReply, type FormPart, rank, type SeenRequest } from "./fake-server.ts";
import {
  RetainDbControls,
  type RetainDbEdition,
  type RetainDbFile,
  type RetainDbMemory,
  type RetainDbQuestion,
} from "./retaindb-controls.ts";
import { bodies, parse, queries } from "./retaindb-wire.ts";
import { answerWith, type Call, Refusal, type Route, route } from "./routes.ts";

/** Memories carry their vector on the wire; a client must not show it to a model. */
const EMBEDDING = [0.125, -0.25, 0.5];

export class FakeRetainDb extends RetainDbControls {
  readonly #replies = new Map<string, FakeReply>();
  readonly #routes: readonly Route[] = this.#table();

  protected override handle(request: SeenRequest): FakeReply {
    const key = request.headers["idempotency-key"];
    const remembered = typeof key === "string" ? `${request.method} ${request.path} ${key}` : undefined;
    const known = remembered === undefined ? undefined : this.#replies.get(remembered);
    if (known !== undefined) return known;
    const reply = answerWith(this.#routes, request, (status) =>
      status === 404 ? this.#notFound("Not found").reply : { status, body: { error: "Method not allowed" } },
    );
    if (remembered !== undefined && reply.status < 300) this.#replies.set(remembered, reply);
    return reply;
  }

  #table(): readonly Route[] {
    const M = "/v1/memory";
    return [
      route("GET", "/health", () => ok({ status: "ok" })),
      route("POST", "/v1/context/query", (call) => this.#context(call)),
      route("POST", `${M}/search`, (call) => this.#search(call)),
      route("POST", M, (call) => this.#add(call)),
      route("POST", "/v1/memories", (call) => this.#addOld(call)),
      route("GET", "/v1/memories", (call) => {
        this.#needPaths("memories");
        const { project, user_id, limit } = queryOf(call, queries.memories);
        const chosen = this.visible(project, user_id);
        return ok({ memories: chosen.slice(0, limit).map(memoryView) });
      }),
      route("POST", `${M}/ingest/session`, (call) => this.#ingest(call)),
      route("GET", `${M}/profile/:user`, (call) => {
        this.#needPaths("memory");
        const { project } = queryOf(call, queries.profile);
        const memories = this.visible(project, call.params.user).map(memoryView);
        return ok({ user_id: call.params.user, memories, count: memories.length });
      }),
      route("POST", `${M}/profile/:user/ask`, (call) => {
        this.#needEdition("cloud");
        const { project, query, reasoning_level: level = "low" } = bodyOf(call, bodies.ask);
        return this.#answer({ project, user: call.params.user ?? "", query, level });
      }),
      route("POST", `${M}/dialectic`, (call) => {
        this.#needEdition("open");
        const {
          project,
          user_id: user,
          question: query,
          reasoning_level: level = "low",
        } = bodyOf(call, bodies.dialectic);
        return this.#answer({ project, user, query, level });
      }),
      route("GET", `${M}/agent/:agent/model`, (call) => this.#agentModel(call)),
      route("POST", `${M}/agent/:agent/seed`, (call) => {
        this.#needEdition("cloud", "open");
        const { project, content, source } = bodyOf(call, bodies.seed);
        this.seeds.push({ project, agent: call.params.agent ?? "", content, source });
        return ok({ agent_id: call.params.agent, seeded: 1 });
      }),
      route("DELETE", `${M}/:id`, (call) => {
        this.#needPaths("memory");
        return this.#delete(call, (memory_id) => ({ success: true, memory_id }));
      }),
      route("DELETE", "/v1/memories/:id", (call) => {
        this.#needPaths("memories");
        return this.#delete(call, () => ({ deleted: true }));
      }),
      route("POST", "/v1/files", (call) => this.#upload(call)),
      route("GET", "/v1/files", (call) => {
        this.#needEdition("cloud", "open");
        const { limit, prefix = "", project_id } = queryOf(call, queries.files);
        const chosen = this.allFiles.filter(
          ({ path, project }) =>
            path.startsWith(prefix) && (project_id === undefined || project === project_id),
        );
        return ok({ files: chosen.slice(0, limit).map(fileView), total: chosen.length });
      }),
      route("GET", "/v1/files/:id", (call) => ok({ success: true, file: fileView(this.#file(call)) })),
      route("GET", "/v1/files/:id/content", (call): FakeReply => {
        const { content, mimeType } = this.#file(call);
        if (this.storageUrl !== undefined) return { status: 302, headers: { location: this.storageUrl } };
        return { status: 200, raw: content, headers: { "content-type": mimeType } };
      }),
      route("POST", "/v1/files/:id/ingest", (call) => this.#ingestFile(call)),
      route("DELETE", "/v1/files/:id", (call) => {
        const { id } = this.#file(call);
        this.allFiles = this.allFiles.filter((each) => each.id !== id);
        return ok({ success: true, deleted: id });
      }),
    ];
  }

  // ---- What a call names

  #memory(call: Call): RetainDbMemory {
    const found = this.allMemories.find(({ id }) => id === call.params.id);
    if (found === undefined) throw this.#notFound("Memory not found");
    return found;
  }

  #file(call: Call): RetainDbFile {
    this.#needEdition("cloud", "open");
    queryOf(call, queries.none);
    const found = this.allFiles.find(({ id }) => id === call.params.id);
    if (found === undefined) throw this.#notFound("File not found");
    return found;
  }

  #needEdition(...editions: readonly RetainDbEdition[]): void {
    if (!editions.includes(this.edition)) throw this.#notFound("Not found");
  }

  #needPaths(paths: "memory" | "memories"): void {
    if (this.memoryPaths !== "both" && this.memoryPaths !== paths) throw this.#notFound("Not found");
  }

  #notFound(message: string): Refusal {
    const error = this.edition === "local" ? { code: "NOT_FOUND" } : message;
    return new Refusal({ status: 404, body: { error } });
  }

  #fault(status: number, code: string, message: string): Refusal {
    const trace_id = this.newId("trace");
    return new Refusal({ status, body: { success: false, error: { code, message }, trace_id } });
  }

  // ---- Calls

  #context(call: Call): FakeReply {
    const body = bodyOf(call, bodies.context);
    const memories = body.include_memories === false ? [] : this.visible(body.project, body.user_id);
    let chars = 4 * (body.max_tokens ?? Infinity);
    const results = rank(body.query, memories, ({ content }) => content)
      .filter(({ item }) => {
        chars -= item.content.length;
        return chars >= 0;
      })
      .map(({ item, score }) => ({
        id: item.id,
        content: item.content,
        score,
        metadata: item.metadata,
        source: "memory",
        document: "",
        type: "memory",
        retrieval_source: "memory",
      }));
    const context = results.map(({ content }) => content).join("\n");
    const tokens_used = Math.ceil(context.length / 4);
    const meta = {
      query: body.query,
      total: results.length,
      latency_ms: 1,
      cache_hit: false,
      tokens_used,
      context_hash: "h",
    };
    return ok({ results, context, meta });
  }

  #search(call: Call): FakeReply {
    const body = bodyOf(call, bodies.search);
    const memories = this.visible(body.project, body.user_id);
    const isLocal = this.edition === "local";
    const results = rank(body.query, memories, ({ content }) => content)
      .slice(0, body.top_k ?? 10)
      .map(({ item, score }) => ({
        memory: memoryView(item),
        similarity: score,
        ...(isLocal ? { content: item.content, score } : {}),
      }));
    return ok({ results, count: results.length, trace_id: this.newId("trace") });
  }

  #add(call: Call): FakeReply {
    this.#needPaths("memory");
    const { project, write_mode = "sync", ...memory } = bodyOf(call, bodies.add);
    this.#guardWrite(write_mode);
    const stored = this.addMemory(project, memory);
    if (write_mode === "async") return this.#accepted();
    const body = { success: true, memory_id: stored.id, memory: memoryView(stored) };
    return { status: this.edition === "local" ? 200 : 201, body };
  }

  #addOld(call: Call): FakeReply {
    this.#needPaths("memories");
    const { project, write_mode = "sync", ...memory } = bodyOf(call, bodies.add);
    this.#guardWrite(write_mode);
    return ok(memoryView(this.addMemory(project, memory)));
  }

  #ingest(call: Call): FakeReply {
    const schema = this.edition === "local" ? bodies.ingestLocal : bodies.ingest;
    const { project, session_id, user_id, messages, write_mode = "sync" } = bodyOf(call, schema);
    this.#guardWrite(write_mode);
    const key = `${project} ${session_id}`;
    this.allMessages.set(key, [...(this.allMessages.get(key) ?? []), ...messages]);
    const added = textsOf(messages).map((content) =>
      this.addMemory(project, { content, user_id, session_id }),
    );
    if (write_mode === "async") return this.#accepted();
    return ok({
      success: true,
      memories_created: added.length,
      relations_created: 0,
      memories_invalidated: 0,
    });
  }

  #guardWrite(mode: "sync" | "async"): void {
    if (mode === "sync" && this.restrictsSyncWrites)
      throw this.#fault(403, "SYNC_WRITE_RESTRICTED", "Sync writes are restricted for this key");
  }

  #accepted(): FakeReply {
    const job_id = this.newId("job");
    return { status: 202, body: { job_id, status_url: `/v1/memory/jobs/${job_id}` } };
  }

  #delete(call: Call, view: (id: string) => object): FakeReply {
    queryOf(call, queries.none);
    const isKnown = this.allMemories.some(({ id }) => id === call.params.id);
    if (!isKnown && this.edition === "local") return ok({ deleted: null });
    const { id } = this.#memory(call);
    this.allMemories = this.allMemories.filter((each) => each.id !== id);
    return ok(this.edition === "local" ? { deleted: true } : view(id));
  }

  #answer(question: RetainDbQuestion): FakeReply {
    const { project, user, query, level } = question;
    const found = rank(query, this.visible(project, user), ({ content }) => content);
    const own = found.map(({ item }) => item.content).join("\n");
    const answer = typeof this.answer === "function" ? this.answer(question) : (this.answer ?? own);
    return ok({
      answer,
      supporting_memory_ids: found.map(({ item }) => item.id),
      coverage_score: found[0]?.score ?? 0,
      reasoning_level: level,
    });
  }

  #agentModel(call: Call): FakeReply {
    this.#needEdition("cloud", "open");
    const { project } = queryOf(call, queries.project);
    const agent = call.params.agent ?? "";
    const memory_count = this.seedsOf(project, agent).length;
    const empty = { persona: null, persistent_instructions: [], working_style: null, memory_count };
    return ok({ agent_id: agent, ...(this.models.get(`${project} ${agent}`) ?? empty) });
  }

  #upload(call: Call): FakeReply {
    this.#needEdition("cloud", "open");
    const parts = (call.request.body as { multipart?: readonly FormPart[] } | undefined)?.multipart ?? [];
    const fields = Object.fromEntries(parts.map(({ name, value }) => [name, value]));
    const { file: content, path, scope, project_id } = parse(bodies.file, fields);
    const { filename = "", contentType = "application/octet-stream" } =
      parts.find(({ name }) => name === "file") ?? {};
    const stored = this.addFile({
      path,
      name: filename,
      mimeType: contentType,
      scope,
      project: project_id,
      content,
    });
    return { status: 201, body: { success: true, file: fileView(stored) } };
  }

  #ingestFile(call: Call): FakeReply {
    const file = this.#file(call);
    const { project = file.project ?? "default", user_id } = bodyOf(call, bodies.ingestFile);
    const { id } = this.addMemory(project, {
      content: file.content,
      user_id,
      metadata: { file_id: file.id },
    });
    file.memoryId = id;
    return ok({ documents_indexed: 1, memories_created: 1, memory_id: id });
  }
}

/** What the server remembers of a conversation: each text of the user. */
function textsOf(
  messages: readonly { readonly role: string; readonly content: string }[],
): readonly string[] {
  return messages
    .filter(({ role, content }) => role === "user" && content.trim() !== "")
    .map(({ content }) => content);
}

function ok(body: unknown): FakeReply {
  return { status: 200, body };
}

function bodyOf<T>(call: Call, schema: z.ZodType<T>): T {
  queryOf(call, queries.none);
  return parse(schema, call.request.body);
}

function queryOf<T>(call: Call, schema: z.ZodType<T>): T {
  return parse(schema, call.request.query);
}

function memoryView({
  id,
  content,
  type,
  importance,
  createdAt,
  user,
  session,
  project,
  metadata,
}: RetainDbMemory) {
  const where = { user_id: user ?? null, session_id: session ?? null, project };
  return { id, content, type, importance, created_at: createdAt, ...where, metadata, embedding: EMBEDDING };
}

function fileView({ id, path, name, mimeType, content, scope, memoryId }: RetainDbFile) {
  const size = Buffer.byteLength(content);
  return {
    id,
    path,
    name,
    mime_type: mimeType,
    size,
    scope,
    rdb_uri: `rdb://files/${id}`,
    memory_id: memoryId,
  };
}
