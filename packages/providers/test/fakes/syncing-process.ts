// Syncs turns through a bundled provider until it is killed: syncing-process.ts <provider> <home> <session> <first> <last>
// A turn's text has its number and this process, because a killed process may have accepted more turns than it could say. Says "<n>" when turn n was accepted, which means that it is on disk; "sent" when everything has left the outbox.

import { loadProvider } from "../../../core/src/providers/discovery/load-provider.ts";
import { readOutbox } from "../../src/kit/outbox/commands.ts";

const [name = "", home = "", session = "", first = "1", last = "0"] = process.argv.slice(2);
const loaded = await loadProvider(home, name);
if (!loaded.ok) throw new Error(loaded.error.message);
const { provider } = loaded.value;
await provider.initialize(session, { hermes_home: home, platform: "cli", agent_context: "primary" });
for (let turn = Number(first); turn <= Number(last); turn += 1) {
  await provider.syncTurn?.(`Turn number ${turn}.${process.pid}. The kiln is hot.`, `Noted turn ${turn}.`, {
    session_id: session,
  });
  console.log(String(turn));
  if (turn % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 5)); // lets the sender in between
}
await provider.onSessionEnd?.([], {});
const left = (): number =>
  readOutbox(home).reduce((sum, { state }) => sum + state.waiting + state.held + state.dead, 0);
for (const until = Date.now() + 120_000; left() > 0 && Date.now() < until; )
  await new Promise((resolve) => setTimeout(resolve, 100));
console.log(left() === 0 ? "sent" : `left ${JSON.stringify(readOutbox(home))}`);
await provider.shutdown?.({});
