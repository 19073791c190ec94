// Child process: makes one kind of large change over and over until it is killed. Says "start <n>" before the n-th and
// "done <n>" when the store has acknowledged it. Arguments: database, kind.
import { writeSync } from "node:fs";
import { openSessionStore, type SessionStore } from "../../src/sessions/index.ts";
import { messageAt } from "./varied-messages.ts";

export const ROWS_PER_CHANGE = 150;
const DOOMED = 14;

export type ChangeKind =
  | "appendMany"
  | "continueSession"
  | "branchSession"
  | "replaceMessages"
  | "deleteSession";

const rows = (name: string) => Array.from({ length: ROWS_PER_CHANGE }, (_, index) => messageAt(name, index));

/** What has to be there before the changes begin. */
export async function prepareChanges(store: SessionStore, kind: ChangeKind): Promise<void> {
  await store.createSession("link-0", { source: "cli" });
  await store.setSessionTitle("link-0", "harbour");
  await store.appendMany("link-0", rows("link-0"));
  for (let index = 1; kind === "deleteSession" && index <= DOOMED; index += 1) {
    await store.createSession(`doomed-${index}`, { source: "cli" });
    await store.appendMany(`doomed-${index}`, rows(`doomed-${index}`));
    const modelConfig = { _delegate_from: `doomed-${index}` };
    const parentSessionId = `doomed-${index}`;
    await store.createSession(`delegate-${index}`, { source: "subagent", parentSessionId, modelConfig });
    await store.appendMany(`delegate-${index}`, rows(`delegate-${index}`));
  }
}

export const CHANGES: Readonly<Record<ChangeKind, (store: SessionStore, index: number) => Promise<unknown>>> =
  {
    appendMany: (store, index) => store.appendMany("link-0", rows(`batch-${index}`)),
    continueSession: (store, index) =>
      store.continueSession(`link-${index - 1}`, { id: `link-${index}`, messages: rows(`link-${index}`) }),
    branchSession: (store, index) => store.branchSession("link-0", { id: `branch-${index}` }),
    replaceMessages: (store, index) => store.replaceMessages("link-0", rows(`generation-${index}`)),
    deleteSession: (store, index) => store.deleteSession(`doomed-${index}`),
  };

if (import.meta.main) {
  const [path = "", kind = ""] = process.argv.slice(2);
  const store = await openSessionStore({ path });
  for (let index = 1; kind !== "deleteSession" || index <= DOOMED; index += 1) {
    writeSync(1, `start ${index}\n`);
    await CHANGES[kind as ChangeKind](store, index);
    writeSync(1, `done ${index}\n`);
  }
  await store.close();
}
