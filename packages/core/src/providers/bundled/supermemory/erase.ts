// Erasing at Supermemory. Documents are deleted for good, with the memories made of them. A memory by itself can only be hidden.
import type { ForgetReport } from "../../contract.ts";
import type { SupermemoryApi } from "./api.ts";

type Options = { readonly isDryRun: boolean; readonly signal: AbortSignal };

/** Requests at the same time. */
const PARALLEL = 6;
const SEARCH_LIMIT = 100;

/** Every document that contains the text, and every memory that contains it and was made of another document. */
export async function forgetText(
  api: SupermemoryApi,
  tags: readonly string[],
  text: string,
  { isDryRun, signal }: Options,
): Promise<ForgetReport> {
  let erased = 0;
  let hidden = 0;
  for (const tag of tags) {
    const documents = await withContents(api, tag, signal);
    const doomed = documents.filter(({ content }) => content.includes(text));
    const hits = await api.search(text, { tag, limit: SEARCH_LIMIT, mode: "memories", threshold: 0 }, signal);
    const isOfDocument = (memory: string) => doomed.some(({ content }) => content.includes(memory));
    const memories = hits.filter((hit) => hit.text.includes(text) && !isOfDocument(hit.text));
    if (!isDryRun) {
      await inParallel(doomed, ({ id }) => api.deleteDocument(id, signal));
      await inParallel(memories, ({ id }) => api.forgetMemory(tag, id, signal));
    }
    erased += doomed.length + memories.length;
    hidden += memories.length;
  }
  if (hidden === 0) return { erased };
  const remaining = `${hidden} of them are memories without a document of their own: Supermemory hides such memories and does not delete them. Deleting the container in its console does.`;
  return { erased, remaining };
}

/** Documents and memories, with their containers. */
export async function eraseContainers(
  api: SupermemoryApi,
  tags: readonly string[],
  { isDryRun, signal }: Options,
): Promise<ForgetReport> {
  let erased = 0;
  for (const tag of tags) {
    const documents = await api.documents(tag, signal);
    // Memories that were written directly have no document.
    erased +=
      documents.length > 0 ? documents.length : ((await api.container(tag, signal))?.memoryCount ?? 0);
    if (isDryRun || (await api.deleteContainer(tag, signal))) continue;
    await inParallel(documents, ({ id }) => api.deleteDocument(id, signal)); // a server that cannot delete containers
  }
  return { erased };
}

async function withContents(api: SupermemoryApi, tag: string, signal: AbortSignal) {
  const listed = await api.documents(tag, signal);
  const read = await inParallel(listed, async (each) =>
    each.content === "" ? ((await api.document(each.id, signal)) ?? each) : each,
  );
  return read;
}

async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
  return results;
}
