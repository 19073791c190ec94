// `hermes serve` as a process: start, signals, ports.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { KEYS, startInPty, whyNoPty } from "../fakes/pty.ts";
import { runJson } from "./run.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

type Served = {
  readonly url: string;
  readonly port: number;
  readonly port_taken: number | null;
  readonly mode: string;
  readonly tokens: number;
  readonly model: string | null;
  readonly base_urls: Readonly<Record<string, string>>;
  readonly missing: readonly { readonly what: string; readonly command: string }[];
};

/** Runs Node with these arguments until its first line. */
async function start(args: readonly string[], home: string) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, HOME: home, HERMES_HOME: home, NODE_COMPILE_CACHE },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = (await lines.next()) as { value: string | undefined };
  if (value === undefined) throw new Error(`ended: ${stderr}`);
  return { child, ended, said: JSON.parse(value) as Served, stderr: () => stderr };
}

const serve = (home: string, ...flags: readonly string[]) => start([MAIN, "serve", "--json", ...flags], home);

describe("hermes serve", async () => {
  it("answers on a fresh home within 3 s, and says what is missing and which command adds it", async () => {
    const startedAt = performance.now();
    const { said, child, ended, stderr } = await serve(tempDirectory(), "--port", "0");
    expect((await fetch(`${said.url}/healthz`)).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(said).toMatchObject({
      mode: "agent",
      tokens: 0,
      model: null,
      base_urls: { openai: `${said.url}/v1`, anthropic: said.url },
      missing: [{ command: "hermes setup" }, { command: expect.stringContaining("hermes token create") }],
    });
    child.kill("SIGTERM");
    expect({ code: await ended, stderr: stderr() }).toEqual({ code: 0, stderr: "" });
    await expect(fetch(`${said.url}/healthz`)).rejects.toThrow();
  });

  it("ends with 0 at Ctrl-C, and its log says that it has stopped", async () => {
    const home = tempDirectory();
    const { child, ended } = await serve(home, "--port", "0", "--mode", "proxy");
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    const log = readFileSync(join(home, "logs", "hermes-memory.log"), "utf8");
    expect(log).toContain("[MEMORY] shutdown rss=");
    expect(log.trimEnd().split("\n").at(-1)).toContain("The gateway has stopped");
  });

  it("takes the next free port, and prints it", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const { said } = await serve(tempDirectory(), "--port", String(port));
    expect(said.port).toBeGreaterThan(port);
    expect(said.port_taken).toBe(port);
    expect((await fetch(`${said.url}/healthz`)).status).toBe(200);
  });

  it("lets nobody in without a token, here and beyond, and makes the local one at the first start", async () => {
    const home = tempDirectory();
    const servers = await Promise.all(
      ["0.0.0.0", "127.0.0.1"].map((host) => serve(home, "--host", host, "--port", "0")),
    );
    const { token } = (await runJson(["token", "local"], { home })) as { token: string };
    for (const { said, stderr } of servers) {
      const address = `http://127.0.0.1:${said.port}/metrics`;
      expect((await fetch(address)).status).toBe(401);
      expect((await fetch(address, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
      expect(JSON.stringify(said) + stderr()).not.toContain(token);
    }
  });

  it.skipIf((await whyNoPty()) !== undefined)(
    "prints the local token on a terminal, and not into its log",
    async () => {
      const home = tempDirectory();
      const pty = await startInPty(["serve", "--port", "0"], { home, env: { HOME: home } });
      await pty.play([["Ctrl-C stops it", KEYS.interrupt]]);
      expect(await pty.ended()).toBe(0);
      const token = readFileSync(join(home, "gateway", "local-token"), "utf8").trim();
      expect(pty.output()).toContain(`/${token}/v1`);
      expect(readFileSync(join(home, "logs", "hermes-memory.log"), "utf8")).not.toContain(token);
    },
  );

  it("finishes a running request at SIGTERM; a second signal ends at once", async () => {
    const serving = new URL("../../../gateway/src/serve.ts", import.meta.url).href;
    const stopping = new URL("../../src/cli/until-stopped.ts", import.meta.url).href;
    const program = `
      const { startGateway } = await import(${JSON.stringify(serving)});
      const { untilStopped } = await import(${JSON.stringify(stopping)});
      const slow = { method: "POST", path: "/test/slow", access: "user", shape: "api", summary: "", handle: async (request) => {
        const { seconds } = await request.json();
        const body = new ReadableStream({ async start(stream) {
          stream.enqueue(Buffer.from("begun "));
          setTimeout(() => { stream.enqueue(Buffer.from("ended")); stream.close(); }, seconds * 1000);
        } });
        return new Response(body);
      } };
      const terminal = { untilInterrupted: (work) => work(new AbortController().signal) };
      await untilStopped(terminal, async (signal) => {
        const gateway = await startGateway({ home: process.env.HERMES_HOME, port: 0, routes: [slow] });
        console.log(JSON.stringify({ url: gateway.url + "/" + gateway.localToken }));
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await gateway.close();
      });`;
    const slow = async (seconds: number) => {
      const { said, child, ended } = await start(["--input-type=module", "-e", program], tempDirectory());
      const answer = await fetch(`${said.url}/test/slow`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ seconds }),
      });
      child.kill("SIGTERM");
      return { answer, child, ended };
    };
    const patient = await slow(1);
    expect(await patient.answer.text()).toBe("begun ended");
    expect(await patient.ended).toBe(0);
    const hasty = await slow(20);
    await new Promise((resolve) => setTimeout(resolve, 300));
    hasty.child.kill("SIGTERM");
    expect(await hasty.ended).toBe(143);
    await expect(hasty.answer.text()).rejects.toThrow();
  });
});

describe("npm start", () => {
  it("is hermes serve", () => {
    const root = new URL("../../../../package.json", import.meta.url);
    const { scripts } = JSON.parse(readFileSync(root, "utf8")) as { scripts: Record<string, string> };
    const [, file, command] = scripts.start?.split(" ") ?? [];
    expect(command).toBe("serve");
    expect(existsSync(new URL(file ?? "", root))).toBe(true);
  });
});
