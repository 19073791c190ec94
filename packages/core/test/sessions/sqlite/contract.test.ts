import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { type SessionStoreHarness, sessionStoreContract } from "../../../testing/index.ts";
import { copiesOf } from "../../fakes/store-copies.ts";
import { callProperties, searchProperties } from "../store-properties.ts";

const newCopy = copiesOf(async (path) => (await openSessionStore({ path })).close());

const harness: SessionStoreHarness = {
  open: async (options) => openSessionStore({ path: await newCopy(), ...options }),
  reopen: (store) => openSessionStore({ path: store.location }),
};

sessionStoreContract({ describe, it, expect }, "SQLite", harness);
searchProperties("SQLite", harness);
callProperties("SQLite", harness);
