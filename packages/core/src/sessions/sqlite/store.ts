// The SQLite backend: the groups of operations put together.
import { profileOfDatabase, systemHomeContext } from "../../home.ts";
import { systemClock } from "../../lib/index.ts";
import type { SessionStore } from "../store.ts";
import type { StoreContext } from "./context.ts";
import { deletionOperations } from "./deletion.ts";
import { exportOperations } from "./export-import.ts";
import { featuresOf } from "./features.ts";
import { handoffOperations } from "./handoff.ts";
import { SearchIndex } from "./index/search-index.ts";
import { keptResultOperations } from "./kept-results.ts";
import { leaseOperations } from "./leases.ts";
import { lineageOperations } from "./lineage.ts";
import { listingOperations } from "./listing.ts";
import { lockOperations } from "./locks.ts";
import { maintenanceOperations } from "./maintenance.ts";
import { messageOperations } from "./messages.ts";
import { openDatabase } from "./open-database.ts";
import { optimizeOperations } from "./optimize.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { ownPromptOperations } from "./own-prompts.ts";
import { rewindOperations } from "./rewind.ts";
import { searchOperations } from "./search/search.ts";
import { sessionOperations } from "./sessions.ts";
import { summaryNodeOperations } from "./summary-nodes.ts";
import { titleOperations } from "./titles.ts";
import { windowOperations } from "./windows.ts";

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SessionStore> {
  const { connection, warnings } = await openDatabase(options);
  const warn = options.onWarning ?? (() => {});
  const index = new SearchIndex(connection);
  const context: StoreContext = {
    connection,
    index,
    clock: options.clock ?? systemClock,
    profile:
      options.profile === undefined ? profileOfDatabase(options.path, systemHomeContext()) : options.profile,
    warn,
  };
  const deletion = deletionOperations(context);
  const close = async () => {
    await index.close();
    connection.close();
  };
  const { isToday } = await connection.read(() => featuresOf(connection));
  index.start();
  return {
    location: connection.path,
    readOnly: connection.readOnlyBecause !== undefined,
    rules: isToday ? "today" : "june",
    warnings,
    close,
    [Symbol.asyncDispose]: close,
    ...sessionOperations(context),
    ...messageOperations(context),
    ...keptResultOperations(context),
    ...windowOperations(context),
    ...rewindOperations(context),
    ...titleOperations(context),
    ...lineageOperations(context),
    ...lockOperations(context),
    ...leaseOperations(context),
    ...ownPromptOperations(context),
    ...summaryNodeOperations(context),
    ...listingOperations(context),
    ...searchOperations(context, options.searchBounds),
    ...deletion,
    ...maintenanceOperations(context, deletion),
    ...optimizeOperations(context),
    ...handoffOperations(context),
    ...exportOperations(context),
  };
}
