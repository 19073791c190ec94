// What a user may send to a vendor with the server's own key, and what they see of its answer. The files, stores, containers, prompts,
// connectors and stored responses of the key's account belong to the owner and to all users together, so these are allow-lists: of fields,
// tools, items, parts and headers that name nothing of the account. Whoever sends a key of their own is not limited.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { servedHomes } from "../gateway.ts";
import { type JsonObject, ProblemError, refused } from "../problem.ts";
import type { ModelTurn } from "../types.ts";
import { listOf, recordOf, recordsIn } from "../wires/fields.ts";
import { isOwnReplyId, ownReply } from "../wires/responses.ts";
import type { WireName } from "../wires/wire.ts";
import { responseMark, UNKNOWN_RESPONSE } from "./chain.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const COMMON = "model stream tools tool_choice temperature top_p user metadata store safety_identifier";
const OPENAI = `${COMMON} prompt_cache_key prompt_cache_options prompt_cache_retention stream_options parallel_tool_calls top_logprobs
  reasoning conversation`;

/** The last lines of chat are of other servers with this wire. */
const FIELDS: Readonly<Record<WireName, ReadonlySet<string>>> = {
  chat: words(`${OPENAI} messages functions function_call max_tokens max_completion_tokens n stop response_format logprobs logit_bias
    frequency_penalty presence_penalty seed prediction reasoning_effort verbosity modalities web_search_options litellm_session_id
    top_k top_a min_p typical_p repetition_penalty min_tokens ignore_eos mirostat mirostat_tau mirostat_eta repeat_penalty repeat_last_n
    tfs_z chat_template_kwargs enable_thinking thinking include_reasoning reasoning_format guided_json guided_regex guided_choice
    guided_grammar structured_outputs grammar json_schema num_predict think`),
  responses:
    words(`${OPENAI} input instructions max_output_tokens max_tool_calls previous_response_id text include truncation
    context_management client_metadata`),
  messages:
    words(`${COMMON} messages system max_tokens stop_sequences top_k thinking output_config output_format cache_control
    context_management compaction`),
};

/** With some values only. */
const VALUES: Readonly<Record<string, (value: unknown) => boolean>> = {
  service_tier: (value) => words("auto default flex standard_only").has(String(value)), // others cost more
  background: (value) => value === false, // its result could not be fetched here
  audio: (value) => typeof recordOf(value).voice === "string", // a voice of the account has an id
};

/** Tools that the client runs, and searches of the web. Not those that read stores, run containers or call connectors. */
const TOOLS: Readonly<Record<WireName, RegExp>> = {
  chat: /^(?:function|custom)$/,
  responses:
    /^(?:function|custom|namespace|local_shell|shell|apply_patch|computer|computer_use_preview|tool_search|web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?)$/,
  messages:
    /^(?:custom|(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory|web_search|web_fetch)_\d{8}|tool_search_tool_(?:bm25|regex)(?:_\d{8})?)$/,
};

const PARTS: Readonly<Record<WireName, ReadonlySet<unknown>>> = {
  chat: words("text image_url input_audio file refusal video_url audio_url thinking reasoning"),
  responses:
    words(`text input_text output_text refusal summary_text reasoning_text input_image input_file input_audio
    computer_screenshot`),
  messages:
    words(`text image document search_result thinking redacted_thinking tool_use tool_result tool_reference server_tool_use
    web_search_tool_result web_search_result web_fetch_tool_result tool_search_tool_result compaction`),
};

/** Items of the Responses API that say all they mean: an id of theirs is a name and nothing more. */
const WHOLE_ITEMS =
  /^(?:(?:function|custom_tool|local_shell|shell|apply_patch|computer|tool_search)_call(?:_output)?|tool_search_output|additional_tools)$/;
/** Where such an item says it. */
const SAID_IN = ["arguments", "input", "output", "action", "operation", "tools"];
/** What is in them came from the vendor, and is sealed. */
const SEALED_ITEMS = /^(?:reasoning|compaction|compaction_summary)$/;

/** The vendor looks the item up by its id. Every item that is not known to be complete counts as one. */
export function isReference(item: JsonObject): boolean {
  const { type, role, content, id, encrypted_content: sealed } = item;
  if (type === "message" || type === undefined || type === null) {
    const isSaid = typeof content === "string" || Array.isArray(content);
    return typeof role !== "string" || !isSaid || (content.length === 0 && id != null);
  }
  const name = String(type);
  if (SEALED_ITEMS.test(name)) return typeof sealed !== "string" || sealed.trim() === "";
  const isEmpty = SAID_IN.every((field) => item[field] == null);
  return (
    !(WHOLE_ITEMS.test(name) && !isEmpty) && !(name === "web_search_call" && (id ?? undefined) === undefined)
  );
}

/**
 * Throws for what a user may not send. `isForwarded`: the vendor gets the body itself; otherwise unknown fields and tools are left out or
 * refused elsewhere. `more`: fields and types of tools that config allows. Whose the ids of responses and items are is decided elsewhere.
 */
export function refuseForUsers(
  wire: WireName,
  body: JsonObject,
  { isForwarded, more = [] }: { readonly isForwarded: boolean; readonly more?: readonly string[] },
): void {
  const isTool = (tool: unknown): boolean => {
    if (!isRecord(tool)) return false;
    const usual = wire === "messages" ? "custom" : isRecord(tool.function) ? "function" : "";
    const type = String(tool.type ?? usual);
    if (more.includes(type)) return true;
    const isHosted = type === "shell" && recordOf(tool.environment).type !== "local";
    return TOOLS[wire].test(type) && !isHosted && listOf(tool.tools).every(isTool);
  };
  const isField = ([name, value]: readonly [string, unknown]): boolean =>
    value === null ||
    FIELDS[wire].has(name) ||
    more.includes(name) ||
    (Object.hasOwn(VALUES, name) && VALUES[name]?.(value) === true);
  const list = wire === "responses" ? "input" : "messages";
  const items = listOf(body[list]).map(recordOf);
  const isItem = (item: JsonObject): boolean =>
    recordOf(item.audio).id == null &&
    listOf(item.tools).every(isTool) &&
    !(wire === "responses" && isReference(item) && typeof item.id !== "string");
  const wrongTool = isForwarded ? listOf(body.tools).findIndex((tool) => !isTool(tool)) : -1;
  const wrongItem = items.findIndex((item) => !isItem(item));
  const named =
    (isForwarded ? Object.entries(body).find((field) => !isField(field))?.[0] : undefined) ??
    (wrongTool < 0 ? undefined : `tools[${wrongTool}].type`) ??
    (wrongItem < 0 ? undefined : `${list}[${wrongItem}]`) ??
    namedIn(wire, items, list) ??
    namedIn(wire, body.system, "system");
  if (named === undefined) return;
  const param = named.slice(0, 200);
  throw refused(403, "not-for-users", {
    message: `The server's own key is used for this request, and with it users may not send '${param}'.`,
    hint: "Leave it out and send contents instead of ids, or send a vendor key of your own beside the token (X-Hermes-Token). The owner can allow fields and tools that do no harm in gateway.user_fields.",
    param,
  });
}

const OF_THE_ACCOUNT =
  /^(?:file_ids?|container|container_id|vector_store_ids?|connector_id|skill_id|tunnel_id)$/;
/** Instead of contents: SDKs take such a text for the id of a file. Base64 has no hyphens. */
const FILE_ID = /^(?:data:[^,]*,)?\s*(?:file|assistant)-/i;
const CONTENTS = words("url image_url data file_data file_url");
/** They have texts of the client's own tools, which may have any names. */
const ARGUMENTS = words("input arguments action parameters input_schema");

/** The path of the first thing of the account that a message or an item names, or of a part that is not known. */
function namedIn(wire: WireName, value: unknown, path: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    if (inner === null || ARGUMENTS.has(key)) continue;
    const parts = key === "content" || key === "output" ? listOf(inner) : [];
    // Output of a shell is a list without types.
    const isKnown = parts.every((part) => PARTS[wire].has(recordOf(part).type ?? "text"));
    const isFileId = typeof inner === "string" && FILE_ID.test(inner.slice(0, 200)) && CONTENTS.has(key);
    const found = OF_THE_ACCOUNT.test(key) || isFileId || !isKnown ? at : namedIn(wire, inner, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

// ---- State of others at the vendor ----

/** The server that is asked: with whose key, and at which address if it gets the body itself. */
type Asked = { readonly isClientsKey: boolean; readonly url: string | undefined };

/** A user's, with a key that is not theirs. */
export function isUsersRequest(
  { identity }: Pick<ModelTurn, "identity">,
  { isClientsKey }: Pick<Asked, "isClientsKey">,
): boolean {
  return identity.user !== undefined && !isClientsKey;
}

/**
 * The vendor keeps responses and conversations by key, and under our key those of all persons: whoever knows an id could go on from it and
 * have the model repeat what another one said. So a user may name responses that this gateway gave to them, and the owner any that it gave
 * to nobody else. What belongs to the account otherwise is the owner's alone.
 */
export async function refuseOthersState(turn: ModelTurn, upstream: Asked): Promise<void> {
  const { wire, body, memory, identity, gateway } = turn;
  if (upstream.isClientsKey) return;
  const isForwarded = upstream.url !== undefined;
  const { userFields: more } = (await gateway.config()).gateway;
  if (isUsersRequest(turn, upstream)) refuseForUsers(wire.name, body, { isForwarded, more });
  if (wire.name !== "responses") return;
  const { previous_response_id: previous, conversation } = body;
  const isOwner = identity.user === undefined;
  const named = isRecord(conversation) ? conversation.id : conversation;
  if (!isOwner && typeof named === "string" && /^\s*(?:conv|thread|resp)_/i.test(named))
    throw refused(404, "conversation_not_found", {
      message: "This user has no conversation of this id at the model's vendor.",
      hint: "Send the whole conversation in 'input', or name it in X-Hermes-Session-Id.",
      param: "conversation",
    });
  const isIn = async (person: typeof memory.layers, id: string): Promise<boolean> =>
    Boolean(await (await person.sessions({ mode: "read" }))?.gateway.findMark([responseMark(id)]));
  const isOpenTo = async (id: string): Promise<boolean> => {
    if (await isIn(memory.layers, id)) return true;
    // An id that this gateway made up means nothing to the vendor, and the vendor's means nothing to a model of another protocol.
    if (!isOwner || isOwnReplyId(id) || !isForwarded) return false;
    const homes = await servedHomes(gateway);
    const known = await Promise.all(homes.map(({ administrator }) => isIn(administrator, id)));
    return !known.includes(true);
  };
  if (typeof previous === "string" && !(await isOpenTo(previous))) throw new ProblemError(UNKNOWN_RESPONSE);
  const references = recordsIn(body.input).filter(isReference);
  for (const id of new Set(references.flatMap((item) => (typeof item.id === "string" ? [item.id] : []))))
    if (!(await isOpenTo(ownReply(id) ?? id)))
      throw refused(404, "item_not_found", {
        message: "The input refers to an item that this gateway did not give to this user.",
        hint: "Send the items themselves in 'input'.",
        param: "input",
      });
}

// ---- Headers and answers ----

const SENT =
  /^(?:anthropic-version|anthropic-beta|user-agent|x-stainless-.+|x-app|originator|http-referer|x-title)$/;
/** Forms of requests and replies. Others (files, connectors, containers, skills, fast mode, ...) are left out. */
const BETAS =
  /^(?:claude-code|interleaved-thinking|fine-grained-tool-streaming|context-management|compact|prompt-caching(?:-scope)?|extended-cache-ttl|token-efficient-tools|output-\d+k|structured-outputs|effort|advanced-tool-use|tool-search-tool|tool-examples|web-search|web-fetch|token-counting|pdfs|context-1m|model-context-window-exceeded|adaptive-thinking|redact-thinking|thinking-token-count|thinking-display-updates|task-budgets|computer-use)-\d{4}-?\d\d-?\d\d$/;

/** Undefined: it is not sent. An idempotency key, for example, could bring the reply to another user. */
export function headerForUsers(name: string, value: string): string | undefined {
  if (name !== "anthropic-beta") return SENT.test(name) ? value : undefined;
  const betas = value.split(",").map((beta) => beta.trim());
  return betas.filter((beta) => BETAS.test(beta)).join(",") || undefined;
}

/** Of the vendor's answer. Others tell about the account: its name, its limits, its requests. */
export const SHOWN_HEADERS = /^(?:content-type|cache-control|retry-after|retry-after-ms|x-should-retry)$/;

export function withoutAccount(text: string): string {
  return text.replace(/\b(?:sk|rk|pk|org|proj|user|acct|req|wrkspc)[-_][\w*.-]{4,}/g, "***");
}

const FAILED =
  "The model could not answer this request. Whoever runs this server finds the reason in its log.";

/** A body or an event that reports an error, without the vendor's text. Undefined: it reports none. */
export function withoutErrorText(data: JsonObject): JsonObject | undefined {
  const response = isRecord(data.response) ? withoutErrorText(data.response) : undefined;
  if (response !== undefined) return { ...data, response };
  const { type, code = null, sequence_number } = data;
  if (isRecord(data.error))
    return { ...data, error: { type: data.error.type, code: data.error.code, message: FAILED } };
  return type === "error" ? { type, code, param: null, sequence_number, message: FAILED } : undefined;
}
