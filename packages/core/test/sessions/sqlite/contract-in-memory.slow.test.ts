// The session store contract, run against databases in memory.
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { sessionStoreContract } from "../../../testing/index.ts";

sessionStoreContract({ describe, it, expect }, "SQLite in memory", {
  open: (options) => openSessionStore({ path: ":memory:", ...options }),
});
