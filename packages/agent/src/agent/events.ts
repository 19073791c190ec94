// The events of an agent and how its listeners get them. `hermes chat --json` prints each event on a line, in snake case.
import { describeCause } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { ToolArguments } from "@hermes-memory/core/internal/tools";
import type { Usage } from "../models/index.ts";
import type { ReviewEvent } from "../review/index.ts";
import type { TurnResult } from "./turn-result.ts";

/** What happens during a turn, as it happens. `type` tells the events apart. */
export type AgentEvent =
  | { readonly type: "turn-start"; readonly sessionId: string; readonly turn: number }
  /** The memory provider added this many memories to the turn's request. Only from providers that tell. */
  | { readonly type: "recall"; readonly label: string; readonly count: number; readonly glyph: string }
  /** Scrubbed: the text of these events is the text that is stored and returned. */
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  /** Drop the text and reasoning shown for the current reply: the model is asked again. */
  | { readonly type: "text-discard" }
  | {
      readonly type: "tool-start";
      readonly callId: string;
      readonly name: string;
      readonly preview: string;
      /** The arguments as they are stored, with secrets masked. The hook `preToolCall` gets the real values. */
      readonly input: ToolArguments;
    }
  | {
      readonly type: "tool-end";
      readonly callId: string;
      readonly name: string;
      /** The whole result: a value if the tool answered with a JSON object or list, otherwise the text. */
      readonly output: unknown;
      readonly isError: boolean;
      readonly durationMs: number;
      readonly resultChars: number;
    }
  | {
      readonly type: "usage";
      readonly usage: Usage;
      readonly promptTokens: number;
      readonly contextLength: number;
      readonly costUsd: number | null;
    }
  | {
      readonly type: "retry";
      readonly attempt: number;
      readonly of: number;
      readonly waitMs: number;
      readonly reason: string;
    }
  | {
      readonly type: "compaction-start";
      readonly sessionId: string;
      readonly messages: number;
      readonly tokens: number;
    }
  | {
      readonly type: "compaction-end";
      readonly kind: "compacted" | "pruned" | "unchanged" | "aborted" | "busy" | "failed";
      readonly oldSessionId: string;
      readonly sessionId: string;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    }
  /** For the user; each cause at most once per session. */
  | {
      readonly type: "notice";
      readonly level: "info" | "warn";
      readonly cause: string;
      readonly text: string;
    }
  | {
      readonly type: "memory-write";
      readonly action: "add" | "replace" | "remove";
      readonly target: "memory" | "user";
    }
  /** A model named the session, in the background. */
  | { readonly type: "title-set"; readonly sessionId: string; readonly title: string }
  | {
      readonly type: "session-switch";
      readonly from: string;
      readonly to: string;
      readonly reason: "new_session" | "resume" | "branch" | "compression" | "rewind";
    }
  | ReviewEvent
  | { readonly type: "turn-end"; readonly result: TurnResult };

/** Receives events. Must not throw. */
export type EventListener = (event: AgentEvent) => void;

export class AgentEvents {
  readonly #log: Logger;
  readonly #listeners = new Set<EventListener>();
  readonly #toldCauses = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Until the returned function is called. */
  listen(listener: EventListener): () => void {
    const entry: EventListener = (event) => listener(event); // the same function may be added twice and removed once
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** A listener that throws or rejects cannot break a turn. */
  emit(event: AgentEvent): void {
    for (const listener of this.#listeners)
      this.callQuietly(`A listener of ${event.type}`, () => listener(event));
  }

  /** A message for the user. Each cause is shown once per session. */
  notice(level: "info" | "warn", cause: string, text: string): void {
    if (this.#toldCauses.has(cause)) return;
    this.#toldCauses.add(cause);
    if (level === "warn") this.#log.warn(text, { cause });
    this.emit({ type: "notice", level, cause, text });
  }

  /** Another session begins, so every cause may be told again. */
  forgetNotices(): void {
    this.#toldCauses.clear();
  }

  /** Calls foreign code without waiting for it. An exception or a later rejection is logged; false for an exception. */
  callQuietly(what: string, call: () => unknown): boolean {
    const logFailure = (cause: unknown): void => this.#log.warn(`${what} failed: ${describeCause(cause)}`);
    try {
      const returned = call();
      if (returned instanceof Promise) returned.catch(logFailure);
      return true;
    } catch (cause) {
      logFailure(cause);
      return false;
    }
  }
}
