// The SQLite backend: puts each group of the contract (../store.ts) together from the files with its statements.
import { profileOfDatabase, systemHomeContext } from "../../home.ts";
import { isRecord, systemClock } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import type { HomeStore, SessionStore } from "../store.ts";
import { leaseOperations, lockOperations } from "./claims.ts";
import { featuresOf } from "./connection.ts";
import { EVERYBODY, onePerson, type StoreContext } from "./context.ts";
import { deletionOperations, upkeepOperations } from "./deletion.ts";
import { erasingOperations } from "./erase-sessions.ts";
import { exportOperations } from "./export-import.ts";
import { gatewayOperations, spendOperations } from "./gateway-records.ts";
import { SearchIndex } from "./index/search-index.ts";
import { allKeptResultIds, keptResultOperations } from "./kept-results.ts";
import { lineageOperations } from "./lineage.ts";
import { flagOperations, listingOperations } from "./listing.ts";
import { maintenanceOperations, metaOperations } from "./maintenance.ts";
import { messageOperations } from "./messages.ts";
import { openDatabase } from "./open-database.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { rewindOperations } from "./rewind.ts";
import { searchOperations } from "./search/reads.ts";
import { extractionOperations, ownPromptOperations, sessionOperations } from "./sessions.ts";
import { summaryNodeOperations } from "./summary-nodes.ts";
import { titleOperations } from "./titles.ts";
import { transcriptOperations } from "./transcripts.ts";
import { pruneTurns, turnOperations } from "./turn-records.ts";
import { windowOperations } from "./windows.ts";

export async function openSqliteStore(options: SqliteStoreOptions): Promise<HomeStore> {
  const { connection, warnings } = await openDatabase(options);
  const index = new SearchIndex(connection);
  const context: StoreContext = {
    connection,
    index,
    clock: options.clock ?? systemClock,
    profile:
      options.profile === undefined ? profileOfDatabase(options.path, systemHomeContext()) : options.profile,
    warn: options.onWarning ?? (() => {}),
    person: EVERYBODY,
  };
  const { isSchema17 } = await connection.read(() => featuresOf(connection));
  index.start();

  const storeOf = (own: StoreContext, close: () => Promise<void>): SessionStore => ({
    location: connection.path,
    readOnly: connection.readOnlyBecause !== undefined,
    rules: isSchema17 ? "today" : "june",
    warnings,
    scope: own.person.scope,
    ...(own.person.user === undefined ? {} : { user: own.person.user }),
    close,
    [Symbol.asyncDispose]: close,
    ...sessionOperations(own),
    ...ownPromptOperations(own),
    ...extractionOperations(own),
    ...titleOperations(own),
    ...flagOperations(own),
    ...messageOperations(own),
    ...windowOperations(own),
    ...rewindOperations(own),
    ...keptResultOperations(own),
    ...lineageOperations(own),
    ...searchOperations(own, options.searchBounds),
    ...listingOperations(own),
    ...leaseOperations(own),
    ...lockOperations(own),
    ...deletionOperations(own),
    ...erasingOperations(own),
    ...exportOperations(own),
    summaries: summaryNodeOperations(own),
    turns: turnOperations(own),
    gateway: gatewayOperations(own),
  });
  const upkeep = upkeepOperations(context);
  const closeFile = async () => {
    await index.close();
    connection.close();
  };
  return {
    ...withoutScopes(storeOf(context, closeFile)),
    ...upkeep,
    ...metaOperations(context),
    ...spendOperations(context),
    listAllKeptResultIds: () => allKeptResultIds(context),
    pruneTurns: (olderThanDays) => pruneTurns(context, olderThanDays),
    transcripts: transcriptOperations(context),
    file: maintenanceOperations(context, upkeep),
    forUser: (person) => storeOf({ ...context, person: onePerson(person) }, async () => {}),
  };
}

/** Members that make rows, which may name a user or have any key, and the searches, which keep to a user that is passed. */
const TAKE_KEYS: ReadonlySet<string> = new Set(
  "createSession appendMessage appendMany replaceMessages importSessions search searchMessages".split(" "),
);
const SCOPE_KEYS = ["userId", "userPlatform", "withoutUser"];

/**
 * Until 0.3, options of a read could name its user. In a program without types such a key would now be ignored, and the store of the home
 * would answer for everybody: so it refuses it.
 */
function withoutScopes<T extends object>(store: T): T {
  const checked = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (name === "summaries" || name === "turns" || name === "gateway")
      return [name, withoutScopes(member as object)];
    if (typeof member !== "function" || TAKE_KEYS.has(name)) return [name, member];
    return [
      name,
      (...args: readonly unknown[]) => {
        if (args.some((arg) => isRecord(arg) && SCOPE_KEYS.some((key) => key in arg)))
          throw sessionError("bad-user-id", `${name} no longer takes a user.`, {
            hint: "Call it in the store of the person: store.forUser({ platform, userId }).",
          });
        return member(...args);
      },
    ];
  });
  return { ...store, ...Object.fromEntries(checked) };
}
