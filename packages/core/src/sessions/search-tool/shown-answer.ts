// A search answer as `hermes sessions search` and /search in a chat show it.
import type { SearchAnswer, SearchHit } from "../search/types.ts";
import type { SessionStore } from "../store.ts";
import {
  cleanText,
  foldedSearch,
  isEarlierSearch,
  leftOutField,
  leftOutRemark,
  notSearchedField,
  notSearchedRemark,
  orderRemark,
  shownConfidence,
  weakRemark,
} from "./answer-parts.ts";
import { shortSnippet as cutSnippet } from "./discover.ts";

export type NamedHit = SearchHit & { readonly title: string | null };

/** A session without a title gets the title of the first session of its lineage. */
export function withTitles(store: SessionStore, hits: readonly SearchHit[]): Promise<NamedHit[]> {
  const titleOf = (id: string): Promise<string | null> => store.getSessionTitle(id);
  return Promise.all(
    hits.map(async (hit) => ({
      ...hit,
      title: (await titleOf(hit.session_id)) ?? (await titleOf(hit.lineage_root)),
    })),
  );
}

/** What was not searched, and what the order of the hits leaves out. */
export function remarksOn(answer: SearchAnswer): string[] {
  const remarks = [notSearchedRemark(answer), leftOutRemark(answer), orderRemark(answer)];
  return remarks.filter((line) => line !== undefined);
}

/** Field names as in the answer of the `session_search` tool. */
export function answerJson(query: string, answer: SearchAnswer, hits: readonly NamedHit[]): object {
  const { stage, empty, confidence } = answer;
  return {
    query,
    stage,
    empty: empty ?? null,
    confidence: confidence && shownConfidence(answer),
    is_weak: confidence?.isWeak,
    message: weakRemark(answer),
    ...notSearchedField(answer),
    ...leftOutField(answer),
    order_note: orderRemark(answer),
    hits: hits.map((hit) => ({
      ...hit,
      snippet: snippetOf(hit),
      context: hit.context.map(({ role, content }) => ({ role, content: cleanText(content) })),
      // An earlier search quotes other conversations, which are hits themselves.
      ...(isEarlierSearch(hit) ? { context: [], folded: true } : {}),
    })),
  };
}

/** As clean text. For the output of an earlier search: one line that says so, without the snippets in it. */
function snippetOf(hit: SearchHit): string {
  if (!isEarlierSearch(hit)) return cleanText(hit.snippet);
  return foldedSearch(hit, hit.context.map(({ content }) => content).join("\n"));
}

/** With the match in it. */
export function shortSnippet(hit: SearchHit, mostChars: number): string {
  return cutSnippet(snippetOf(hit), mostChars);
}
