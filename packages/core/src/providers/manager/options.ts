// Options of the manager and arguments of its methods. Keys that reach a provider are spelled as the contract spells them.
import type { Clock } from "../../lib/index.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Message, OpenAiMessage } from "../../message/index.ts";
import type { Deadlines, InitializeOptions } from "../contract.ts";

/** Home, log and limits of a manager. */
export type MemoryManagerOptions = {
  /** Given to providers as `hermes_home`; also where the health files are. */
  readonly home?: string;
  /** The name under which config selects the external provider, if that is not the provider's own: names its health file. */
  readonly selectedAs?: string;
  readonly log?: Logger;
  readonly clock?: Clock;
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
  /** Called once per provider, with a text for the user, when the provider fails or misses a deadline for the first time. */
  readonly onTrouble?: (text: string) => void;
  /** For tests, and for callers outside a conversation. */
  readonly deadlinesMs?: Partial<Deadlines>;
};

/** As `InitializeOptions`; the manager adds the home and the signal. */
export type InitializeAllOptions = Omit<InitializeOptions, "hermes_home" | "signal"> & {
  readonly hermes_home?: string;
};

/** A turn for `syncAll`: what the user said and what was answered. */
export type FinishedTurn = {
  readonly session_id: string;
  /** Contents as the model API has them: text, or a list of parts. */
  readonly user: unknown;
  readonly assistant: unknown;
  readonly messages?: readonly (Message | OpenAiMessage)[];
  readonly interrupted?: boolean;
  readonly failed?: boolean;
};

/** Why the manager's session changes. */
export type SwitchOptions = {
  readonly parent_session_id?: string;
  readonly reset?: boolean;
  /** Passed to providers only when true. */
  readonly rewound?: boolean;
  readonly undone_turns?: number;
  readonly reason?: string;
};

/** What providers said before a compaction. */
export type Checkpoint = {
  /** For the summary request; "" for none. */
  readonly text: string;
  /** Why the messages are not known to be stored durably, as the end of a sentence after "because". Absent: they are stored. */
  readonly missing?: string;
};

export const NO_PROVIDER = "no memory provider is active";

/** Why `compression.checkpoint_required` forbids the compaction; undefined: it does not. Without a manager there is no checkpoint. */
export function checkpointMissing(checkpoint: Checkpoint | undefined): string | undefined {
  const missing = checkpoint === undefined ? NO_PROVIDER : checkpoint.missing;
  return (
    missing &&
    `compression.checkpoint_required asks for a memory provider that has stored the messages first, and ${missing}; set the key to false to compact without that`
  );
}
