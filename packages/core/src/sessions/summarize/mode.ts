// Summarise: discover, with a recap of each conversation instead of its messages.
import { codePointLength, takeCodePoints } from "../../lib/index.ts";
import type { SearchHit } from "../search/types.ts";
import type { DiscoverRequest } from "../search-tool/arguments.ts";
import {
  originOf,
  remarksOf,
  searchDemotingCron,
  searchOptions,
  shownQuery,
} from "../search-tool/discover.ts";
import { emptyAnswer } from "../search-tool/empty-answer.ts";
import { levelFor } from "../search-tool/payload.ts";
import { type Lookup, linkTo } from "../search-tool/port.ts";
import { boundsOf } from "../search-tool/reach.ts";
import { failure } from "../search-tool/shapes.ts";
import { conversationRows } from "./conversation-rows.ts";
import { summaryPrompt } from "./prompts.ts";
import { type SummaryRun, summarizeAll } from "./run.ts";
import { formatTranscript, mark } from "./transcript.ts";
import { cutAroundQuery } from "./window.ts";

export type SummaryModel = Pick<SummaryRun, "model" | "signal" | "sleep">;

const MAX_SESSIONS = 5;

export async function summarize(
  lookup: Lookup,
  request: DiscoverRequest,
  model: SummaryModel,
): Promise<object> {
  const bounds = await boundsOf(lookup, request.reach);
  if (!bounds.ok) return failure(bounds.error);
  const answer = await searchDemotingCron(lookup, request, {
    ...searchOptions(lookup, request, bounds.value),
    limit: Math.min(request.limit, MAX_SESSIONS),
    ...(request.roles === undefined ? {} : { roleFilter: request.roles }),
  });
  const head = { success: true, mode: "summarize", query: shownQuery(request) };
  if (answer.hits.length === 0) return { ...head, ...emptyAnswer(answer, request) };

  const drafts = await Promise.all(answer.hits.map((hit) => draftOf(lookup, request, hit)));
  const { maxConcurrency, modelTimeoutSeconds, summaryTimeoutSeconds } = lookup.settings;
  const summaries = await summarizeAll(
    drafts.map((draft) => draft.prompt),
    {
      ...model,
      maxConcurrency,
      modelTimeoutMs: modelTimeoutSeconds * 1000,
      totalTimeoutMs: summaryTimeoutSeconds * 1000,
    },
  );
  const texts = fitted(
    drafts.map(({ transcript }, index) => summaries[index] ?? rawPreview(transcript)),
    lookup.settings.maxResultChars,
  );
  const results = drafts.map(({ origin, hit }, index) => ({
    ...origin,
    link: linkTo(lookup, hit.session_id),
    match_message_id: hit.id,
    summary: texts[index],
  }));
  const searched = { count: results.length, sessions_searched: answer.hits.length, stage: answer.stage };
  return { ...head, ...remarksOf(answer), results, ...searched };
}

async function draftOf(lookup: Lookup, { query }: DiscoverRequest, hit: SearchHit) {
  const { store, scope } = lookup;
  const origin = originOf(hit, await store.getSession(hit.lineage_root, scope));
  const whole = formatTranscript(await conversationRows(store, hit.session_id, scope));
  const transcript = cutAroundQuery(whole, query, { fallback: mark(hit.id) });
  return { hit, origin, transcript, prompt: summaryPrompt({ query, ...origin, transcript }) };
}

const PREVIEW_CHARS = 500;

function rawPreview(transcript: string): string {
  return `[Raw preview — summarization unavailable]\n${takeCodePoints(transcript, PREVIEW_CHARS)}\n…[truncated]`;
}

function fitted(texts: readonly string[], maxChars: number): string[] {
  const level = levelFor(texts.map(codePointLength), maxChars);
  return texts.map((text) => takeCodePoints(text, level));
}
