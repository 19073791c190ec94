import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import { HermesError } from "../../src/lib/index.ts";

/** The text is kept for the lifetime of the process, so each test loads the module again. */
async function freshProcess() {
  vi.resetModules();
  return await import("../../src/sessions/errors.ts");
}

function failureOf(work: () => unknown): unknown {
  try {
    work();
  } catch (cause) {
    return cause;
  }
  throw new Error("nothing failed");
}

describe("the text about a session database that is not available", () => {
  it("names no cause when none is known", async () => {
    const { sessionDatabaseUnavailable } = await freshProcess();
    expect(sessionDatabaseUnavailable()).toBe("Session database not available.");
    expect(sessionDatabaseUnavailable("No history")).toBe("No history.");
  });

  it("names kind and message of the failure", async () => {
    const { rememberOpenFailure, sessionDatabaseUnavailable } = await freshProcess();
    rememberOpenFailure(failureOf(() => new DatabaseSync("/dev/null/state.db")));
    const text = "SqliteError: unable to open database file.";
    expect(sessionDatabaseUnavailable()).toBe(`Session database not available: ${text}`);
    expect(sessionDatabaseUnavailable("Cannot search")).toBe(`Cannot search: ${text}`);
  });

  it.each(["locking protocol", "not authorized"])(
    "adds where WAL fails when the cause is '%s'",
    async (cause) => {
      const { rememberOpenFailure, sessionDatabaseUnavailable } = await freshProcess();
      rememberOpenFailure(Object.assign(new Error(cause), { code: "ERR_SQLITE_ERROR", errcode: 15 }));
      expect(sessionDatabaseUnavailable()).toBe(
        `Session database not available: SqliteError: ${cause}` +
          " (state.db may be on NFS/SMB/FUSE — see https://www.sqlite.org/wal.html).",
      );
    },
  );

  it("finds a WAL refusal among the causes of an error, and ends with one full stop", async () => {
    const { rememberOpenFailure, sessionDatabaseUnavailable } = await freshProcess();
    const cause = new Error("locking protocol");
    rememberOpenFailure(new HermesError("session-db-unavailable", "state.db cannot be used.", { cause }));
    expect(sessionDatabaseUnavailable()).toBe(
      "Session database not available: HermesError: state.db cannot be used" +
        " (state.db may be on NFS/SMB/FUSE — see https://www.sqlite.org/wal.html).",
    );
  });

  it("keeps the latest failure", async () => {
    const { rememberOpenFailure, sessionDatabaseUnavailable } = await freshProcess();
    rememberOpenFailure(new Error("first"));
    rememberOpenFailure("second");
    expect(sessionDatabaseUnavailable()).toBe("Session database not available: Error: second.");
  });

  it("shows no credentials", async () => {
    const { rememberOpenFailure, sessionDatabaseUnavailable } = await freshProcess();
    rememberOpenFailure(new Error("cannot reach postgres://hermes:hunter2@db.example/memory"));
    expect(sessionDatabaseUnavailable()).toContain("db.example");
    expect(sessionDatabaseUnavailable()).not.toContain("hunter2");
  });

  it("stays on one line", async () => {
    const { rememberOpenFailure, sessionDatabaseUnavailable } = await freshProcess();
    rememberOpenFailure(new Error("broken\n  in two"));
    expect(sessionDatabaseUnavailable()).toBe("Session database not available: Error: broken in two.");
  });
});
