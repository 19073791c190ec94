// Model requests through the whole server: what log and figures say about them, and how a stop treats them.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { gate } from "../../agent/test/fakes/wires/script.ts";
import { accessLogPath } from "../src/access-log.ts";
import { clientHome } from "./clients/client-home.ts";

describe.each(["agent", "proxy"])("a request in %s mode", (mode) => {
  it("is finished when the server stops, stored, and in log and figures without its text", async () => {
    const until = gate();
    const text = "The crane is blue.";
    const home = await clientHome("chat", [
      { text, usage: { input: 10, output: 5 }, pauseAt: { chars: 10, until } },
    ]);
    const { gateway } = home;
    const path = `/${mode}/v1/chat/completions`;
    const answer = await gateway.call(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-hermes-session-id": "kitchen" },
      body: JSON.stringify({
        model: "test-model",
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: "user", content: "Which colour is the crane?" }],
      }),
    });
    await home.server.waitForRequest(0);
    const closed = gateway.close();
    await expect.poll(() => gateway.gateway.isStopping).toBe(true);
    until.open();
    expect((await answer.text()).trimEnd()).toMatch(/data: \[DONE\]$/);
    const { metrics } = gateway.gateway as unknown as { metrics: { render(): string } };
    const figures = metrics.render();
    expect(figures).toContain('hermes_tokens_total{kind="input"} 10\n');
    expect(figures).toContain('hermes_tokens_total{kind="output"} 5\n');
    await closed;
    const log = readFileSync(accessLogPath(gateway.home), "utf8");
    const line = { route: path, status: 200, mode, model: "test-model", stream: true };
    expect(
      log
        .trim()
        .split("\n")
        .map((each) => JSON.parse(each)),
    ).toContainEqual(expect.objectContaining(line));
    expect(log + figures + JSON.stringify(gateway.logged)).not.toContain("crane");
    await home.restart();
    expect(await home.lines("kitchen")).toEqual(["user: Which colour is the crane?", `assistant: ${text}`]);
  });
});
