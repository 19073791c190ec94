// The real brv, cut off from the world: its own home and data, and a server on loopback in place of the services its
// daemon asks for when it starts and of the model that answers. Without them no command works offline.
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { isGone } from "../brv.ts";

export type RealBrv = {
  readonly binary: string;
  readonly env: Readonly<Record<string, string>>;
  /** Of the model, for `brv providers connect openai-compatible`. */
  readonly modelUrl: string;
  stop(): Promise<void>;
};

export const MODEL_ANSWER = "The database port in production is 5433, says the tree.";

/** `$HERMES_TEST_BRV`, else `brv` on PATH. */
export function findRealBrv(): string | undefined {
  const named = process.env.HERMES_TEST_BRV ?? "";
  if (named !== "") return named;
  const places = (process.env.PATH ?? "").split(delimiter).map((directory) => join(directory, "brv"));
  return places.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export async function startRealBrv(binary: string, root: string): Promise<RealBrv> {
  const server = await startServices();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    binary,
    env: isolatedEnvironment(binary, root, url),
    modelUrl: `${url}/v1`,
    async stop() {
      await stopDaemon(root);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function isolatedEnvironment(
  binary: string,
  root: string,
  servicesUrl: string,
): Record<string, string> {
  const services = ["IAM", "COGIT", "GIT_REMOTE", "LLM", "BILLING"].map((name) => [
    `BRV_${name}_BASE_URL`,
    servicesUrl,
  ]);
  return {
    ...Object.fromEntries(services),
    BRV_WEB_APP_URL: servicesUrl,
    BRV_DATA_DIR: join(root, "data"),
    BRV_DISABLE_AUTOUPDATE: "1",
    NO_UPDATE_NOTIFIER: "1",
    HOME: root,
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_CACHE_HOME: join(root, "cache"),
    XDG_DATA_HOME: join(root, "share"),
    PATH: [dirname(binary), dirname(process.execPath), process.env.PATH ?? ""].join(delimiter),
  };
}

/** The daemon outlives its callers by half an hour. It writes its id down in the data directory we gave it. */
export async function stopDaemon(root: string): Promise<void> {
  const path = join(root, "data", "daemon.json");
  if (!existsSync(path)) return;
  const { pid } = JSON.parse(readFileSync(path, "utf8")) as { readonly pid: number };
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const giveUpAt = performance.now() + 8_000; // it gives itself 5 s to end its own children
    if (isDaemon(pid)) process.kill(pid, signal);
    while (isDaemon(pid) && performance.now() < giveUpAt)
      await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The file may be older than the process that has the number now. */
function isDaemon(pid: number): boolean {
  if (isGone(pid)) return false;
  const commandLine = `/proc/${pid}/cmdline`;
  return !existsSync("/proc/self/cmdline") || readFileSync(commandLine, "utf8").includes("brv-server");
}

function startServices(): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = answerTo(request.url ?? "", `http://${request.headers.host}`);
    request.resume().on("end", () => {
      response.writeHead(answer === undefined ? 404 : 200, { "content-type": answer?.type ?? "text/plain" });
      response.end(answer?.body ?? "");
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

function answerTo(path: string, base: string): { readonly type: string; readonly body: string } | undefined {
  if (path.endsWith("/.well-known/openid-configuration"))
    return json({
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
    });
  if (path === "/v1/models") return json({ object: "list", data: [{ id: "m1", object: "model" }] });
  return path.endsWith("/chat/completions") ? { type: "text/event-stream", body: completion() } : undefined;
}

/** brv asks its models for streams. */
function completion(): string {
  const chunk = { id: "c-1", object: "chat.completion.chunk", created: 1, model: "m1" };
  const choices = [
    { index: 0, delta: { role: "assistant", content: MODEL_ANSWER }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: "stop" },
  ];
  const events = choices.map((choice) => JSON.stringify({ ...chunk, choices: [choice] }));
  return [...events, "[DONE]"].map((event) => `data: ${event}\n\n`).join("");
}

function json(value: object): { readonly type: string; readonly body: string } {
  return { type: "application/json", body: JSON.stringify(value) };
}
