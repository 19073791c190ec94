// The gateway under load: `--conversations` (200) streaming conversations of as many users at the same time, for `--seconds` (60), through
// a `hermes serve` process to a fake model server in another process. Checked: no request fails, and each user's marker is only in their own
// streams and rows. The floor, measured in the same run: the same requests straight to the fake model. Loopback only, bounded, no network.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { round } from "./statistics.ts";

const CLI = join(import.meta.dirname, "../packages/hermes-memory/src/cli/main.ts");
const FAKE = join(import.meta.dirname, "gateway/fake-model.ts");
const FLOOR_SECONDS = 10;

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const users = Number(flags.conversations ?? 200);
  const seconds = Number(flags.seconds ?? 60);
  const mode = flags.mode ?? "proxy";
  const folder = mkdtempSync(join(flags.folder ?? tmpdir(), "hermes-bench-gateway-"));
  const fake = spawn(process.execPath, [FAKE, flags.pause ?? "40"], { stdio: ["ignore", "pipe", "inherit"] });
  let gateway: ChildProcess | undefined;
  try {
    const model = `http://127.0.0.1:${await firstLine(fake)}`;
    const home = join(folder, "home");
    mkdirSync(home);
    const config = `model:\n  default: fake\n  base_url: ${model}/v1\n  context_length: 256000\ngateway:\n  port: 0\n  requests_per_minute: 0\n`;
    writeFileSync(join(home, "config.yaml"), config);
    const env = { ...process.env, HOME: folder, HERMES_HOME: home };
    gateway = spawn(process.execPath, [CLI, "serve", "--json"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { url } = JSON.parse(await firstLine(gateway)) as { url: string };
    const pid = gateway.pid ?? 0;
    const before = rssOf(pid);
    const floor = await conversations(
      `${model}/v1/chat/completions`,
      users,
      Math.min(seconds, FLOOR_SECONDS),
    );
    const loaded = await conversations(
      `${url.replace(/\/$/, "")}/${mode}/v1/chat/completions`,
      users,
      seconds,
    );
    const metrics = await (await fetch(new URL("/metrics", url))).text();
    const after = rssOf(pid);
    gateway.kill("SIGTERM");
    await once(gateway, "exit");
    const rows = foreignMarkers(join(home, "state.db"));
    return {
      bench: "gateway",
      mode,
      conversations: users,
      seconds,
      requests: loaded.firstByteMs.length,
      errors: loaded.errors.length,
      first_errors: loaded.errors.slice(0, 3),
      foreign_markers_in_streams: loaded.foreign,
      foreign_markers_in_rows: rows.foreign,
      stored_user_messages: rows.messages,
      acknowledged_turns: loaded.done,
      first_byte_ms: percentiles(loaded.firstByteMs),
      floor_first_byte_ms: percentiles(floor.firstByteMs),
      whole_ms: percentiles(loaded.wholeMs),
      floor_whole_ms: percentiles(floor.wholeMs),
      overhead_ms: {
        p50: round(percentile(loaded.wholeMs, 0.5) - percentile(floor.wholeMs, 0.5)),
        p95: round(percentile(loaded.wholeMs, 0.95) - percentile(floor.wholeMs, 0.95)),
      },
      event_loop_delay: metrics.split("\n").filter((line) => /^hermes_event_loop/.test(line)),
      rss_before_mb: before,
      rss_after_mb: after,
      database_mb: round(statSync(join(home, "state.db")).size / 1e6),
    };
  } finally {
    fake.kill("SIGKILL");
    gateway?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

type Load = {
  readonly firstByteMs: number[];
  readonly wholeMs: number[];
  readonly errors: string[];
  foreign: number;
  done: number;
};

/** Each user goes on in one conversation, turn after turn, and sends the whole list each time. */
async function conversations(url: string, users: number, seconds: number): Promise<Load> {
  const load: Load = { firstByteMs: [], wholeMs: [], errors: [], foreign: 0, done: 0 };
  const until = performance.now() + seconds * 1000;
  const talk = async (user: number): Promise<void> => {
    const messages: { role: string; content: string }[] = [];
    for (let turn = 0; performance.now() < until; turn += 1) {
      messages.push({
        role: "user",
        content: `MARK-${user}-${turn} what about the harbour crane number ${turn}?`,
      });
      const reply = await ask(url, user, messages, load);
      if (reply === undefined) return;
      if ((reply.match(/MARK-(\d+)-/g) ?? []).some((mark) => mark !== `MARK-${user}-`)) load.foreign += 1;
      if (!reply.includes(`MARK-${user}-${turn}`)) load.errors.push("the reply does not name its own marker");
      messages.push({ role: "assistant", content: reply });
      load.done += 1;
    }
  };
  await Promise.all(Array.from({ length: users }, (_, user) => talk(user)));
  return load;
}

async function ask(url: string, user: number, messages: object[], load: Load): Promise<string | undefined> {
  const started = performance.now();
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-hermes-user-id": `user-${user}`,
        "x-openwebui-chat-id": `chat-${user}`,
      },
      body: JSON.stringify({ model: "fake", stream: true, messages }),
      signal: AbortSignal.timeout(60_000),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status} ${(await response.text()).slice(0, 200)}`);
    let text = "";
    let isFirst = true;
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      if (isFirst) load.firstByteMs.push(performance.now() - started);
      isFirst = false;
      text += decoder.decode(chunk, { stream: true });
    }
    if (!text.includes("[DONE]")) throw new Error("the stream broke off");
    load.wholeMs.push(performance.now() - started);
    return text
      .split("\n")
      .filter((line) => line.startsWith("data: {"))
      .map(
        (line) =>
          (JSON.parse(line.slice(6)) as { choices?: { delta?: { content?: string } }[] }).choices?.[0]?.delta
            ?.content ?? "",
      )
      .join("");
  } catch (cause) {
    load.errors.push(String(cause));
    return undefined;
  }
}

/** Rows whose marker is not that of the session's user. */
function foreignMarkers(path: string): { readonly foreign: number; readonly messages: number } {
  using db = new DatabaseSync(path, { readOnly: true });
  const rows = db
    .prepare("SELECT m.role, m.content, s.user_id FROM messages m JOIN sessions s ON s.id = m.session_id")
    .all() as { role: string; content: string; user_id: string | null }[];
  const isForeign = ({ content, user_id }: (typeof rows)[number]): boolean =>
    (String(content).match(/MARK-(\d+)-/g) ?? []).some((mark) => `user-${mark.slice(5, -1)}` !== user_id);
  return {
    foreign: rows.filter(isForeign).length,
    messages: rows.filter(({ role }) => role === "user").length,
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("The process has no output.");
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit").then(() => {
    throw new Error("A process of the load test ended before it was ready.");
  });
  const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
  return line;
}

function rssOf(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return round(Number(line?.[1] ?? 0) / 1024);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function percentiles(values: readonly number[]): Record<string, number> {
  return {
    p50: round(percentile(values, 0.5)),
    p95: round(percentile(values, 0.95)),
    p99: round(percentile(values, 0.99)),
  };
}
