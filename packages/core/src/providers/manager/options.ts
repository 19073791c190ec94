// What a manager is made with, and the calls it takes. Option keys are spelled as the contract spells them.
import type { Clock } from "../../lib/index.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Message, OpenAiMessage } from "../../message/index.ts";
import type { InitializeOptions } from "../contract.ts";
import type { Deadlines } from "./deadlines.ts";

export type MemoryManagerOptions = {
  /** Given to providers as `hermes_home`; also where counters are kept. */
  readonly home?: string;
  /** The name config selects the external provider by, when that is not its own: counters are kept under it. */
  readonly selectedAs?: string;
  readonly log?: Logger;
  readonly clock?: Clock;
  /** Tool names no provider may take. Default: the agent's own. */
  readonly coreToolNames?: ReadonlySet<string>;
  /** Config `memory.recall_max_chars`. */
  readonly recallMaxChars?: number;
  /** Config `memory.allow_secrets`: credentials in recalled text are not cut out. */
  readonly allowSecrets?: boolean;
  /** Config `memory.prefetch_timeout_s`; 0 for no limit. */
  readonly prefetchTimeoutS?: number;
  /** Config `memory.prefetch_max_age_turns`. */
  readonly prefetchMaxAgeTurns?: number;
  /** Config `memory.mirror_remove`. */
  readonly mirrorRemove?: boolean;
  /** Told once per provider, in words for the user, when it fails or does not answer in time for the first time. */
  readonly onTrouble?: ((text: string) => void) | undefined;
  /** For tests that cannot wait. */
  readonly deadlinesMs?: Partial<Deadlines>;
};

/** A write that is on disk. The curated layer's `CommittedWrite` is one. */
export type MirroredWrite = {
  readonly target: "memory" | "user";
  readonly op:
    | { readonly action: "add"; readonly content: string }
    | { readonly action: "replace"; readonly oldText: string; readonly content: string }
    | { readonly action: "remove"; readonly oldText: string };
};

/** What came of erasing a text in a provider. */
export type ProviderForgot =
  | { readonly kind: "forgot"; readonly erased: number; readonly remaining?: string }
  /** It has no way to erase. */
  | { readonly kind: "cannot" }
  | { readonly kind: "failed"; readonly reason: string };

export type InitializeAllOptions = Omit<InitializeOptions, "hermes_home" | "signal"> & {
  readonly hermes_home?: string;
};

/** A turn as it ended. */
export type FinishedTurn = {
  readonly session_id: string;
  /** Contents as the model API has them: text, or a list of parts. */
  readonly user: unknown;
  readonly assistant: unknown;
  readonly messages?: readonly (Message | OpenAiMessage)[];
  readonly interrupted?: boolean;
  readonly failed?: boolean;
};

export type SwitchOptions = {
  readonly parent_session_id?: string;
  readonly reset?: boolean;
  /** Told to providers only when true. */
  readonly rewound?: boolean;
  readonly reason?: string;
};
