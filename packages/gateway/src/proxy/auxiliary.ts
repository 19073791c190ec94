// Requests that a client makes for itself: titles, tags, follow-up questions, probes. They are answered without memory, recall and storage.
// Pure. A user's own message taken for one of them loses its memory, which is worse than one that is missed: a rule therefore asks for the
// beginning of the client's own prompt and for the form of the request around it, never for a word somewhere in the text. Samples:
// test/gateway/samples.
import { isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import { textOf } from "@hermes-memory/core/internal/message";
import type { ClientName, JsonObject } from "../types.ts";
import type { WireRequest } from "../wires/wire.ts";

/** A summary repeats its conversation. */
type AuxiliaryKind = "summary" | "other";

type AuxiliaryRequest = Pick<WireRequest, "system" | "messages" | "tools" | "maxOutputTokens">;

/** `body`: for `metadata.task` of Open WebUI. */
export function auxiliaryKind(
  client: ClientName,
  request: AuxiliaryRequest,
  headers: Headers,
  body: JsonObject = {},
): AuxiliaryKind | undefined {
  const named = namedTask(headers, body) ?? codexTask(headers);
  if (named !== undefined) return named;
  const view = viewOf(client, request, headers);
  const isOne = ({ clients, is }: Rule): boolean => (clients?.includes(view.client) ?? true) && is(view);
  return SUMMARIES.some(isOne) ? "summary" : OTHERS.some(isOne) ? "other" : undefined;
}

// ---- Open WebUI and Codex say it ----

const TASKS =
  /^(?:(?:title|tags|follow_up|emoji|query|image_prompt|autocomplete)_generation|function_calling)$/;

/** A header that an administrator adds as `X-OpenWebUI-Task: {{TASK}}` (0.10 and later), or the metadata of older versions. */
function namedTask(headers: Headers, body: JsonObject): AuxiliaryKind | undefined {
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  return TASKS.test(String(headers.get("x-openwebui-task") ?? metadata.task)) ? "other" : undefined;
}

/** What a turn of Codex is for. Threads of its users have other sources. */
function codexTask(headers: Headers): AuxiliaryKind | undefined {
  const turn = outsideJsonOr(headers.get("x-codex-turn-metadata") ?? "", undefined);
  if (!isRecord(turn)) return undefined;
  if (turn.thread_source === "thread_title" || turn.thread_source === "memory_consolidation") return "other";
  return turn.request_kind === "compaction" ? "summary" : undefined;
}

// ---- The others are recognised by their prompts ----

type View = {
  readonly client: ClientName;
  readonly system: string;
  /** The first words of the newest message, if it is the user's: all rules look at beginnings. */
  readonly last: string;
  /** There is one message and no tool: nothing is being talked about yet. */
  readonly isAlone: boolean;
  readonly hasTools: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly isSubagent: boolean;
};

type Rule = {
  /** Undefined: the prompt is distinctive enough without the name of the client. */
  readonly clients?: readonly ClientName[] | undefined;
  is(view: View): boolean;
};

/** More of a prompt is never compared. */
const LOOKED_AT_CHARS = 4_000;

function viewOf(client: ClientName, request: AuxiliaryRequest, headers: Headers): View {
  const { messages, system, tools, maxOutputTokens } = request;
  const spoken = messages.filter(({ role }) => role !== "system");
  // Claude Code begins some replies itself, with "{".
  const newest = spoken.findLast(({ role }) => role !== "assistant");
  const last = newest?.role === "user" ? textOf(newest.content).slice(0, LOOKED_AT_CHARS).trim() : "";
  const isAlone = spoken.filter(({ role }) => role !== "assistant").length === 1 && tools.length === 0;
  const isClaudeCode = client === "unknown" && /^claude-cli\//.test(headers.get("user-agent") ?? "");
  return {
    client: isClaudeCode ? "claude-code" : client,
    system: system.slice(0, LOOKED_AT_CHARS),
    last,
    isAlone,
    hasTools: tools.length > 0,
    maxOutputTokens,
    isSubagent: headers.has("x-claude-code-agent-id"),
  };
}

/** Open WebUI and LibreChat often send nothing that names them. */
const WEB: readonly ClientName[] = ["open-webui", "librechat", "lobechat", "unknown"];
const CLAUDE: readonly ClientName[] = ["claude-code"];
const CODEX: readonly ClientName[] = ["codex"];
/** The prompt is distinctive enough: these clients do not name themselves. */
const ANYONE = undefined;
const QWEN_SUMMARY =
  /^You are the component that summarizes a conversation when its context window is about to overflow\./;

/** Open WebUI's templates: the whole request is one message that begins so and goes on with sections. */
function owui(beginning: RegExp): Rule {
  const section =
    /\n#{2,3} (?:\*\*)?(?:Guidelines|Output|Instructions|Chat History|Content|Examples|Context)/;
  return {
    clients: WEB,
    is: ({ last, isAlone }) =>
      isAlone &&
      /^### Task:\s/.test(last) &&
      beginning.test(last.slice("### Task:".length).trimStart()) &&
      section.test(last),
  };
}

function alone(clients: readonly ClientName[], ...beginnings: readonly RegExp[]): Rule {
  return { clients, is: ({ last, isAlone }) => isAlone && beginnings.some((each) => each.test(last)) };
}

function instructed(clients: readonly ClientName[] | undefined, ...words: readonly RegExp[]): Rule {
  return { clients, is: ({ system, hasTools }) => !hasTools && words.some((each) => each.test(system)) };
}

/** The newest message of a conversation that is otherwise the user's: the client asks about it. */
function asked(clients: readonly ClientName[] | undefined, ...beginnings: readonly RegExp[]): Rule {
  return { clients, is: ({ last }) => beginnings.some((each) => each.test(last)) };
}

/** Compactions: of Claude Code and Codex, of opencode and pi, of Qwen Code in two forms, of Copilot CLI and Continue. */
const SUMMARIES: readonly Rule[] = [
  asked(
    CLAUDE,
    /^(?:CRITICAL: Respond with TEXT ONLY\.[\s\S]{0,1500}?\n\s*)?Your task is to create a detailed summary of the (?:conversation so far|RECENT portion)/,
    /^The user stepped away and is coming back\b/,
  ),
  asked(CODEX, /^You are performing a CONTEXT CHECKPOINT COMPACTION\./),
  instructed(ANYONE, /^You are a context summarization (?:agent|assistant)\. /, QWEN_SUMMARY),
  asked(
    ANYONE,
    QWEN_SUMMARY,
    /^Please create a detailed summary of the conversation so far\. The history is being compacted\b/,
    /^Please provide a concise summary of our conversation so far, capturing the key context, decisions made,/,
  ),
  asked(["opencode", "kilo"], /^Provide a detailed prompt for continuing our conversation above\./),
];

/** Titles, tags, follow-ups, probes and the like. */
const OTHERS: readonly Rule[] = [
  owui(
    /^(?:Generate a concise, 3-5 word title|Generate 1-3 broad tags categorizing the main themes|Suggest 3-5 relevant follow-up questions or prompts|Analyze the chat history to determine the necessity of generating search queries|Generate a detailed prompt for am? image generation task)\b/,
  ),
  owui(/^You are an autocompletion system\. Continue the text in `<text>`/),
  alone(
    WEB,
    /^Your task is to reflect the speaker's likely facial expression through a fitting emoji\./,
    /^Analyze this conversation and provide:\s+1\. The detected language of the conversation\s/,
    /^Provide a concise, 5-word-or-less title for the conversation, using title case conventions\./,
    /^Please generate a concise title \(max 40 characters\) for a conversation that starts with:\s/,
  ),
  instructed(
    WEB,
    /^You are a professional conversation summarizer\. Generate a concise title that captures the essence/,
  ),

  {
    clients: CLAUDE, // its probe of the quota
    is: ({ isAlone, maxOutputTokens, last }) =>
      isAlone && maxOutputTokens === 1 && /^[a-z]{2,10}$/i.test(last),
  },
  instructed(
    CLAUDE,
    /(?:^|\n)Analyze if this message indicates a new conversation topic\./,
    /(?:^|\n)Generate a concise, sentence-case title \(3-7 words\) that captures/,
    /(?:^|\n)Summarize this coding conversation in under 50 characters\./,
    /(?:^|\n)Your task is to process Bash commands that an AI coding agent wants to run\b/,
    /(?:^|\n)Extract any file paths that this command reads or modifies\b/,
  ),
  asked(CLAUDE, /^Please write a 5-10 word title the following conversation:/, /^\[SUGGESTION MODE: /),
  alone(CLAUDE, /^Warmup$/),
  // Its other small questions change with every version (web pages, file names, hooks). They have no tools, which a conversation has, and
  // stored they would replace the conversation of their session.
  {
    clients: CLAUDE,
    is: ({ isAlone, isSubagent, system }) => isAlone && !isSubagent && system.length < LOOKED_AT_CHARS,
  },

  asked(
    CODEX,
    /^You are a helpful assistant\. You will be presented with a user prompt, and your job is to provide a short title for a task\b/,
  ),
  instructed(
    ["opencode", "kilo", "unknown"],
    /^You are a title generator\. You output ONLY a thread title\./,
  ),
  // Qwen Code looks for memories in a copy of the conversation, and tidies their files, with tools.
  {
    is: ({ system }) =>
      /^You are (?:now acting as the managed memory extraction subagent|performing a managed memory dream)\b/.test(
        system,
      ),
  },
];
