// A user's program, with @hermes-memory/gateway installed: it starts, answers, and ends.
import { startGateway } from "@hermes-memory/gateway";

const running = await startGateway({ home: process.argv[2] ?? "", port: 0 });
const health = await fetch(`${running.url}/healthz`);
const nobody = await fetch(`${running.url}/api/memory`);
await running.close();
console.log(JSON.stringify([health.status, nobody.status]));
