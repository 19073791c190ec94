// What an agent tells whoever watches it. `hermes chat --json` prints these, one per line, in snake case.
import type { Usage } from "../models/index.ts";
import type { TurnResult } from "./result.ts";

export type AgentEvent =
  | { readonly type: "turn-start"; readonly sessionId: string; readonly turn: number }
  /** Scrubbed: what is told here is what is stored and returned. */
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  /** What was told of the current reply does not count; another attempt begins. */
  | { readonly type: "text-discard" }
  | { readonly type: "tool-start"; readonly callId: string; readonly name: string; readonly preview: string }
  | {
      readonly type: "tool-end";
      readonly callId: string;
      readonly name: string;
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
  /** By a model, in the background. */
  | { readonly type: "title-set"; readonly sessionId: string; readonly title: string }
  | {
      readonly type: "session-switch";
      readonly from: string;
      readonly to: string;
      readonly reason: "new_session" | "resume" | "branch" | "compression" | "rewind";
    }
  /** After the reply, in the background: somebody looks whether anything is worth keeping. */
  | {
      readonly type: "review-start";
      readonly sessionId: string;
      readonly memory: boolean;
      readonly skills: boolean;
    }
  | {
      readonly type: "review-end";
      readonly sessionId: string;
      /** What it wrote, for the user; null for nothing, or where `display.memory_notifications` is off. */
      readonly summary: string | null;
      readonly failed: boolean;
    }
  | { readonly type: "turn-end"; readonly result: TurnResult };

export type EventListener = (event: AgentEvent) => void;
