import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { KEYS, startInPty, whyNoPty } from "../fakes/pty.ts";

const reason = await whyNoPty();
const SECRET = "sk-test-5d1f0c77b2a94e";
const READY = { text: "ready" };

const fileOf = (home: string, name: string): string =>
  existsSync(join(home, name)) ? readFileSync(join(home, name), "utf8") : "";

describe.skipIf(reason !== undefined)(`hermes setup in a pseudo terminal ${reason ?? ""}`, () => {
  it("offers a server of this machine and its models, saves the choice and tries it", async () => {
    const wire = await startWire("chat", [READY], { models: ["qwen3:8b", "llama3:8b"] });
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "# mine\nmemory:\n  nudge_interval: 7\n");
    const pty = await startInPty(["setup"], { home, env: { OLLAMA_HOST: new URL(wire.url).host } });
    await pty.play([
      ["Looking for model servers on this machine", ""],
      [`● Ollama at ${wire.url} - 2 models`, KEYS.enter],
      ["● qwen3:8b", KEYS.down],
      ["● llama3:8b", KEYS.enter],
      ["Try it now with one small call?", KEYS.enter],
      [`The model is llama3:8b, by ollama at ${wire.url}.`, ""],
      ["'hermes chat' starts a conversation", ""],
      ["worked", ""],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(fileOf(home, "config.yaml")).toBe(
      `# mine\nmemory:\n  nudge_interval: 7\nmodel:\n  base_url: ${JSON.stringify(wire.url)}\n  provider: ollama\n  default: "llama3:8b"\n`,
    );
    expect(existsSync(join(home, ".env"))).toBe(false);
    expect(wire.requests[0]?.body.model).toBe("llama3:8b");
  });

  it("reads a vendor's key without echo, and sends it only to the vendor", async () => {
    const wire = await startWire("anthropic", [READY], { models: ["claude-x"] });
    const home = tempDirectory();
    const pty = await startInPty(["setup", "--provider", "anthropic", "--base-url", wire.url], { home });
    await pty.play([
      ["Key of Anthropic (empty for none)", `two words${KEYS.enter}`],
      ["The key has a space", `${SECRET}${KEYS.enter}`],
      ["● claude-", KEYS.up],
      ["● Another one, by its name", KEYS.enter],
      ["Name of the model", `claude-x${KEYS.enter}`],
      ["Try it now", KEYS.enter],
      ["worked", ""],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).not.toContain(SECRET);
    expect(pty.output()).not.toContain(SECRET.slice(-4));
    expect(fileOf(home, ".env")).toBe(`ANTHROPIC_API_KEY=${SECRET}\n`);
    expect(statSync(join(home, ".env")).mode & 0o777).toBe(0o600);
    expect(wire.requests[0]?.headers["x-api-key"]).toBe(SECRET);
  });

  it("does not echo a key that is typed for --key-stdin", async () => {
    const home = tempDirectory();
    const args = ["setup", "--provider", "openai", "--model", "gpt-5.5", "--key-stdin", "--no-test", "--yes"];
    const pty = await startInPty(args, { home });
    await pty.play([["Key", `${SECRET}${KEYS.enter}`]]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).not.toContain(SECRET);
    expect(fileOf(home, ".env")).toBe(`OPENAI_API_KEY=${SECRET}\n`);
  });

  it("Ctrl-C during the test ends the call; what was saved stays", async () => {
    const wire = await startWire("chat", [{ ...READY, pauseBefore: "forever" }], { models: ["mine"] });
    const home = tempDirectory();
    const pty = await startInPty(["setup", "--base-url", wire.url, "--model", "mine", "--yes"], { home });
    await wire.waitForRequest(0);
    pty.send(KEYS.interrupt);
    await wire.waitForAbort(0);
    expect(await pty.ended()).toBe(130);
    expect(pty.output()).toContain("What was set up stays.");
    expect(fileOf(home, "config.yaml")).toContain("default: mine\n");
  });
});
