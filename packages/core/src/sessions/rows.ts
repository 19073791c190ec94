// Row types with the column names of the shared tables; values are decoded.
import type { MessageRow } from "../message/index.ts";

export type { MessageRow, StoredMessageRow } from "../message/index.ts";

/** A session as the database stores it. */
export type SessionRow = {
  readonly id: string;
  readonly source: string;
  readonly user_id: string | null;
  readonly model: string | null;
  /** JSON text as stored. `_branched_from`, `_delegate_from`, `_compressed_from` and `_reset_from` are reserved keys. */
  readonly model_config: string | null;
  readonly system_prompt: string | null;
  readonly parent_session_id: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
  readonly message_count: number;
  readonly tool_call_count: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly reasoning_tokens: number;
  readonly cwd: string | null;
  readonly billing_provider: string | null;
  readonly billing_base_url: string | null;
  readonly billing_mode: string | null;
  readonly estimated_cost_usd: number | null;
  readonly actual_cost_usd: number | null;
  readonly cost_status: string | null;
  readonly cost_source: string | null;
  readonly pricing_version: string | null;
  readonly title: string | null;
  readonly api_call_count: number;
  readonly handoff_state: string | null;
  readonly handoff_platform: string | null;
  readonly handoff_error: string | null;
  readonly rewind_count: number;
  readonly archived: number;
} & Partial<LaterSessionColumns>;

/** Additional columns of schema 17 and later. Present only in files that have them. */
type LaterSessionColumns = {
  readonly system_prompt_hash: string | null;
  readonly session_key: string | null;
  readonly chat_id: string | null;
  readonly chat_type: string | null;
  readonly thread_id: string | null;
  readonly display_name: string | null;
  readonly git_branch: string | null;
  readonly git_repo_root: string | null;
  /** `derived`, `llm` or `user`; `branch` and `branch_fallback` for branches. */
  readonly title_source: string | null;
  readonly last_activity_at: number | null;
  /** `default`, or the name of the profile; null when the row belongs to no profile. */
  readonly profile_name: string | null;
  readonly pinned: number;
  readonly hidden: number;
  readonly last_read_at: number | null;
};

/** Sessions that programs started for themselves. Listings for users leave them out unless asked for. */
export const INTERNAL_SOURCES: readonly string[] = ["kanban", "oneshot", "subagent", "tool"];

/** A session with the time of its latest message, or its start time when it has none. */
export type ActiveSession = SessionRow & { readonly last_active: number };

/** A row of a listing. A compacted conversation shows its tip; `_lineage_root_id` then names the root. */
export type ListedSession = ActiveSession & {
  readonly preview: string;
  readonly _lineage_root_id?: string;
  /** Present only in files that store when a session was last read. */
  readonly unread?: boolean;
};

/** Messages around one message, and how many are before and after. */
export type MessageWindow = {
  readonly window: readonly MessageRow[];
  readonly messages_before: number;
  readonly messages_after: number;
};

/** The messages around one message, with the beginning and the end of its session. */
export type AnchoredView = MessageWindow & {
  readonly bookend_start: readonly MessageRow[];
  readonly bookend_end: readonly MessageRow[];
};

/** A message without its content. */
export type MessageKey = {
  readonly id: number;
  readonly session_id: string;
  /** For a copy, the id of the first original; null for other rows. */
  readonly origin_id: number | null;
  /** Only with `includeInactive`. 0: taken back, or archived by a compaction within the session, which is `compacted`. */
  readonly active?: number;
  readonly compacted?: number;
};

/** A tool result that is too long for its conversation: the row holds the beginning, a file holds all of it. */
export type KeptResult = {
  /** The name of the file without `.txt`. */
  readonly id: string;
  /** Length of the whole text, in code points. */
  readonly chars: number;
  readonly session_id: string;
  readonly message_id: number;
  readonly tool_name: string | null;
  /** The text of the row: the beginning of the result, and the note that names the file. */
  readonly content: string;
};

/** A summary that a context engine made of messages that left the context, or of other summaries. */
export type SummaryNode = {
  readonly node_id: string;
  readonly lineage_root: string;
  /** The session it was made in. It is deleted with that session. */
  readonly session_id: string;
  /** 0 for a summary of messages, otherwise one more than its sources. */
  readonly depth: number;
  readonly first_message_id: number;
  readonly last_message_id: number;
  /** At depth 0, message ids (of first originals, never of copies); above, node ids. */
  readonly source_ids: readonly (number | string)[];
  readonly summary: string;
  /** Tokens of the summary. */
  readonly tokens: number;
  /** Tokens of the messages it stands for. */
  readonly source_tokens: number;
  /** `model`, or `extract` when it was made without a model. */
  readonly method: string;
  readonly created_at: number;
};

/** A summary that a search found. */
export type SummaryHit = SummaryNode & {
  /** Text around the match, with `>>>` before and `<<<` after each matched word. */
  readonly snippet: string;
  /** 1 when all words of the query match, less when only some do. */
  readonly score: number;
};

/** The beginning of a user's message, to choose where to rewind to. */
export type UserMessagePreview = {
  readonly id: number;
  readonly timestamp: number;
  readonly preview: string;
};

/** A session with its messages, as it is exported and imported. */
export type ExportedSession = SessionRow & { readonly messages: readonly MessageRow[] };
