// For files that another version or program wrote: the records of a gateway can be kept in them, and the file stays sound.
import { expect } from "vitest";
import { openSessionStore } from "../../src/sessions/index.ts";
import { liveOf, traceOf } from "../../testing/session-store/gateway-records.ts";

/** Of the newest session of the file at `path`, which no store has open. They are gone with a session of their own. */
export async function keepsGatewayRecords(path: string): Promise<void> {
  {
    await using store = await openSessionStore({ path });
    expect(store.readOnly).toBe(false);
    const [id = ""] = await store.listSessionIds();
    for (const session_id of [id, await store.createSession("of a gateway", { source: "cli" })]) {
      await store.gateway.saveLiveSession(liveOf(session_id, { key: session_id }));
      await store.gateway.saveMarks(session_id, [`prefix:${session_id}`]);
      await store.turns.addRecall(traceOf(session_id, { injected: "recalled" }));
      await store.gateway.saveRound({ session_id, mark: "prefix:1", wire: "chat", items: "[]" });
    }
    expect(await store.deleteSession("of a gateway")).toBe(true);
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
  }
  await using store = await openSessionStore({ path, readOnly: true });
  const [session_id = ""] = await store.listSessionIds();
  expect(await store.gateway.listLiveSessions()).toEqual([liveOf(session_id, { key: session_id })]);
  expect(await store.gateway.findMark(["prefix:of a gateway", `prefix:${session_id}`])).toMatchObject({
    session_id,
  });
  expect(await store.turns.listRecalls()).toMatchObject([{ session_id, injected: "recalled" }]);
  expect(await store.gateway.findRounds(session_id, () => ["prefix:1"], "chat")).toHaveLength(1);
}
