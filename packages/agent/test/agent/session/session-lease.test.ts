// The lease of a session: renewals, and holders whose process no longer runs.
import { hostname } from "node:os";
import { Worker } from "node:worker_threads";
import { isDeadHere } from "@hermes-memory/core/internal/sessions";
import { expect, it, onTestFinished, vi } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { SessionLease } from "../../../src/agent/session/session-lease.ts";
import { gate } from "../../fakes/wires/script.ts";
import { agentHome } from "../agent-home.ts";
import { alteredStore } from "../altered-store.ts";

it("is not lost by a renewal of the session before, which was still under way when it moved on", async () => {
  const [asked, held, told] = [gate(), gate(), gate()];
  const store = await alteredStore(tempDirectory(), (real) => ({
    renewSessionLease: async (...args) => {
      asked.open();
      await held.opened;
      try {
        return await real.renewSessionLease(...args);
      } finally {
        told.open();
      }
    },
  }));
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const lease = new SessionLease(store, "old", "pid=1:host=elsewhere:nonce=aa");
  expect(await lease.take()).toBeUndefined();
  vi.advanceTimersByTime(20_000);
  await asked.opened;
  await lease.prepare("new");
  await lease.switchTo("new");
  held.open();
  await told.opened;
  expect(await lease.isHeld()).toBe(true);
  expect(lease.isLost).toBe(false);
  await lease.release();
  expect(await store.getSessionLease("new")).toBeNull();
});

it("of an agent of this process is respected until that one is closed", async () => {
  let holder = "";
  const home = tempDirectory();
  const store = await alteredStore(home, (real) => ({
    appendMany: (id, rows, options) => {
      holder = options?.leaseHolder ?? "";
      return real.appendMany(id, rows, options);
    },
  }));
  const { agent } = await agentHome([{ text: "ok" }], { home, options: { store } });
  await agent.run("hello");
  expect(holder).toContain(`pid=${process.pid}:`);
  expect(isDeadHere(holder)).toBe(false);
  await agent.close();
  expect(isDeadHere(holder)).toBe(true);
});

it("left behind by a program that had this one's number is taken over", async () => {
  const { agent } = await agentHome([{ text: "ok" }, { text: "ok" }]);
  await agent.run("hello");
  const predecessor = `pid=${process.pid}:host=${hostname()}:nonce=0badcafe`;
  await agent.store?.acquireSessionLease(agent.sessionId, predecessor);
  expect(await agent.run("again")).toMatchObject({ exit: "text_response" });
});

it("is not held by an earlier process with the number of this one; by one of another machine it may be", () => {
  expect(isDeadHere(`pid=${process.pid}:host=${hostname()}:nonce=0badcafe`)).toBe(true);
  expect(isDeadHere(`pid=${process.pid}:host=elsewhere:nonce=0badcafe`)).toBe(false);
});

it("of another thread of this process may be held", async () => {
  const path = new URL("../../../../core/src/lib/lease-holders.ts", import.meta.url).href;
  const code = `import(${JSON.stringify(path)}).then(({ newHolder }) =>
    require("node:worker_threads").parentPort.postMessage(newHolder()));`;
  const worker = new Worker(code, { eval: true, execArgv: [] });
  onTestFinished(() => void worker.terminate());
  const holder = await new Promise<unknown>((resolve, reject) => {
    worker.once("message", resolve).once("error", reject);
  });
  expect(String(holder)).toContain(`pid=${process.pid}:`);
  expect(isDeadHere(String(holder))).toBe(false);
});
