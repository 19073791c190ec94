// The conformance suite of session store backends. It does not know how or where the rows are stored.
import { suiteFor, type TestRunner } from "./runner.ts";
import { leasesContract, locksContract } from "./session-store/claims.ts";
import { deletionContract, erasingContract, keptResultsContract } from "./session-store/deletion.ts";
import { exportImportContract } from "./session-store/export-import.ts";
import {
  asksContract,
  liveSessionsContract,
  marksContract,
  recallsContract,
  roundsContract,
  spendContract,
  turnsContract,
} from "./session-store/gateway-records.ts";
import { lineageContract, splittingContract } from "./session-store/lineage.ts";
import { flagsContract, listingContract, titlesContract } from "./session-store/listing.ts";
import { maintenanceContract } from "./session-store/maintenance.ts";
import { messagesContract } from "./session-store/messages.ts";
import { conversationContract, windowsContract } from "./session-store/reading.ts";
import { replacingContract, rewindContract } from "./session-store/rewriting.ts";
import { scopingContract } from "./session-store/scoping.ts";
import { searchContract } from "./session-store/search.ts";
import { ownPromptsContract, sessionsContract } from "./session-store/sessions.ts";
import { summaryNodesContract } from "./session-store/summary-nodes.ts";
import type { Harness } from "./session-store/support.ts";
import { transcriptsContract } from "./session-store/transcripts.ts";

export type { Harness as SessionStoreHarness } from "./session-store/support.ts";

/** In the order of the groups in src/sessions/store.ts. */
const GROUPS = {
  // SessionRecords
  sessions: sessionsContract,
  "own prompts": ownPromptsContract,
  titles: titlesContract,
  flags: flagsContract,
  // MessageRecords
  messages: messagesContract,
  "replacing messages": replacingContract,
  windows: windowsContract,
  conversations: conversationContract,
  rewinding: rewindContract,
  "results in files": keptResultsContract,
  // Lineage
  lineage: lineageContract,
  "continuing and branching": splittingContract,
  // SummaryNodes
  "summary nodes": summaryNodesContract,
  // SessionSearch
  search: searchContract,
  listing: listingContract,
  // SessionClaims
  "session leases": leasesContract,
  "compression locks": locksContract,
  // TranscriptRecords
  transcripts: transcriptsContract,
  // StoreMaintenance
  "deleting and pruning": deletionContract,
  "erasing a user": erasingContract,
  "export and import": exportImportContract,
  maintenance: maintenanceContract,
  // GatewayRecords
  "live sessions": liveSessionsContract,
  asks: asksContract,
  marks: marksContract,
  turns: turnsContract,
  "recall traces": recallsContract,
  "hidden tool rounds": roundsContract,
  spend: spendContract,
  // Every group
  users: scopingContract,
};

/** A group of tests of the session store contract. */
export type SessionStoreGroup = keyof typeof GROUPS;

/** `only` runs some of the groups, for a backend that implements part of the contract. */
export function sessionStoreContract(
  runner: TestRunner,
  backend: string,
  harness: Harness & { readonly only?: readonly SessionStoreGroup[] },
): void {
  const suite = suiteFor(runner);
  const { only = Object.keys(GROUPS) as SessionStoreGroup[] } = harness;
  suite.describe(`session store on ${backend}`, () => {
    for (const group of only) suite.describe(group, () => GROUPS[group](suite, harness));
  });
}
