// The contract of the session store, kept by files that today's original has upgraded.
import { openSessionStore } from "../../../src/sessions/index.ts";
import { sessionStoreContract } from "../../contracts/session-store.ts";
import { newPath } from "../../fakes/session-index.ts";
import { upgradeToToday } from "../../fakes/today-file.ts";

sessionStoreContract("SQLite of today's Hermes", {
  open: async (options) => {
    const path = newPath();
    await (await openSessionStore({ path })).close();
    upgradeToToday(path);
    return openSessionStore({ path, ...options });
  },
  reopen: (store) => openSessionStore({ path: store.location }),
});
