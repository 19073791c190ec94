// What one compaction works with.
import type { Clock } from "../../lib/index.ts";
import type { Scope, SessionStore } from "../../sessions/index.ts";
import type { Budgets } from "../compressor/settings.ts";
import type { ConfirmDigest } from "../engine.ts";
import type { Redact } from "../summary/serialise.ts";
import type { LcmSettings } from "./settings.ts";
import type { NodeWriter } from "./writer.ts";

/** Everything in tokens is estimated. */
export type Workplace = {
  readonly store: SessionStore;
  readonly sessionId: string;
  readonly scope: Scope;
  readonly settings: LcmSettings;
  readonly budgets: Budgets;
  readonly contextLength: number;
  /** What the list may cost so that the request fits; undefined: nobody has said. */
  readonly roomTokens: number | undefined;
  readonly writer: NodeWriter;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly providerText: string | undefined;
  readonly confirmDigest: ConfirmDigest | undefined;
  readonly signal: AbortSignal | undefined;
};
