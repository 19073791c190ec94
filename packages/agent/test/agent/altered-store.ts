// A real session database with some members replaced, so that they fail, wait or record their calls.
import { mkdirSync } from "node:fs";
import { sessionDatabasePath } from "@hermes-memory/core/internal/home";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { onTestFinished } from "vitest";

/** `change` gets the store itself and gives the members to put in place of its own. Closed when the test is over. */
export async function alteredStore(
  home: string,
  change: (store: SessionStore) => Partial<SessionStore>,
): Promise<SessionStore> {
  mkdirSync(home, { recursive: true });
  const store = await openSessionStore({ path: sessionDatabasePath(home) });
  onTestFinished(() => store.close());
  const changes = change(store);
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name, target);
      const member: unknown = Reflect.get(changes, name) ?? own;
      return typeof member === "function" && member === own ? member.bind(target) : member;
    },
  });
}

/** The error of a database that another process keeps locked. A plain `Error`, as other drivers throw it. */
export const locked = (): never => {
  throw new Error("database is locked");
};
