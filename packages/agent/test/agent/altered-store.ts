// A real session database that does some things differently: fails, waits, or is watched.
import { mkdirSync } from "node:fs";
import { sessionDatabasePath } from "@hermes-memory/core/home";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/sessions";
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

/** What a database says that somebody else keeps for too long. Not one of ours: it may come from anywhere. */
export const locked = (): never => {
  throw new Error("database is locked");
};
