// /search: past messages by their words.
import {
  cleanSnippet,
  cleanText,
  type EmptyReason,
  foldedSearch,
  HIDDEN_SOURCES,
  isEarlierSearch,
  leftOutField,
  leftOutRemark,
  notSearchedField,
  notSearchedRemark,
  orderRemark,
  type SearchAnswer,
  type SearchHit,
  type SessionStore,
  scopeOfUser,
  shownConfidence,
  weakRemark,
} from "@hermes-memory/core/sessions";
import type { AgentSurface } from "../surface.ts";
import type { SlashCommand } from "./command.ts";
import { localMinute, short } from "./format.ts";
import { told, wrongUsage } from "./reply.ts";
import { noDatabase } from "./resume.ts";

const SHOWN = 6;
const SNIPPET_CHARS = 240;

export const searchCommand: SlashCommand = {
  name: "search",
  group: "memory",
  summary: "find messages of this and earlier conversations",
  usage: "<words>",
  async run({ agent, args }) {
    if (agent.store === undefined) return noDatabase();
    if (args === "") return wrongUsage(searchCommand);
    const answer = await agent.store.search(args, {
      ...scopeOfUser(agent.user),
      excludeSources: HIDDEN_SOURCES,
      limit: SHOWN + 1, // one more than is shown is enough to know that there are more
    });
    const hits = await withTitles(agent, agent.store, answer.hits.slice(0, SHOWN));
    const json = jsonOf(args, answer, hits);
    const missing = [notSearchedRemark(answer), leftOutRemark(answer), orderRemark(answer)].flatMap(asList);
    if (hits.length === 0) return told([nothingFound(answer.empty ?? "no-match"), ...missing], json);
    const isMore = answer.hits.length > SHOWN;
    return told(
      [
        ...asList(weakRemark(answer)),
        ...hits.flatMap((hit) => hitLines(agent, hit)),
        ...missing,
        ...(isMore ? ["There are more: 'hermes sessions search' lists them all, with filters."] : []),
        "Go on with one: '/resume <id>'. Read one: 'hermes sessions show <id>'.",
      ],
      json,
    );
  },
};

function asList(remark: string | undefined): string[] {
  return remark === undefined ? [] : [remark];
}

function jsonOf(query: string, answer: SearchAnswer, hits: readonly NamedHit[]): object {
  const { stage, empty, confidence } = answer;
  return {
    query,
    stage,
    empty: empty ?? null,
    ...(confidence === undefined ? {} : { confidence: shownConfidence(answer), is_weak: confidence.isWeak }),
    ...notSearchedField(answer),
    ...leftOutField(answer),
    hits: hits.map((hit) => ({
      ...hit,
      ...(isEarlierSearch(hit)
        ? { snippet: snippetOf(hit), context: [], folded: true }
        : {
            snippet: cleanSnippet(hit.snippet),
            context: hit.context.map(({ role, content }) => ({ role, content: cleanText(content) })),
          }),
    })),
  };
}

/** As text. Of the output of an earlier search one line that says so, without the snippets in it. */
function snippetOf(hit: SearchHit): string {
  if (!isEarlierSearch(hit)) return aroundMatch(cleanSnippet(hit.snippet));
  return foldedSearch(hit, hit.context.map(({ content }) => content).join("\n"));
}

type NamedHit = SearchHit & { readonly title: string | null };

/** A part of a conversation that has no title goes by that of its beginning. */
async function withTitles(
  agent: AgentSurface,
  store: SessionStore,
  hits: readonly SearchHit[],
): Promise<NamedHit[]> {
  const titleOf = (id: string): Promise<string | null> => store.getSessionTitle(id, scopeOfUser(agent.user));
  return Promise.all(
    hits.map(async (hit) => ({
      ...hit,
      title: (await titleOf(hit.session_id)) ?? (await titleOf(hit.lineage_root)),
    })),
  );
}

function hitLines(agent: AgentSurface, hit: NamedHit): string[] {
  const { title, session_id, timestamp, role, tool_name } = hit;
  const who = role === "tool" && tool_name !== null ? `tool ${tool_name}` : role;
  const name = title === null ? "" : `${short(title, 60)}  `;
  const here = session_id === agent.sessionId ? "  (this one)" : "";
  return [
    `${name}${session_id}  ${localMinute(timestamp)}  ${who}${here}`,
    `  ${short(snippetOf(hit), SNIPPET_CHARS)}`,
  ];
}

/** A snippet is some words long, but a "word" may be a whole file. */
function aroundMatch(snippet: string): string {
  const start = Math.max(0, snippet.indexOf(">>>") - SNIPPET_CHARS / 2);
  return start === 0 ? snippet : `...${snippet.slice(start).toWellFormed()}`;
}

function nothingFound(reason: EmptyReason): string {
  switch (reason) {
    case "blank":
      return "Nothing was searched: there are no words in it.";
    case "hidden-sources":
      return "Found only in runs of subagents, tools and task boards; 'hermes sessions search --all' shows them.";
    case "excluded-sessions":
    case "filtered":
    case "no-match":
      return "No messages found. Try fewer or other words, or the beginning of one with a star: config*";
    default:
      return reason satisfies never;
  }
}
