// Rows as every program that shares the database knows them: the column names of the tables, values decoded.
import type { MessageRow } from "../message/index.ts";

export type { MessageRow, StoredMessageRow } from "../message/index.ts";

export type SessionRow = {
  readonly id: string;
  readonly source: string;
  readonly user_id: string | null;
  readonly model: string | null;
  /** JSON text as stored. `_branched_from`, `_delegate_from`, `_compressed_from` and `_reset_from` are reserved keys in it. */
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
} & Partial<SessionRowToday>;

/** What rows of today's Hermes have besides. Only in files that have the columns. */
type SessionRowToday = {
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
  /** `default`, or the name of the profile; null for a row of nobody's. */
  readonly profile_name: string | null;
  readonly pinned: number;
  readonly hidden: number;
  readonly last_read_at: number | null;
};

/** Sessions that programs made for themselves: lists for people leave them out unless they are asked for. */
export const INTERNAL_SOURCES: readonly string[] = ["kanban", "oneshot", "subagent", "tool"];

/** A session with the time of its latest message (or of its start, when it has none). */
export type ActiveSession = SessionRow & { readonly last_active: number };

/** A line of a listing. A compressed conversation shows its tip; `_lineage_root_id` then names the root. */
export type ListedSession = ActiveSession & {
  readonly preview: string;
  readonly _lineage_root_id?: string;
  /** Only where the file notes when a session was last read. */
  readonly unread?: boolean;
};

export type MessageWindow = {
  readonly window: readonly MessageRow[];
  readonly messages_before: number;
  readonly messages_after: number;
};

export type AnchoredView = MessageWindow & {
  readonly bookend_start: readonly MessageRow[];
  readonly bookend_end: readonly MessageRow[];
};

/** A message without what it says. */
export type MessageKey = {
  readonly id: number;
  readonly session_id: string;
  /** The first original of a copy; null on a row that is none. */
  readonly origin_id: number | null;
};

/** A tool result that is too long for its conversation: its row has the beginning, a file has all of it. */
export type KeptResult = {
  /** The name of the file without `.txt`. */
  readonly id: string;
  /** Of the whole text, in code points. */
  readonly chars: number;
  readonly session_id: string;
  readonly message_id: number;
  readonly tool_name: string | null;
  /** The row's own text: the beginning of the result, and the note that names the file. */
  readonly content: string;
};

/** What a context engine made of messages that left the context, or of other such summaries. */
export type SummaryNode = {
  readonly node_id: string;
  readonly lineage_root: string;
  /** The session in which it was made. It goes when that one is deleted. */
  readonly session_id: string;
  /** 0 for a summary of messages, otherwise one more than what it is made of. */
  readonly depth: number;
  readonly first_message_id: number;
  readonly last_message_id: number;
  /** Message ids at depth 0 (of first originals, never of copies), node ids above. */
  readonly source_ids: readonly (number | string)[];
  readonly summary: string;
  /** Of the summary. */
  readonly tokens: number;
  /** Of the messages it stands for. */
  readonly source_tokens: number;
  /** `model`, or `extract` for one made without a model. */
  readonly method: string;
  readonly created_at: number;
};

export type SummaryHit = SummaryNode & {
  /** The place of the match, `>>>` before and `<<<` after each matched word. */
  readonly snippet: string;
  /** 1 when everything asked for is in it, less when only some of it is. */
  readonly score: number;
};

export type UserMessagePreview = {
  readonly id: number;
  readonly timestamp: number;
  readonly preview: string;
};

export type ExportedSession = SessionRow & { readonly messages: readonly MessageRow[] };

export type HandoffState = {
  readonly state: string | null;
  readonly platform: string | null;
  readonly error: string | null;
};
