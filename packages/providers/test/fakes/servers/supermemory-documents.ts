// The calls of Supermemory for documents, their containers and the account.
import type { FakeReply, FormPart } from "./fake-server.ts";
import {
  between,
  type Fields,
  integer,
  isBoolean,
  type JsonObject,
  listOf,
  nullable,
  objectOf,
  oneOf,
  type Route,
  text,
} from "./strict.ts";
import type { Container, DocumentInput, StoredDocument, SupermemoryStore } from "./supermemory-store.ts";
import {
  CONTAINER_FIELDS,
  CONTEXT,
  DOCUMENT_FIELDS,
  FILTERS,
  invalid,
  iso,
  METADATA,
  notFound,
  passes,
  refused,
  TAG,
  TAGS,
} from "./supermemory-wire.ts";

const DOCUMENT_SEARCH_FIELDS: Fields = {
  ...CONTAINER_FIELDS,
  limit: integer(1, 100),
  documentThreshold: between(0, 1),
  chunkThreshold: between(0, 1),
  includeFullDocs: isBoolean,
  includeSummary: isBoolean,
  onlyMatchingChunks: isBoolean,
  filters: FILTERS,
};

export function documentRoutes(store: SupermemoryStore): readonly Route[] {
  const one = /^\/v3\/documents\/([^/]+)$/;
  const queued = ({ id }: StoredDocument): FakeReply => ({ status: 200, body: { id, status: "queued" } });
  return [
    {
      method: "POST",
      path: /^\/v3\/documents$/,
      answer: ({ body }) => {
        const refusal =
          refused(body, { content: text() }, { ...DOCUMENT_FIELDS, ...CONTAINER_FIELDS }) ??
          refusedTags(body);
        return refusal ?? queued(store.putDocument(inputOf(body as JsonObject)));
      },
    },
    {
      method: "POST",
      path: /^\/v3\/documents\/batch$/,
      answer: ({ body }) => {
        const document = objectOf({ content: text() }, DOCUMENT_FIELDS);
        const refusal =
          refused(body, { documents: listOf(document, 1) }, CONTAINER_FIELDS) ?? refusedTags(body);
        if (refusal !== undefined) return refusal;
        const { documents, ...shared } = body as { documents: readonly JsonObject[] } & JsonObject;
        const results = documents.map((each) => {
          const { id } = store.putDocument(inputOf({ ...shared, ...each }));
          return { id, status: "queued" };
        });
        return { status: 200, body: { failed: 0, success: results.length, results } };
      },
    },
    {
      method: "POST",
      path: /^\/v3\/documents\/file$/,
      answer: ({ body }) => {
        const fields = formFields(body);
        if (fields === undefined) return invalid("the body is not a form with JSON metadata");
        const optional = { metadata: METADATA, customId: TAG, ...CONTAINER_FIELDS };
        const refusal = refused(fields, { file: text() }, optional) ?? refusedTags(fields);
        if (refusal !== undefined) return refusal;
        const { file, ...rest } = fields;
        return queued(store.putDocument(inputOf({ ...rest, content: file })));
      },
    },
    {
      method: "POST",
      path: /^\/v3\/documents\/list$/,
      answer: ({ body }) => listDocuments(store, body),
    },
    {
      method: "GET",
      path: /^\/v3\/documents\/processing$/,
      answer: () => {
        const documents = store.documents().filter(({ status }) => status === "queued");
        return { status: 200, body: { documents: documents.map(toWire), totalCount: documents.length } };
      },
    },
    {
      method: "DELETE",
      path: /^\/v3\/documents\/bulk$/,
      answer: ({ body }) => {
        const refusal = refused(body, {}, { ids: listOf(text(), 1), containerTags: TAGS });
        if (refusal !== undefined) return refusal;
        const { ids, containerTags = [] } = body as {
          ids?: readonly string[];
          containerTags?: readonly string[];
        };
        if (ids === undefined && containerTags.length === 0)
          return invalid("ids or containerTags is required");
        const doomed = ids ?? containerTags.flatMap((tag) => store.documentsOf(tag).map(({ id }) => id));
        const deletedCount = doomed.filter((id) => store.deleteDocument(id)).length;
        return { status: 200, body: { deletedCount, success: true } };
      },
    },
    {
      method: "GET",
      path: one,
      answer: (_, id = "") => {
        const document = store.document(id);
        if (document === undefined) return notFound();
        return { status: 200, body: { ...toWire(document), content: document.content, raw: null } };
      },
    },
    {
      method: "PATCH",
      path: one,
      answer: ({ body }, id = "") => {
        const refusal = refused(body, {}, { content: text(), ...DOCUMENT_FIELDS, ...CONTAINER_FIELDS });
        const document = store.document(id);
        if (refusal !== undefined || document === undefined) return refusal ?? notFound();
        return queued(store.putDocument(inputOf(body as JsonObject), document.id));
      },
    },
    {
      method: "DELETE",
      path: one,
      answer: (_, id = "") => (store.deleteDocument(id) ? { status: 204 } : notFound()),
    },
    {
      method: "POST",
      path: /^\/v3\/search$/,
      answer: ({ body }) => searchDocuments(store, body),
    },
  ];
}

function listDocuments(store: SupermemoryStore, body: unknown): FakeReply {
  const optional = {
    containerTags: TAGS,
    limit: integer(1, 1000),
    page: integer(1),
    sort: oneOf("createdAt", "updatedAt"),
    order: oneOf("asc", "desc"),
  };
  const refusal = refused(body, {}, optional);
  if (refusal !== undefined) return refusal;
  const {
    containerTags,
    limit = 10,
    page = 1,
    sort = "createdAt",
    order = "desc",
  } = body as {
    containerTags?: readonly string[];
    limit?: number;
    page?: number;
    sort?: "createdAt" | "updatedAt";
    order?: "asc" | "desc";
  };
  const isWanted = (tag: string) => containerTags === undefined || containerTags.includes(tag);
  const found = store.documents().filter((document) => document.containerTags.some(isWanted));
  const sorted = found.toSorted((a, b) => a[`${sort}Ms`] - b[`${sort}Ms`]);
  if (order === "desc") sorted.reverse();
  const totalItems = found.length;
  const pagination = { currentPage: page, totalItems, totalPages: Math.ceil(totalItems / limit), limit };
  const memories = sorted.slice((page - 1) * limit, page * limit).map(toWire);
  return { status: 200, body: { memories, pagination } };
}

function searchDocuments(store: SupermemoryStore, body: unknown): FakeReply {
  const refusal = refused(body, { q: text() }, DOCUMENT_SEARCH_FIELDS) ?? refusedTags(body);
  if (refusal !== undefined) return refusal;
  const {
    q,
    limit = 10,
    documentThreshold = 0,
    filters,
  } = body as {
    q: string;
    limit?: number;
    documentThreshold?: number;
    filters?: JsonObject;
  };
  const hits = tagsIn(body as JsonObject).flatMap((tag) => store.search(q, tag, "documents"));
  const results = hits
    .filter((hit) => hit.similarity >= documentThreshold && passes(filters, hit))
    .slice(0, limit)
    .flatMap((hit) => {
      if (hit.kind !== "chunk") return [];
      const { id, title, metadata, createdAt, updatedAt } = toWire(hit.document);
      const score = hit.similarity;
      const chunks = [{ content: hit.document.content, isRelevant: true, score }];
      return [{ documentId: id, title, type: "text", score, metadata, createdAt, updatedAt, chunks }];
    });
  return { status: 200, body: { results, timing: 1, total: results.length } };
}

export function tagRoutes(store: SupermemoryStore): readonly Route[] {
  const one = /^\/v3\/container-tags\/([^/]+)$/;
  const known = (tag: string) => store.containers().find(({ containerTag }) => containerTag === tag);
  const wire = (container: Container) => {
    const { createdAtMs, updatedAtMs, ...rest } = container;
    const documentCount = store.documentsOf(container.containerTag).length;
    const memoryCount = store.live(container.containerTag).length;
    const times = { createdAt: iso(createdAtMs), updatedAt: iso(updatedAtMs) };
    return { ...rest, documentCount, memoryCount, ...times };
  };
  return [
    {
      method: "GET",
      path: /^\/v3\/container-tags\/list$/,
      answer: () => {
        const tags = store.containers().map(wire);
        return { status: 200, body: { containerTags: tags, tags } };
      },
    },
    {
      method: "GET",
      path: one,
      answer: (_, tag = "") => {
        const container = known(tag);
        return container === undefined ? notFound() : { status: 200, body: wire(container) };
      },
    },
    {
      method: "PATCH",
      path: one,
      answer: ({ body }, tag = "") => {
        const refusal =
          refused({ tag }, { tag: TAG }) ??
          refused(body, {}, { entityContext: nullable(CONTEXT), name: text() });
        return refusal ?? { status: 200, body: wire(store.changeContainer(tag, body as JsonObject)) };
      },
    },
    {
      method: "DELETE",
      path: one,
      answer: (_, tag = "") => {
        const container = known(tag);
        if (container === undefined) return notFound();
        const body = wire(container);
        store.deleteContainer(tag);
        return { status: 200, body };
      },
    },
    {
      method: "GET",
      path: /^\/v3\/settings$/,
      answer: () => ({ status: 200, body: { shouldLLMFilter: false } }),
    },
    {
      method: "GET",
      path: /^\/v3\/session$/,
      answer: () => {
        const user = { id: "u", email: "a@example.com" };
        return { status: 200, body: { user, org: { id: "o", name: "o" } } };
      },
    },
  ];
}
function tagsIn({ containerTag, containerTags }: JsonObject): readonly string[] {
  if (containerTag !== undefined) return [containerTag as string];
  return (containerTags as readonly string[] | undefined) ?? [];
}

function inputOf(body: JsonObject): DocumentInput {
  const { containerTag: _, containerTags: _all, ...fields } = body;
  const tags = tagsIn(body);
  return { ...fields, ...(tags.length === 0 ? {} : { containerTags: tags }) };
}

/** The fields of a form; undefined: it is none, or its metadata is no JSON. */
function formFields(body: unknown): JsonObject | undefined {
  const parts = (body as { multipart?: readonly FormPart[] } | undefined)?.multipart;
  if (parts === undefined) return undefined;
  const fields: Record<string, unknown> = Object.fromEntries(parts.map(({ name, value }) => [name, value]));
  try {
    return typeof fields.metadata === "string"
      ? { ...fields, metadata: JSON.parse(fields.metadata) }
      : fields;
  } catch {
    return undefined;
  }
}

function toWire({ id, customId, title, status, metadata, containerTags, ...document }: StoredDocument) {
  return {
    id,
    customId,
    connectionId: null,
    title,
    summary: null,
    status,
    type: "text",
    metadata,
    containerTags,
    createdAt: iso(document.createdAtMs),
    updatedAt: iso(document.updatedAtMs),
  };
}

function refusedTags(body: unknown): FakeReply | undefined {
  return tagsIn(body as JsonObject).length === 0 ? invalid("containerTag is required") : undefined;
}
