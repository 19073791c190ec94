// Real reverse proxies with their default settings in front of the gateway. nginx adds no header by which a passed-on request could be told
// from one of this machine, so what a request says about itself must not let anybody in.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { newToken, runningGateway } from "./running-gateway.ts";

/** Besides what each needs to run in the foreground as this user, `config` is what the proxy's own introduction shows. */
type ReverseProxy = {
  readonly name: string;
  readonly program: string;
  config(ports: { readonly from: number; readonly to: number }, folder: string): string;
  args(file: string, folder: string): readonly string[];
  /** Passes on the name that the client used, so the gateway must be told it. */
  readonly keepsHost: boolean;
};

const PROXIES: readonly ReverseProxy[] = [
  {
    name: "nginx",
    program: "nginx",
    keepsHost: false,
    config: ({ from, to }, folder) => `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${folder}/${each};`).join(" ")}
  server { listen 127.0.0.1:${from}; location / { proxy_pass http://127.0.0.1:${to}; } }
}`,
    args: (file, folder) => ["-p", folder, "-e", "stderr", "-c", file],
  },
  {
    name: "Caddy",
    program: "caddy",
    keepsHost: true,
    config: ({ from, to }) => `{
  admin off
}
http://127.0.0.1:${from} {
  reverse_proxy 127.0.0.1:${to}
}`,
    args: (file) => ["run", "--adapter", "caddyfile", "--config", file],
  },
];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function started(proxy: ReverseProxy, from: number, to: number): Promise<string> {
  const folder = tempDirectory();
  const file = join(folder, "proxy.conf");
  writeFileSync(file, `${proxy.config({ from, to }, folder)}\n`);
  const child: ChildProcess = spawn(proxy.program, proxy.args(file, folder), {
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exit = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  let said = "";
  child.stderr?.on("data", (text: Buffer) => {
    said += text.toString();
  });
  const url = `http://127.0.0.1:${from}`;
  const isUp = (): Promise<boolean> =>
    fetch(url).then(
      ({ status }) => status < 500,
      () => false,
    );
  await expect.poll(isUp, { timeout: 20_000, message: said }).toBe(true);
  return url;
}

describe("a reverse proxy with default settings", () => {
  for (const proxy of PROXIES) {
    const isMissing = spawnSync(proxy.program, ["-v"]).error !== undefined;
    it.skipIf(isMissing)(
      `of ${proxy.name} opens nothing by itself, and passes on tokens${isMissing ? ` (${proxy.program} is not installed)` : ""}`,
      async () => {
        const port = await freePort();
        const home = tempDirectory();
        const config = proxy.keepsHost ? `gateway:\n  allowed_hosts: ["127.0.0.1:${port}"]\n` : "";
        const gateway = await runningGateway({ home, config });
        await gateway.gateway.memory(undefined).owner.add("The safe opens with 4711");
        const url = await started(proxy, port, gateway.port);
        const { localToken: local = "" } = gateway;
        const asked = async (path: string, token?: string): Promise<string> => {
          const answer = await fetch(
            url + path,
            token === undefined ? {} : { headers: { "x-api-key": token } },
          );
          return `${answer.status}${(await answer.text()).includes("4711") ? " the owner's entry" : ""}`;
        };
        const before = await asked("/api/entries");
        const bob = await newToken(home, { kind: "user", user: { platform: "web", id: "bob" } });
        await expect.poll(() => asked("/api/entries", bob)).toBe("200");
        const table = {
          "no token, and none made": before,
          "no token": await asked("/api/entries"),
          "a wrong token": await asked("/api/entries", `${local}x`),
          "the local token": await asked("/api/entries", local),
          "a user's token": await asked("/api/entries", bob),
          "the local token in the path": await asked(`/${local}/api/entries`),
          "a user's token in the path": await asked(`/${bob}/api/entries`),
        };
        expect(table).toEqual({
          "no token, and none made": "401",
          "no token": "401",
          "a wrong token": "401",
          "the local token": "200 the owner's entry",
          "a user's token": "200",
          "the local token in the path": "200 the owner's entry",
          "a user's token in the path": "401",
        });
      },
      40_000,
    );
  }
});
