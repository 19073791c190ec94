// The records of one Codex rollout, from the first line on.
import { type Json, numberOf, recordOf, textOf, timeOf } from "../../kit/values.ts";
import type { Reading, SessionFacts, TranscriptEvent, Usage } from "../../reader.ts";
import { contextFolder } from "./context.ts";
import { CodexItems } from "./items.ts";
import type { CodexThreads } from "./titles.ts";

export type RolloutPlace = {
  /** From the file name, for files whose header cannot be read. */
  readonly fallbackId: string;
  /** Ends the native id of a file that begins in the middle of a thread. */
  readonly suffix: string;
  readonly threads: CodexThreads;
  readonly turnIdsOf: (threadId: string) => Promise<ReadonlySet<string>>;
};

/** Known, and nothing to keep. */
const SKIPPED_TYPES = /^(?:inter_agent_communication.*|world_state|security_risk_score|token_usage_record)$/;
/** Codex ends sessions with this message that it took over from another agent. */
const EXTERNAL_MARK = "<EXTERNAL SESSION IMPORTED>";
const MACHINE_RUNS: ReadonlySet<unknown> = new Set(["compact", "memory_consolidation"]);

type Answer = TranscriptEvent & { readonly kind: "message" };
function isAnswer(event: TranscriptEvent): event is Answer {
  return event.kind === "message" && event.message.role === "assistant" && !event.message.toolCalls;
}

/** Keeps ids of turns and messages, and of texts only the last answer. */
export class CodexRollout {
  readonly #place: RolloutPlace;
  readonly #reading: Reading;
  readonly #items: CodexItems;
  /** Message ids by user turn, without turns that were rolled back. */
  readonly #turns: string[][] = [];
  #nativeId: string | undefined;
  #threadId: string | undefined;
  #isSubagent = false;
  #hasCwd = false;
  #model: string | undefined;
  #usage: Usage | undefined;
  #isMemoryDisabled = false;
  /** The last answer, until it is known not to be the summary of a compaction. */
  #answer: Answer | undefined;
  /** Set while the file may still repeat turns of this other thread. */
  #copiedFrom: string | undefined;
  /** No copied turns follow: the first own one was there, or the header says where the own records begin. */
  #isPastCopies = false;
  #copiedTurns: ReadonlySet<string> | undefined;
  #isCopy = false;
  #startOrdinal = 0;
  /** The time of the header, in files whose records have none. */
  #headerTime: number | undefined;
  isSkipped = false;

  constructor(place: RolloutPlace, reading: Reading) {
    this.#place = place;
    this.#reading = reading;
    this.#items = new CodexItems(reading, () => this.#isSubagent);
  }

  async *take(record: Json, line: number): AsyncGenerator<TranscriptEvent> {
    const type = textOf(record.type);
    const payload = recordOf(record.payload);
    if (payload === undefined) {
      yield* this.#takeOld(record, line);
      return;
    }
    if (type === "session_meta") {
      yield* this.#takeMeta(payload, record);
      return;
    }
    if (this.#nativeId === undefined) yield this.#begin({}, undefined);
    const turnId = textOf(payload.turn_id);
    if (
      turnId !== undefined &&
      (type === "turn_context" || /^(?:task|turn)_started$/.test(String(payload.type)))
    )
      await this.#enterTurn(turnId);
    const ordinal = numberOf(record.ordinal);
    if (this.#isCopy || (ordinal !== undefined && ordinal < this.#startOrdinal)) return;
    if (type === "turn_context") {
      this.#model = textOf(payload.model) ?? this.#model;
      yield* this.#cwdFrom(textOf(payload.cwd));
    } else if (type === "response_item") {
      const id = textOf(payload.id) ?? (ordinal === undefined ? `l${line}` : `o${ordinal}`);
      yield* this.#giveAnswer();
      for (const event of this.#item(payload, id, line, timeOf(record.timestamp)))
        if (isAnswer(event)) this.#answer = event;
        else yield event;
    } else if (type === "compacted") {
      // It recaps turns that are still in the file. The model's summary stands before it as an answer, and in it behind Codex's own words.
      const summary = this.#answer?.message.text.trim();
      if (summary && textOf(payload.message)?.trimEnd().endsWith(summary)) this.#answer = undefined;
    } else if (type === "event_msg") yield* this.#event(payload);
    else if (type === undefined || !SKIPPED_TYPES.test(type))
      this.#reading.unknown(type ?? "record without type");
  }

  *end(): Generator<TranscriptEvent> {
    if (this.#nativeId === undefined) return;
    yield* this.#giveAnswer();
    const facts = { nativeId: this.#nativeId, usage: this.#usage };
    if (this.#usage !== undefined) yield { kind: "session", facts };
    if (this.#isMemoryDisabled && this.#reading.options.includeMemoryDisabled !== true)
      yield this.#skip("memory disabled by the user");
  }

  *#giveAnswer(): Generator<TranscriptEvent> {
    if (this.#answer !== undefined) yield this.#answer;
    this.#answer = undefined;
  }

  /** Until September 2025: a header, then bare items, without times. */
  *#takeOld(record: Json, line: number): Generator<TranscriptEvent> {
    if (this.#nativeId === undefined) {
      const header = record.type === undefined && typeof record.id === "string" ? record : {};
      this.#headerTime = timeOf(header.timestamp);
      const branch = textOf(recordOf(header.git)?.branch);
      const facts = { startedAt: this.#headerTime, gitBranch: branch, hasSyntheticTimes: true } as const;
      yield this.#begin(facts, textOf(header.id));
      if (header === record) return;
    }
    if (record.record_type !== undefined) return;
    if (!this.#hasCwd) yield* this.#cwdFrom(contextFolder(record.content));
    const at = this.#headerTime;
    for (const event of this.#item(record, textOf(record.id) ?? `l${line}`, line, at)) {
      if (event.kind === "message") this.#headerTime = undefined; // the others follow it
      yield event;
    }
  }

  *#takeMeta(meta: Json, record: Json): Generator<TranscriptEvent> {
    const id = textOf(meta.id) ?? textOf(meta.session_id);
    // Later ones were copied from a parent, except where the user changed a setting of this thread.
    if (this.#nativeId === undefined || id === this.#threadId)
      this.#isMemoryDisabled =
        meta.memory_mode === undefined ? this.#isMemoryDisabled : meta.memory_mode === "disabled";
    if (this.#nativeId !== undefined) {
      if (!this.#isPastCopies && id !== this.#threadId) this.#copiedFrom ??= id;
      return;
    }
    const threadId = id ?? this.#place.fallbackId;
    const agent = recordOf(meta.source)?.subagent;
    const spawn = recordOf(recordOf(agent)?.thread_spawn);
    const parent =
      textOf(meta.parent_thread_id) ??
      textOf(spawn?.parent_thread_id) ??
      this.#place.threads.parents.get(threadId);
    this.#isSubagent =
      agent !== undefined || meta.thread_source === "subagent" || this.#place.threads.parents.has(threadId);
    const base = textOf(recordOf(meta.history_base)?.thread_id);
    const forkedFrom = textOf(meta.forked_from_id) ?? base;
    this.#startOrdinal = numberOf(meta.subagent_history_start_ordinal) ?? 0;
    this.#isPastCopies = this.#startOrdinal > 0 || base !== undefined;
    // Most subagents copy nothing. Those that do repeat the header of the parent, which is then the sign.
    if (!this.#isPastCopies && !this.#isSubagent) this.#copiedFrom = forkedFrom;
    this.#hasCwd = textOf(meta.cwd) !== undefined;
    yield this.#begin(
      {
        cwd: textOf(meta.cwd),
        startedAt: timeOf(meta.timestamp) ?? timeOf(record.timestamp),
        cliVersion: textOf(meta.cli_version),
        provider: textOf(meta.model_provider),
        gitBranch: textOf(recordOf(meta.git)?.branch),
        ...(this.#isSubagent && { visibility: "subagent", parent }),
        ...(!this.#isSubagent && forkedFrom !== undefined
          ? { continues: { how: "fork", session: forkedFrom } }
          : {}),
      },
      threadId,
    );
    if (MACHINE_RUNS.has(agent) || recordOf(meta.source)?.internal !== undefined)
      yield this.#skip("internal session");
  }

  #begin(facts: Partial<SessionFacts>, threadId = this.#place.fallbackId): TranscriptEvent {
    this.#threadId = threadId;
    this.#nativeId = threadId + this.#place.suffix;
    const title = this.#place.threads.titles.get(threadId);
    return { kind: "session", facts: { ...facts, ...(title && { title }), nativeId: this.#nativeId } };
  }

  #skip(reason: string): TranscriptEvent {
    this.isSkipped = true;
    return { kind: "skip", reason };
  }

  /** A fork begins with the turns of its parent under new times. The first turn that the parent lacks is its own. */
  async #enterTurn(id: string): Promise<void> {
    if (this.#copiedFrom !== undefined) {
      this.#copiedTurns ??= await this.#place.turnIdsOf(this.#copiedFrom);
      this.#isCopy = this.#copiedTurns.has(id);
      if (this.#isCopy) return;
    }
    this.#copiedFrom = undefined;
    this.#isPastCopies = true;
  }

  *#cwdFrom(cwd: string | undefined): Generator<TranscriptEvent> {
    if (cwd === undefined || this.#hasCwd || this.#nativeId === undefined) return;
    this.#hasCwd = true;
    yield { kind: "session", facts: { nativeId: this.#nativeId, cwd } };
  }

  *#item(item: Json, id: string, line: number, at: number | undefined): Generator<TranscriptEvent> {
    const message = this.#items.messageOf(item, id);
    if (message === undefined) return;
    if (message.role === "assistant" && message.text.trim() === EXTERNAL_MARK) {
      yield this.#skip("imported by Codex from another agent");
      return;
    }
    if (message.role === "user") this.#turns.push([]);
    this.#turns.at(-1)?.push(id);
    const model = message.role === "assistant" ? this.#model : undefined;
    yield { kind: "message", message: { ...message, at, line, model } };
  }

  /** Texts of events repeat response items; only what those do not say is used. */
  *#event(event: Json): Generator<TranscriptEvent> {
    if (event.type === "thread_rolled_back") {
      const count = Math.max(0, numberOf(event.num_turns) ?? 0);
      const ids = count === 0 ? [] : this.#turns.splice(-count).flat();
      if (ids.length > 0) yield { kind: "inactive", ids };
    } else if (event.type === "token_count") {
      const total = recordOf(recordOf(event.info)?.total_token_usage);
      if (total !== undefined) this.#usage = usageOf(total);
    } else if (event.type === "agent_message" && textOf(event.message)?.trim() === EXTERNAL_MARK)
      yield this.#skip("imported by Codex from another agent");
  }
}

/** Codex counts tokens from the cache as input too. */
function usageOf(total: Json): Usage {
  const cached = numberOf(total.cached_input_tokens) ?? 0;
  const input = numberOf(total.input_tokens);
  return {
    inputTokens: input === undefined ? undefined : Math.max(0, input - cached),
    outputTokens: numberOf(total.output_tokens),
    cacheReadTokens: cached,
    reasoningTokens: numberOf(total.reasoning_output_tokens),
  };
}
