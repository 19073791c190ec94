import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { DEFAULT_MEMORY_CONFIG } from "../../../src/config/index.ts";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import { readProviderHealth, recordConnection } from "../../../src/providers/manager/health.ts";
import { inspectConnection } from "../../../src/providers/setup/setup.ts";
import { provider } from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const HOME = "/nowhere";

function check(members: Partial<MemoryProvider>, timeoutMs?: number) {
  return inspectConnection(provider(members), { home: HOME, config: DEFAULT_MEMORY_CONFIG, timeoutMs });
}

async function serverAnswering(status: number): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function asking(url: string): Partial<MemoryProvider> {
  return {
    initialize: () => {
      throw new Error("must not be called");
    },
    initializeForInspection() {},
    async checkConnection(signal) {
      const { status } = await fetch(url, { signal });
      if (status !== 200) throw new Error(`the server answered ${status}`);
      return "Notes 1.2 answers.";
    },
  };
}

describe("the connection of a provider", () => {
  it("is asked for after a start for inspection, and the provider is shut down", async () => {
    const calls: unknown[] = [];
    const members = asking(await serverAnswering(200));
    const outcome = await check({
      ...members,
      initializeForInspection: (session, { signal: _signal, ...options }) =>
        void calls.push([session.slice(0, 11), options]),
      shutdown: () => void calls.push("shutdown"),
    });
    expect(outcome).toEqual({ kind: "reached", message: "Notes 1.2 answers" });
    const options = {
      hermes_home: HOME,
      platform: "cli",
      agent_context: "primary",
      outbox: true,
      outbox_max_items: 10_000,
    };
    expect(calls).toEqual([["inspection-", options], "shutdown"]);
  });

  it("that fails is told with the provider's reason", async () => {
    const outcome = await check(asking(await serverAnswering(401)));
    expect(outcome).toEqual({
      kind: "failed",
      message: "The check of its service failed: the server answered 401.",
    });
  });

  it("is not waited for longer than the deadline", async () => {
    const outcome = await check({ ...asking(""), checkConnection: () => new Promise(() => {}) }, 50);
    expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("0.05 s") });
  });

  it.each<[string, Partial<MemoryProvider>]>([
    ["nothing to check", { initializeForInspection() {} }],
    ["no start for inspection", { checkConnection: () => "fine" }],
  ])("does not exist with %s", async (_, members) => {
    expect(await check(members)).toEqual({ kind: "unsupported" });
  });

  it("is kept in the health file without secrets, beside everything else", () => {
    const home = tempDirectory();
    recordConnection(home, "notes", { ok: false, message: "refused Bearer sk-abcdefghijklmnopqrstuvwx" });
    recordConnection(home, "notes", { ok: true, message: "Notes 1.2 answers." });
    recordConnection(home, "notes", { ok: false, message: "key sk-abcdefghijklmnopqrstuvwx0123 refused" });
    const health = readProviderHealth(home, "notes");
    expect(health?.connection).toMatchObject({ ok: false, checked_at: expect.any(String) });
    expect(health?.connection?.message).not.toContain("abcdefghijkl");
    expect(health?.hooks).toEqual({});
  });
});
