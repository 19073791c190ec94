// The four tools, each under two names: `supermemory_store` and `supermemory-save`, ...
import { codePointLength, preview } from "@hermes-memory/core/internal/lib";
import { readNumber } from "@hermes-memory/core/internal/providers";
import { fieldsOf } from "../kit/networked/answers.ts";
import { type ServiceTool, ToolRefusal } from "../kit/networked/service.ts";
import { fitting, tool } from "../kit/networked/tools.ts";
import { fitChars } from "../kit/provider-mode.ts";
import { documentKey, metadataOf, type SupermemoryApi } from "./api.ts";
import { formatProfile, type Hit, withoutInjected } from "./recall.ts";
import { type Container, type Containers, legalTag, type SupermemorySettings } from "./settings.ts";

type Arguments = Readonly<Record<string, unknown>>;
type Target = { readonly tag: string; readonly shown: { readonly container_tag?: string } };

type Draft = Omit<Parameters<typeof tool>[0], "name" | "run"> & {
  readonly names: { readonly snake: string; readonly kebab: string };
  readonly run: (args: Arguments, target: Target, signal: AbortSignal) => Promise<object>;
};

export type ToolContext = {
  readonly api: SupermemoryApi;
  readonly settings: SupermemorySettings;
  readonly containers: Containers;
  readonly now: () => Date;
};

const MAX_CONTENT_CHARS = 4_000;
/** Of a profile. */
const MAX_ANSWER_CHARS = 60_000;
/** A hit below it may be about something else: it is shown, not forgotten. */
const FORGET_SIMILARITY = 0.5;

export function toolsOf(context: ToolContext): readonly ServiceTool[] {
  const drafts = [storeTool(context), searchTool(context), forgetTool(context), profileTool(context)];
  const { toolNames, hasCustomContainers } = context.settings;
  const allowed = namesOf(context.containers);
  const description = `Container to use, one of: ${allowed.join(", ")}. Default: ${allowed[0]}.`;
  const container: Record<string, object> = hasCustomContainers
    ? { container_tag: { type: "string", description } }
    : {};
  return (["snake", "kebab"] as const)
    .filter((style) => toolNames === "both" || toolNames === style)
    .flatMap((style) =>
      drafts.map(({ names, run, properties, ...draft }) =>
        tool({
          ...draft,
          name: names[style],
          properties: { ...properties, ...container },
          run: (args, signal) => run(args, targetOf(args, context), signal),
        }),
      ),
    );
}

export function namesOf({ primary, custom }: Containers): readonly string[] {
  return [primary, ...custom].map(({ name }) => name);
}

function targetOf(args: Arguments, { settings, containers }: ToolContext): Target {
  const asked = textArgument(args, "container_tag");
  if (!settings.hasCustomContainers || asked === "") return { tag: containers.primary.tag, shown: {} };
  const isAsked = ({ name }: Container) => name === asked || name === legalTag(asked, settings.tagCharset);
  const found = [containers.primary, ...containers.custom].find(isAsked);
  if (found !== undefined) return { tag: found.tag, shown: { container_tag: found.name } };
  throw new ToolRefusal(
    `Container tag '${preview(asked, 100)}' is not allowed. Allowed: ${namesOf(containers).join(", ")}`,
  );
}

function textArgument(args: Arguments, key: string): string {
  const value = args[key];
  return typeof value === "string" ? withoutInjected(value) : "";
}

function required(args: Arguments, key: string): string {
  const text = textArgument(args, key);
  if (text === "") throw new ToolRefusal(`${key} is required`);
  return text;
}

// ---- The tools ----

function storeTool({ api, settings }: ToolContext): Draft {
  return {
    names: { snake: "supermemory_store", kebab: "supermemory-save" },
    description:
      "Store a fact, preference or decision in long-term memory, so that later conversations can use it.",
    properties: {
      content: { type: "string", description: "What to remember, as a full sentence." },
      metadata: { type: "object", description: "Optional labels: texts, numbers, booleans." },
    },
    required: ["content"],
    isWriting: true,
    failure: "Failed to store memory",
    run: async (args, { tag, shown }, signal) => {
      const content = required(args, "content");
      const { source: _, ...given } = fieldsOf(args.metadata);
      const metadata = metadataOf({ ...given, type: given.type ?? categoryOf(content) });
      const customId = documentKey("note", tag, content);
      const entityContext = settings.context.text;
      const id = await api.addDocument({ content, tag, metadata, entityContext, customId }, signal);
      return { saved: true, id, preview: preview(content, 80), ...shown };
    },
  };
}

const CATEGORIES: readonly (readonly [name: string, words: RegExp])[] = [
  ["preference", /prefer|like|love|hate|want/],
  ["decision", /decided|will use|going with/],
  ["fact", /\b(?:is|are|has|have)\b/],
];

/** Guessed from the words of the text. */
export function categoryOf(text: string): string {
  const lower = text.toLowerCase();
  return CATEGORIES.find(([, words]) => words.test(lower))?.[0] ?? "other";
}

function searchTool({ api, settings }: ToolContext): Draft {
  return {
    names: { snake: "supermemory_search", kebab: "supermemory-search" },
    description: "Search long-term memory by meaning. Each result has its similarity in percent.",
    properties: {
      query: { type: "string", description: "What to look for." },
      limit: { type: "integer", description: "At most this many results, 1 to 20; 5 unless given." },
    },
    required: ["query"],
    failure: "Search failed",
    run: async (args, { tag, shown }, signal) => {
      const query = required(args, "query");
      const limit = Math.trunc(readNumber(args.limit, 5, { min: 1, max: 20 }));
      const hits = await api.search(query, { tag, limit, mode: settings.searchMode }, signal);
      const asked = hits.slice(0, limit);
      const results = asked.map(toResult);
      const kept = fitting(results);
      const isCut =
        kept.length < results.length || asked.some(({ text }) => preview(text, MAX_CONTENT_CHARS) !== text);
      return { results: kept, count: kept.length, ...(isCut ? { truncated: true } : {}), ...shown };
    },
  };
}

function toResult({ id, text, similarity }: Hit): object {
  const percent = similarity === undefined ? {} : { similarity: Math.round(similarity * 100) };
  return { id, content: preview(text, MAX_CONTENT_CHARS), ...percent };
}

function forgetTool({ api }: ToolContext): Draft {
  return {
    names: { snake: "supermemory_forget", kebab: "supermemory-forget" },
    description:
      "Forget one memory: the one with this id (from a search), or the best match of a query when it is similar enough.",
    properties: {
      id: { type: "string", description: "Id of the memory." },
      query: { type: "string", description: "Describes the memory, when its id is not known." },
    },
    isWriting: true,
    failure: "Forget failed",
    run: async (args, { tag, shown }, signal) => {
      const id = textArgument(args, "id");
      const query = textArgument(args, "query");
      if (id !== "") {
        if (await forgetById(api, tag, id, signal)) return { forgotten: true, id, ...shown };
        throw new ToolRefusal("Forget failed: there is no memory with this id.");
      }
      if (query === "") throw new ToolRefusal("Provide either id or query");
      // Only memories can be forgotten; in other modes the best hit may be a piece of a document.
      const hits = await api.search(query, { tag, limit: 5, mode: "memories" }, signal);
      const [best] = hits;
      if (best === undefined)
        return { success: false, message: "No matching memory found to forget.", ...shown };
      if ((best.similarity ?? 1) < FORGET_SIMILARITY) {
        const message = "No memory is similar enough. Call again with the id of one of the candidates.";
        return { success: false, message, candidates: fitting(hits.map(toResult)), ...shown };
      }
      await api.forgetMemory(tag, best.id, signal);
      return { success: true, message: `Forgot: "${preview(best.text, 100)}"`, id: best.id, ...shown };
    },
  };
}

/** The id of a memory, or the id that `supermemory_store` returned, which is that of a document. False: the container has neither. */
async function forgetById(
  api: SupermemoryApi,
  tag: string,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (await api.forgetMemory(tag, id, signal)) return true;
  const document = await api.document(id, signal); // documents of all containers can be asked for
  return document?.containerTags.includes(tag) === true && (await api.deleteDocument(document.id, signal));
}

function profileTool({ api, now }: ToolContext): Draft {
  return {
    names: { snake: "supermemory_profile", kebab: "supermemory-profile" },
    description:
      "What is known about the user: lasting facts and recent context; with a query also the memories that fit it.",
    properties: { query: { type: "string", description: "Optional: what the memories should be about." } },
    failure: "Profile failed",
    run: async (args, { tag, shown }, signal) => {
      const query = textArgument(args, "query");
      const profile = await api.profile({ tag, ...(query === "" ? {} : { query }) }, signal);
      const text = formatProfile(profile, now());
      return {
        profile: fitChars(text, MAX_ANSWER_CHARS),
        ...(codePointLength(text) > MAX_ANSWER_CHARS ? { truncated: true } : {}),
        static_count: profile.facts.length,
        dynamic_count: profile.recent.length,
        ...shown,
      };
    },
  };
}
