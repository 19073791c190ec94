// The contract of the session store in files that today's original has upgraded: the groups whose promises are the same in every kind
// of file. Where its rules are others (lineage, listings, replacing, what a row shows), today.test.ts says what holds there.
import { describe } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { deletionContract } from "../../../testing/session-store/deletion.ts";
import { exportImportContract } from "../../../testing/session-store/export-import.ts";
import { handoffContract } from "../../../testing/session-store/handoff.ts";
import { keptResultsContract } from "../../../testing/session-store/kept-results.ts";
import { locksContract } from "../../../testing/session-store/locks.ts";
import { ownPromptsContract } from "../../../testing/session-store/own-prompts.ts";
import { rewindContract } from "../../../testing/session-store/rewind.ts";
import { searchContract } from "../../../testing/session-store/search.ts";
import { splittingContract } from "../../../testing/session-store/splitting.ts";
import { summaryNodesContract } from "../../../testing/session-store/summary-nodes.ts";
import type { Harness } from "../../../testing/session-store/support.ts";
import { titlesContract } from "../../../testing/session-store/titles.ts";
import { windowsContract } from "../../../testing/session-store/windows.ts";
import { newPath } from "../../fakes/session-index.ts";
import { upgradeToToday } from "../../fakes/today-file.ts";

const harness: Harness = {
  open: async (options) => {
    const path = newPath();
    await (await openSessionStore({ path })).close();
    upgradeToToday(path);
    return openSessionStore({ path, ...options });
  },
  reopen: (store) => openSessionStore({ path: store.location }),
};

const GROUPS = {
  windows: windowsContract,
  rewinding: rewindContract,
  titles: titlesContract,
  "continuing and branching": splittingContract,
  "deleting and pruning": deletionContract,
  "results in files": keptResultsContract,
  "summary nodes": summaryNodesContract,
  "compression locks": locksContract,
  "own prompts": ownPromptsContract,
  handoff: handoffContract,
  "export and import": exportImportContract,
  search: searchContract,
};

describe("session store on a file of today's Hermes", () => {
  for (const [name, contract] of Object.entries(GROUPS)) describe(name, () => contract(harness));
});
