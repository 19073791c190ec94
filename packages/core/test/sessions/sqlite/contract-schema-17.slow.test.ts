// The session store contract in files that were upgraded to schema 17 or later: the groups that behave the same in every file.
// Where the rules differ (lineage, listings, replacing, columns of rows), see schema-17.test.ts.
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { type SessionStoreHarness, sessionStoreContract } from "../../../testing/index.ts";
import { copiesOf } from "../../fakes/store-copies.ts";
import { upgradeToToday } from "../../fakes/today-file.ts";
import { searchProperties } from "../store-properties.ts";

const BACKEND = "a file of today's Hermes";

const newCopy = copiesOf(async (path) => {
  await (await openSessionStore({ path })).close();
  upgradeToToday(path);
});

const harness: SessionStoreHarness = {
  open: async (options) => openSessionStore({ path: await newCopy(), ...options }),
  reopen: (store) => openSessionStore({ path: store.location }),
};

sessionStoreContract({ describe, it, expect }, BACKEND, {
  ...harness,
  only: [
    "windows",
    "rewinding",
    "titles",
    "flags",
    "continuing and branching",
    "deleting and pruning",
    "results in files",
    "summary nodes",
    "compression locks",
    "own prompts",
    "export and import",
    "search",
  ],
});
searchProperties(BACKEND, harness);
