// The SQLite backend: puts each group of the contract (../store.ts) together from the files with its statements.
import { profileOfDatabase, systemHomeContext } from "../../home.ts";
import { systemClock } from "../../lib/index.ts";
import type {
  MessageRecords,
  SessionClaims,
  SessionRecords,
  SessionSearch,
  SessionStore,
  StoreMaintenance,
} from "../store.ts";
import { handoffOperations, leaseOperations, lockOperations } from "./claims.ts";
import { featuresOf } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { deletionOperations } from "./deletion.ts";
import { erasingOperations } from "./erase-sessions.ts";
import { exportOperations } from "./export-import.ts";
import { gatewayOperations } from "./gateway-records.ts";
import { SearchIndex } from "./index/search-index.ts";
import { keptResultOperations } from "./kept-results.ts";
import { lineageOperations } from "./lineage.ts";
import { flagOperations, listingOperations } from "./listing.ts";
import { maintenanceOperations } from "./maintenance.ts";
import { messageOperations } from "./messages.ts";
import { openDatabase } from "./open-database.ts";
import type { Bounds, SqliteStoreOptions } from "./options.ts";
import { rewindOperations } from "./rewind.ts";
import { searchOperations } from "./search/search-messages.ts";
import { extractionOperations, ownPromptOperations, sessionOperations } from "./sessions.ts";
import { summaryNodeOperations } from "./summary-nodes.ts";
import { titleOperations } from "./titles.ts";
import { transcriptOperations } from "./transcripts.ts";
import { windowOperations } from "./windows.ts";

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SessionStore> {
  const { connection, warnings } = await openDatabase(options);
  connection.onWarning = options.onWarning;
  const index = new SearchIndex(connection);
  const context: StoreContext = {
    connection,
    index,
    clock: options.clock ?? systemClock,
    profile:
      options.profile === undefined ? profileOfDatabase(options.path, systemHomeContext()) : options.profile,
    warn: options.onWarning ?? (() => {}),
  };
  const close = async () => {
    await index.close();
    connection.close();
  };
  const { isSchema17 } = await connection.read(() => featuresOf(connection));
  index.start();
  return {
    location: connection.path,
    readOnly: connection.readOnlyBecause !== undefined,
    rules: isSchema17 ? "today" : "june",
    warnings,
    close,
    [Symbol.asyncDispose]: close,
    ...sessionRecords(context),
    ...messageRecords(context),
    ...lineageOperations(context),
    ...summaryNodeOperations(context),
    ...sessionSearch(context, options.searchBounds),
    ...sessionClaims(context),
    ...transcriptOperations(context),
    ...storeMaintenance(context),
    ...gatewayOperations(context),
  };
}

function sessionRecords(context: StoreContext): SessionRecords {
  return {
    ...sessionOperations(context),
    ...ownPromptOperations(context),
    ...extractionOperations(context),
    ...titleOperations(context),
    ...flagOperations(context),
  };
}

function messageRecords(context: StoreContext): MessageRecords {
  return {
    ...messageOperations(context),
    ...windowOperations(context),
    ...rewindOperations(context),
    ...keptResultOperations(context),
  };
}

function sessionSearch(context: StoreContext, bounds: Partial<Bounds> | undefined): SessionSearch {
  return { ...searchOperations(context, bounds), ...listingOperations(context) };
}

function sessionClaims(context: StoreContext): SessionClaims {
  return { ...leaseOperations(context), ...lockOperations(context), ...handoffOperations(context) };
}

function storeMaintenance(context: StoreContext): StoreMaintenance {
  const deletion = deletionOperations(context);
  return {
    ...deletion,
    ...erasingOperations(context),
    ...maintenanceOperations(context, deletion),
    ...exportOperations(context),
  };
}
