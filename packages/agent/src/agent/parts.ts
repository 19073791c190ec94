// The parts of an agent that its modules share. Each takes those it needs; create/ puts them together.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import type { ContextEngine } from "@hermes-memory/core/internal/context";
import type { MemoryStore } from "@hermes-memory/core/internal/curated";
import type { Clock } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { MemoryUser } from "@hermes-memory/core/internal/memory";
import type { MemoryManager } from "@hermes-memory/core/internal/providers";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import type { SkillStore } from "@hermes-memory/core/internal/skills";
import type { ToolTable } from "@hermes-memory/core/internal/tools";
import type { AgentEvents } from "./events.ts";
import type { ModelInUse } from "./model-in-use.ts";
import type { TodoStore } from "./tools/todo.ts";

export type AgentParts = {
  readonly home: string;
  /** Stored as the source of its sessions. */
  readonly platform: string;
  readonly config: HermesConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly user: MemoryUser | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** For the user, once the agent is there. */
  readonly warn: (text: string) => void;
  /** Undefined: nothing is stored. */
  readonly store: SessionStore | undefined;
  readonly model: ModelInUse;
  readonly engine: ContextEngine;
  readonly manager: MemoryManager | undefined;
  readonly memory: MemoryStore | undefined;
  readonly skills: SkillStore;
  readonly tools: ToolTable;
  readonly todo: TodoStore;
  readonly events: AgentEvents;
};
