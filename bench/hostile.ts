// Ordinary users beside hostile clients: `--users` (20) streaming conversations for `--seconds` (120) through a `hermes serve` process,
// while six clients in a process of their own (gateway/hostile-clients.ts) send what would stall it. `--bodies limits`: what the limits
// still allow. `--clients plain,deep`: only these of them. `--root DIR` measures the gateway of another checkout. The same users alone come first. Loopback only, bounded, no network.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { conversations, firstLine, foreignMarkers } from "./gateway.ts";
import { quantile, round } from "./statistics.ts";

const ROOT = join(import.meta.dirname, "..");
const FAKE = join(import.meta.dirname, "gateway/fake-model.ts");
const HOSTILE = join(import.meta.dirname, "gateway/hostile-clients.ts");
const ALONE_SECONDS = 20;
const PROBE_MS = 250;

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const users = Number(flags.users ?? 20);
  const seconds = Number(flags.seconds ?? 120);
  const mode = flags.mode ?? "proxy";
  const bodies = flags.bodies ?? "h1";
  const folder = mkdtempSync(join(flags.folder ?? tmpdir(), "hermes-bench-hostile-"));
  const started: ChildProcess[] = [];
  const start = (command: readonly string[], env = process.env): ChildProcess => {
    const child = spawn(process.execPath, command, { env, stdio: ["ignore", "pipe", "inherit"] });
    started.push(child);
    return child;
  };
  try {
    const model = `http://127.0.0.1:${await firstLine(start([FAKE, "50"]))}`;
    const home = join(folder, "home");
    mkdirSync(home);
    const config = `model:\n  default: fake\n  base_url: ${model}/v1\n  context_length: 256000\ngateway:\n  port: 0\n`;
    writeFileSync(join(home, "config.yaml"), config);
    const cli = join(flags.root ?? ROOT, "packages/hermes-memory/src/cli/main.ts");
    const gateway = start([cli, "serve", "--json"], {
      ...process.env,
      HOME: folder,
      HERMES_HOME: home,
    });
    const address = (JSON.parse(await firstLine(gateway)) as { url: string }).url.replace(/\/$/, "");
    const tokenFile = join(home, "gateway", "local-token");
    const url = existsSync(tokenFile) ? `${address}/${readFileSync(tokenFile, "utf8").trim()}` : address; // 0.3.0 has none
    const target = `${url}/${mode}/v1/chat/completions`;

    const warm = await conversations(target, { users: 4, seconds: 3, thinkMs: 0, from: 2 * users });
    const thinkMs = 1_000;
    const aloneSeconds = Math.min(seconds, ALONE_SECONDS);
    const alone = await conversations(target, { users, seconds: aloneSeconds, thinkMs, from: users });
    const hostile = start([HOSTILE, url, String(seconds), mode, bodies, flags.clients ?? ""]);
    await firstLine(hostile);
    const told = firstLine(hostile);
    const health = probeHealth(url, seconds);
    const beside = await conversations(target, { users, seconds, thinkMs, from: 0 });
    const attacked = JSON.parse(await told) as Record<string, unknown>;
    const healthMs = await health;
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"));
    gateway.kill("SIGTERM");
    const [code] = (await once(gateway, "exit")) as [number | null];
    const rows = foreignMarkers(join(home, "state.db"));
    const answered = warm.done + alone.done + beside.done;
    const errors = [...warm.errors, ...alone.errors, ...beside.errors];
    return {
      bench: "hostile",
      mode,
      bodies,
      users,
      seconds,
      alone_ms: figures(alone.wholeMs),
      beside_ms: figures(beside.wholeMs),
      beside_first_byte_ms: figures(beside.firstByteMs),
      healthz_ms: figures(healthMs),
      turns_beside: beside.done,
      errors: errors.length,
      first_errors: errors.slice(0, 3),
      turns_answered: answered,
      turns_stored: rows.messages,
      turns_lost: Math.max(0, answered - rows.messages),
      foreign_markers: rows.foreign + beside.foreign,
      rss_peak_mb: round(Number(peak?.[1] ?? 0) / 1024, 0),
      exit_code: code,
      hostile: attacked,
    };
  } finally {
    for (const child of started) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function probeHealth(url: string, seconds: number): Promise<number[]> {
  const until = performance.now() + seconds * 1000;
  const times: number[] = [];
  while (performance.now() < until) {
    const begun = performance.now();
    await fetch(`${url}/healthz`)
      .then((answer) => answer.text())
      .catch(() => undefined);
    times.push(performance.now() - begun);
    await sleep(PROBE_MS);
  }
  return times;
}

function figures(values: readonly number[]): Record<string, number> {
  const at = (share: number): number => (values.length === 0 ? 0 : round(quantile(values, share)));
  return { p50: at(0.5), p95: at(0.95), max: at(1), count: values.length };
}
