// What every backend of the session store promises. Nothing here knows how or where the rows are kept.
import { describe } from "vitest";
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
import { propertiesContract } from "./session-store/properties.ts";
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

export type { Harness } from "./session-store/support.ts";

export function sessionStoreContract(backend: string, harness: Harness): void {
  describe(`session store on ${backend}`, () => {
    describe("sessions", () => sessionsContract(harness));
    describe("messages", () => messagesContract(harness));
    describe("replacing messages", () => replacingContract(harness));
    describe("windows", () => windowsContract(harness));
    describe("conversations", () => conversationContract(harness));
    describe("rewinding", () => rewindContract(harness));
    describe("titles", () => titlesContract(harness));
    describe("lineage", () => lineageContract(harness));
    describe("continuing and branching", () => splittingContract(harness));
    describe("listing", () => listingContract(harness));
    describe("deleting and pruning", () => deletionContract(harness));
    describe("results in files", () => keptResultsContract(harness));
    describe("maintenance", () => maintenanceContract(harness));
    describe("summary nodes", () => summaryNodesContract(harness));
    describe("compression locks", () => locksContract(harness));
    describe("session leases", () => leasesContract(harness));
    describe("own prompts", () => ownPromptsContract(harness));
    describe("handoff", () => handoffContract(harness));
    describe("export and import", () => exportImportContract(harness));
    describe("search", () => searchContract(harness));
    describe("users", () => scopingContract(harness));
    describe("any sequence of calls", () => propertiesContract(harness));
  });
}
