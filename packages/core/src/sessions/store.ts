// The session store: every conversation, durably. One contract, several backends, one conformance suite (testing/session-store.ts).
// The contract has seven groups, each in a file of store/ with its types. A backend writes the members of each; the store has them
// all, flat.
//
// Every method rejects with a `HermesError` when the database cannot be used (`session-db-locked`, `session-db-full`,
// `session-db-damaged`, `session-db-read-only`, ...) and when the arguments make no sense; the codes are in errors.ts.
// A read with `userId` sees the sessions of that user only: those of others, and those without an owner, do not exist. Any member
// that is passed `userId: undefined` rejects with `bad-user-id` (scope.ts). A store for one user alone: bound-store.ts.
import type { SessionUser } from "./scope.ts";
import type { SessionClaims } from "./store/claims.ts";
import type { Lineage } from "./store/lineage.ts";
import type { StoreMaintenance } from "./store/maintenance.ts";
import type { MessageRecords } from "./store/messages.ts";
import type { SessionSearch } from "./store/search.ts";
import type { SessionRecords } from "./store/sessions.ts";
import type { SummaryNodes } from "./store/summaries.ts";

export interface SessionStore
  extends SessionRecords,
    MessageRecords,
    Lineage,
    SummaryNodes,
    SessionSearch,
    SessionClaims,
    StoreMaintenance,
    AsyncDisposable {
  /** A file path, or the address of a server without its password. */
  readonly location: string;
  readonly readOnly: boolean;
  /**
   * Whose rules hold where the original's rules of June 2026 and of today disagree: `today` when the file has the columns of
   * schema 17 and later. Absent: `june`.
   */
  readonly rules?: "june" | "today";
  /** Whose sessions alone there are (bound-store.ts). Absent: everybody's. */
  readonly user?: SessionUser;
  /** What opening had to work around. */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}
