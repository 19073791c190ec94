// Child process: an agent with a bad provider. The first argument selects the scenario, the second is the home. Prints the log as lines of
// JSON; the test checks how the process ends.
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { MemoryProvider } from "../../src/providers/contract.ts";
import { addToHealthFile } from "../../src/providers/manager/health.ts";
import { MemoryManager } from "../../src/providers/manager/manager.ts";
import { provider, recordingLogger, thenable } from "./providers.ts";

const [scenario = "", home = ""] = process.argv.slice(2);
const log = recordingLogger();
const manager = new MemoryManager({ home, log, deadlinesMs: { turnStart: 20, drain: 20, preCompress: 20 } });

/** Every kind of work that is not awaited. Each fails once. */
const LEAKS: Readonly<Record<string, Partial<MemoryProvider>>> = {
  "a rejected promise": { onTurnStart: () => void Promise.reject(new Error("leaked")) },
  "a rejected null": { onTurnStart: () => void Promise.reject(null) },
  "a rejected nothing printable": { onTurnStart: () => void Promise.reject(Object.create(null)) },
  "a promise that rejects later": {
    onTurnStart: () => {
      void sleep(5).then(() => Promise.reject(new Error("leaked")));
    },
  },
  "a throw in a timer": {
    onTurnStart: () => {
      setTimeout(() => {
        throw new Error("leaked");
      }, 5);
    },
  },
  "a throw in an immediate": {
    onTurnStart: () => {
      setImmediate(() => {
        throw new Error("leaked");
      });
    },
  },
  "a throw in a microtask": {
    onTurnStart: () => {
      queueMicrotask(() => {
        throw new Error("leaked");
      });
    },
  },
  "a socket nobody listens to": {
    onTurnStart: () => {
      request({ host: "127.0.0.1", port: 1, path: "/" }).end();
    },
  },
  "a leak while it lists its tools": {
    getToolSchemas: () => {
      if (isRegistered) return [];
      isRegistered = true;
      void Promise.reject(new Error("leaked"));
      return [];
    },
  },
  "a leak while it is awaited": {
    onTurnStart: () => thenable(undefined, () => void Promise.reject(new Error("leaked"))),
  },
  "a throw when its deadline passes": {
    onPreCompress: (_messages, { signal }) => {
      signal?.addEventListener("abort", () => {
        throw new Error("leaked");
      });
      return new Promise(() => {});
    },
  },
  "a throw when the session switches": {
    prefetch: (_query, { signal }) => {
      signal?.addEventListener("abort", () => {
        throw new Error("leaked");
      });
      return new Promise(() => {});
    },
  },
  "a throw when the agent shuts down": {
    syncTurn: (_user, _assistant, { signal }) => {
      signal?.addEventListener("abort", () => {
        throw new Error("leaked");
      });
      return new Promise(() => {});
    },
  },
  "a leak in shutdown": {
    shutdown: () => {
      setTimeout(() => {
        throw new Error("leaked");
      }, 5);
    },
  },
};
let isRegistered = false;

const FOREIGN: Readonly<Record<string, () => unknown>> = {
  rejection: () => Promise.reject(new Error("the agent's own")),
  "rejected text": () => Promise.reject("the agent's own"),
  exception: () => {
    throw new Error("the agent's own");
  },
};

const [kind = "", what = ""] = scenario.split(": ");
switch (kind) {
  case "leak":
    await wholeConversation(LEAKS[what] ?? {});
    await strayWarning();
    report();
    break;
  case "foreign":
    await wholeConversation({});
    setTimeout(() => FOREIGN[what]?.(), 5);
    setTimeout(() => console.log("went on"), 50);
    break;
  case "foreign, listened to":
    await wholeConversation({});
    process.on("unhandledRejection", () => console.log("somebody else's rejection"));
    process.on("uncaughtException", () => console.log("somebody else's exception"));
    setTimeout(() => FOREIGN[what]?.(), 5);
    setTimeout(() => console.log("went on"), 50);
    break;
  case "exit without shutdown":
    manager.addProvider(provider({ onTurnStart: () => Promise.reject(new Error("no")) }));
    await manager.onTurnStart(1, "tea?");
    process.exitCode = 0; // and nothing more: the counts are still in memory
    break;
  case "wedged":
    await wedged(what);
    break;
  case "add":
    for (let index = 0; index < Number(what); index += 1) {
      const counts = { calls: 1, failures: 0, timeouts: 0, skipped: 0, total_ms: 1, max_ms: index };
      while (!addToHealthFile(home, "notes", { hooks: { prefetch: counts }, stray_errors: 1 }));
    }
    console.log("added");
    break;
  default:
    throw new Error(`no scenario ${scenario}`);
}

/** Every hook of a conversation, once. */
async function wholeConversation(members: Partial<MemoryProvider>): Promise<void> {
  manager.addProvider(provider(members));
  await manager.initializeAll("s1");
  await manager.onTurnStart(1, "tea?");
  await manager.prefetchAll("tea?", { session_id: "s1" });
  manager.finishTurn({ session_id: "s1", user: "tea?", assistant: "yes" });
  await manager.onSessionSwitch("s2");
  await manager.onPreCompress([]);
  await manager.shutdownAll();
}

/** Waits at most two seconds until the failure of unawaited work was logged. */
async function strayWarning(): Promise<void> {
  const isThere = (): boolean => log.at("warn").some((message) => message.includes("left work behind"));
  for (let waited = 0; waited < 2_000 && !isThere(); waited += 5) await sleep(5);
}

/** A background task that never ends. `what` is what it waits for. The process has to end all the same. */
async function wedged(what: string): Promise<void> {
  const hang: Readonly<Record<string, MemoryProvider["syncTurn"]>> = {
    nothing: () => new Promise(() => {}),
    "a server": async (_user, _assistant, { signal }) => {
      const address = await silentServer();
      await fetch(address, signal ? { signal } : {});
    },
  };
  const syncTurn = hang[what];
  manager.addProvider(provider(syncTurn ? { syncTurn } : {}));
  manager.finishTurn({ session_id: "s1", user: "tea?", assistant: "yes" });
  await manager.shutdownAll();
  report();
}

/** Accepts every request and answers none. Does not keep the process alive; a waiting client does. */
async function silentServer(): Promise<string> {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  server.on("connection", (socket) => socket.unref());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function report(): void {
  console.log(JSON.stringify({ warnings: log.at("warn"), errors: log.at("error") }));
}
