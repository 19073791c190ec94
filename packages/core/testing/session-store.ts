// What every backend of the session store promises. Nothing here knows how or where the rows are kept.
import { suiteFor, type TestRunner } from "./runner.ts";
import { conversationContract } from "./session-store/conversation.ts";
import { deletionContract } from "./session-store/deletion.ts";
import { exportImportContract } from "./session-store/export-import.ts";
import { handoffContract } from "./session-store/handoff.ts";
import { keptResultsContract } from "./session-store/kept-results.ts";
import { leasesContract } from "./session-store/leases.ts";
import { lineageContract } from "./session-store/lineage.ts";
import { listingContract } from "./session-store/listing.ts";
import { locksContract } from "./session-store/locks.ts";
import { maintenanceContract } from "./session-store/maintenance.ts";
import { messagesContract } from "./session-store/messages.ts";
import { ownPromptsContract } from "./session-store/own-prompts.ts";
import { replacingContract } from "./session-store/replacing.ts";
import { rewindContract } from "./session-store/rewind.ts";
import { scopingContract } from "./session-store/scoping.ts";
import { searchContract } from "./session-store/search.ts";
import { sessionsContract } from "./session-store/sessions.ts";
import { splittingContract } from "./session-store/splitting.ts";
import { summaryNodesContract } from "./session-store/summary-nodes.ts";
import type { Harness } from "./session-store/support.ts";
import { titlesContract } from "./session-store/titles.ts";
import { windowsContract } from "./session-store/windows.ts";

export type { Harness as SessionStoreHarness } from "./session-store/support.ts";

const GROUPS = {
  sessions: sessionsContract,
  messages: messagesContract,
  "replacing messages": replacingContract,
  windows: windowsContract,
  conversations: conversationContract,
  rewinding: rewindContract,
  titles: titlesContract,
  lineage: lineageContract,
  "continuing and branching": splittingContract,
  listing: listingContract,
  "deleting and pruning": deletionContract,
  "results in files": keptResultsContract,
  maintenance: maintenanceContract,
  "summary nodes": summaryNodesContract,
  "compression locks": locksContract,
  "session leases": leasesContract,
  "own prompts": ownPromptsContract,
  handoff: handoffContract,
  "export and import": exportImportContract,
  search: searchContract,
  users: scopingContract,
};

export type SessionStoreGroup = keyof typeof GROUPS;

/** `only` runs some of the groups, for a backend that keeps a part of the contract. */
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
