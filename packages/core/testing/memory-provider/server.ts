// A memory behind a server that hangs, fails, restarts, throttles, or sends nonsense: the turn goes on, and what was accepted arrives.
import { MemoryManager } from "../../src/providers/index.ts";
import { about, type Suite } from "../runner.ts";
import { close, type ProviderHarness, type ServerControls, settle, start } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const QUERY = "how hot is the kiln in the yard?";
/** Far above what a call without network takes, far below any timeout of a request. */
const AT_ONCE_MS = 1_000;
const RECALL_MS = 3_000;
const SHUTDOWN_MS = 2_500;
const SLACK_MS = 2_500;

type Trouble = readonly [name: string, cause: (server: ServerControls) => void | Promise<void>];

const TROUBLES: readonly Trouble[] = [
  ...[400, 401, 402, 403, 404, 409, 422, 500, 503].map(
    (status): Trouble => [
      `answers ${status}`,
      (server) => server.fail(status, { error: `status ${status}` }),
    ],
  ),
  ["answers 429", (server) => server.fail(429, { error: "slow down" }, { "retry-after": "1" })],
  ["answers with half a body", (server) => server.cutAnswers()],
  ["answers with broken JSON", (server) => server.answer('{"results": [', "application/json")],
  ["answers with a login page", (server) => server.answer("<html>Please sign in</html>", "text/html")],
  ["answers with 50 MB", (server) => server.answer(`["${"a".repeat(50 * 2 ** 20)}"]`, "application/json")],
  ["no longer accepts the key", (server) => server.revokeKey()],
  ["refuses connections", (server) => server.stop()],
  ["never answers", (server) => server.hang()],
];

export function serverContract({ it, expect }: Suite, harness: ProviderHarness): void {
  const { server: serverFor } = harness;
  if (serverFor === undefined) throw new Error("These tests need the `server` of the harness.");

  it("starts, describes itself and takes turns at once while the server never answers", async (test) => {
    const home = test.directory();
    const server = serverFor(home);
    test.after(() => server.recover());
    server.hang();
    const took = async (what: string, work: () => unknown, limitMs: number): Promise<void> => {
      const startedAt = performance.now();
      await settle(work);
      const ms = performance.now() - startedAt;
      about(`${what} (${Math.round(ms)} ms)`, () => expect(ms).toBeLessThan(limitMs));
    };
    const provider = harness.create(home);
    test.after(() => close(provider));
    const started = { hermes_home: home, platform: "cli", agent_context: "primary" } as const;
    await took("initialize", () => provider.initialize("session-1", started), AT_ONCE_MS);
    await took("systemPromptBlock", () => provider.systemPromptBlock?.({}), AT_ONCE_MS);
    await took("onTurnStart", () => provider.onTurnStart?.(1, QUERY, {}), AT_ONCE_MS);
    await took("syncTurn", () => provider.syncTurn?.(QUERY, "1240 degrees.", OPTIONS), AT_ONCE_MS);
    await took("queuePrefetch", () => provider.queuePrefetch?.(QUERY, OPTIONS), AT_ONCE_MS);
    await took("prefetch", () => provider.prefetch?.(QUERY, OPTIONS), RECALL_MS + SLACK_MS);
    await took("shutdown", () => close(provider), SHUTDOWN_MS + SLACK_MS);
  });

  for (const [name, cause] of TROUBLES) {
    it(`goes on when the server ${name}, and nothing that was accepted is lost`, async (test) => {
      const home = test.directory();
      const server = serverFor(home);
      test.after(async () => {
        await server.start();
        server.recover();
      });
      const manager = new MemoryManager({ home });
      manager.addProvider(harness.create(home));
      await manager.initializeAll("session-1", { platform: "cli", agent_context: "primary" });
      await cause(server);
      const startedAt = performance.now();
      await manager.onTurnStart(1, QUERY);
      expect(typeof (await manager.prefetchAll(QUERY, OPTIONS))).toBe("string");
      manager.finishTurn({ ...OPTIONS, user: "Turn during the trouble", assistant: "Noted." });
      for (const tool of manager.tools().slice(0, 3))
        JSON.parse(await manager.handleToolCall(tool.name, { query: QUERY, content: QUERY }));
      await manager.shutdownAll();
      // Recall 3 s, three tools that may repeat for 10 s each, drain and shutdown 8 s.
      expect(performance.now() - startedAt).toBeLessThan(60_000);
      await server.start();
      server.recover();
      server.resend(home);
      expect(await arrives(harness, home, "Turn during the trouble")).toBe("arrived");
    });
  }

  it("reports a tool call that failed as an error the model can read, without the key", async (test) => {
    const { provider, home } = await start(test, harness);
    const server = serverFor(home);
    test.after(() => server.recover());
    server.fail(500, { error: "the database is on fire" });
    const [tool] = ((await provider.getToolSchemas?.()) ?? []).filter(({ parameters }) =>
      Object.keys(Object(parameters.properties)).includes("query"),
    );
    const answer = JSON.parse(
      (await provider.handleToolCall?.(tool?.name ?? "", { query: QUERY }, {})) ?? "{}",
    );
    expect(typeof answer.error).toBe("string");
    expect(answer.error.length).toBeGreaterThan(10);
  });
}

/** A new process would send what is left; pauses after failures are short there because it has not failed yet. */
async function arrives(harness: ProviderHarness, home: string, text: string): Promise<"arrived" | "lost"> {
  const until = Date.now() + 20_000;
  while (Date.now() < until) {
    if (JSON.stringify(harness.stored(home)).includes(text)) return "arrived";
    const provider = harness.create(home);
    await provider.initialize("session-1", { hermes_home: home, platform: "cli", agent_context: "primary" });
    await provider.onSessionEnd?.([], {});
    await close(provider);
  }
  return JSON.stringify(harness.stored(home)).includes(text) ? "arrived" : "lost";
}
