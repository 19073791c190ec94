// The gateway under load: `--conversations` (200) streaming conversations of as many users at the same time, for `--seconds` (60), through
// a `hermes serve` process to a fake model server in another process. Between two turns of a conversation its user thinks for `--think` (2000)
// milliseconds on average; a reply comes in 20 pieces with `--pause` (100) milliseconds between them. Checked: no request fails, and each
// user's marker is only in their own streams and rows. The floor, measured in the same run before and after: the same requests straight
// to the fake model. `--count` counts SQL statements, `--profile FILE` writes a CPU profile of the second half. Loopback only, bounded, no network.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { quantile, round } from "./statistics.ts";

const CLI = join(import.meta.dirname, "../packages/hermes-memory/src/cli/main.ts");
const FAKE = join(import.meta.dirname, "gateway/fake-model.ts");
const PROBE = join(import.meta.dirname, "gateway/probe.ts");
const FLOOR_SECONDS = 10;
const REST_MS = 5_000;

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const users = Number(flags.conversations ?? 200);
  const seconds = Number(flags.seconds ?? 60);
  const thinkMs = Number(flags.think ?? 2_000);
  const mode = flags.mode ?? "proxy";
  const folder = mkdtempSync(join(flags.folder ?? tmpdir(), "hermes-bench-gateway-"));
  const fake = spawn(process.execPath, [FAKE, flags.pause ?? "100"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let gateway: ChildProcess | undefined;
  try {
    const model = `http://127.0.0.1:${await firstLine(fake)}`;
    const home = join(folder, "home");
    mkdirSync(home);
    const config = `model:\n  default: fake\n  base_url: ${model}/v1\n  context_length: 256000\ngateway:\n  port: 0\n  requests_per_minute: 0\n`;
    writeFileSync(join(home, "config.yaml"), config);
    gateway = spawn(process.execPath, ["--expose-gc", "--import", PROBE, CLI, "serve", "--json"], {
      env: {
        ...process.env,
        ...{ HOME: folder, HERMES_HOME: home, HERMES_BENCH_COUNT: flags.count === undefined ? "0" : "1" },
      },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const { url } = JSON.parse(await firstLine(gateway)) as { url: string };
    const token = readFileSync(join(home, "gateway", "local-token"), "utf8").trim();
    const target = `${url}/${token}/${mode}/v1/chat/completions`;
    const bare = `${model}/v1/chat/completions`;
    const floorSeconds = Math.min(seconds, FLOOR_SECONDS);
    const measure = (question: Question = {}) => ask(gateway, question);

    const floor = await conversations(bare, { users, seconds: floorSeconds, thinkMs, from: 0 });
    // Loads the code of the mode and opens the database: not part of what a request costs.
    const warm = await conversations(target, { users: 4, seconds: 3, thinkMs: 0, from: users });
    await measure({ gc: true });
    const before = await measure();
    const halfway =
      flags.profile === undefined
        ? undefined
        : sleep(seconds * 500).then(() => measure({ profile: "start" }));
    const loaded = await conversations(target, { users, seconds, thinkMs, from: 0 });
    await halfway;
    const after = await measure(flags.profile === undefined ? {} : { profile: { path: flags.profile } });
    const floorAfter = await conversations(bare, { users, seconds: floorSeconds, thinkMs, from: 0 });
    await sleep(REST_MS);
    await measure({ gc: true });
    const rested = await measure();
    gateway.kill("SIGTERM");
    const [code] = (await once(gateway, "exit")) as [number | null];
    const rows = foreignMarkers(join(home, "state.db"));

    const floorMs = [...floor.wholeMs, ...floorAfter.wholeMs];
    const floorFirstMs = [...floor.firstByteMs, ...floorAfter.firstByteMs];
    const errors = [...floor.errors, ...floorAfter.errors, ...warm.errors, ...loaded.errors];
    const perTurn = (value: "cpuMs" | "statements" | "transactions"): number =>
      round((after[value] - before[value]) / Math.max(1, loaded.done));
    return {
      bench: "gateway",
      mode,
      conversations: users,
      seconds,
      think_ms: thinkMs,
      turns: loaded.done,
      errors: errors.length,
      first_errors: errors.slice(0, 3),
      exit_code: code,
      foreign_markers_in_streams: loaded.foreign,
      foreign_markers_in_rows: rows.foreign,
      lost_or_doubled_turns: Math.abs(rows.messages - loaded.done - warm.done),
      first_byte_ms: percentiles(loaded.firstByteMs),
      floor_first_byte_ms: percentiles(floorFirstMs),
      whole_ms: percentiles(loaded.wholeMs),
      floor_whole_ms: percentiles(floorMs),
      overhead_ms: {
        p50: round(quantile(loaded.wholeMs, 0.5) - quantile(floorMs, 0.5)),
        p95: round(quantile(loaded.wholeMs, 0.95) - quantile(floorMs, 0.95)),
      },
      overhead_first_byte_ms: {
        p50: round(quantile(loaded.firstByteMs, 0.5) - quantile(floorFirstMs, 0.5)),
        p95: round(quantile(loaded.firstByteMs, 0.95) - quantile(floorFirstMs, 0.95)),
      },
      cpu_ms_per_turn: perTurn("cpuMs"),
      ...(flags.count !== undefined && {
        statements_per_turn: perTurn("statements"),
        transactions_per_turn: perTurn("transactions"),
      }),
      event_loop_delay_ms: rounded(after.loopDelayMs),
      memory: { before: memoryOf(before), after: memoryOf(after), after_rest_and_gc: memoryOf(rested) },
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

type LoadOptions = {
  readonly users: number;
  readonly seconds: number;
  readonly thinkMs: number;
  /** The number of the first user. */
  readonly from: number;
};

/** Each user goes on in one conversation, turn after turn, and sends the whole list each time. They begin one after the other. */
export async function conversations(
  url: string,
  { users, seconds, thinkMs, from }: LoadOptions,
): Promise<Load> {
  const load: Load = { firstByteMs: [], wholeMs: [], errors: [], foreign: 0, done: 0 };
  const until = performance.now() + seconds * 1000;
  const talk = async (user: number): Promise<void> => {
    const messages: { role: string; content: string }[] = [];
    await sleep(Math.random() * thinkMs);
    for (let turn = 0; performance.now() < until; turn += 1) {
      messages.push({
        role: "user",
        content: `MARK-${user}-${turn} what about the harbour crane number ${turn}?`,
      });
      const reply = await request(url, user, messages, load);
      if (reply === undefined) return;
      if (!reply.includes(`users: ${user}.`)) load.foreign += 1;
      if (!reply.includes(`newest MARK-${user}-${turn},`))
        load.errors.push(`the reply does not name its own marker: ${reply}`);
      messages.push({ role: "assistant", content: reply });
      load.done += 1;
      await sleep(Math.min(Math.random() * 2 * thinkMs, Math.max(0, until - performance.now())));
    }
  };
  await Promise.all(Array.from({ length: users }, (_, user) => talk(from + user)));
  return load;
}

async function request(
  url: string,
  user: number,
  messages: object[],
  load: Load,
): Promise<string | undefined> {
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
    if (!text.includes("[DONE]")) throw new Error(`the stream broke off: ${text.slice(-300)}`);
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

/** Rows whose marker is not that of the session's user, and active messages of users. */
export function foreignMarkers(path: string): { readonly foreign: number; readonly messages: number } {
  using db = new DatabaseSync(path, { readOnly: true });
  const rows = db
    .prepare(
      "SELECT m.role, m.content, m.active, s.user_id FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.content LIKE '%MARK-%'",
    )
    .all() as { role: string; content: string; active: number; user_id: string | null }[];
  const isForeign = ({ content, user_id }: (typeof rows)[number]): boolean =>
    (String(content).match(/MARK-(\d+)-/g) ?? []).some((mark) => `user-${mark.slice(5, -1)}` !== user_id);
  return {
    foreign: rows.filter(isForeign).length,
    messages: rows.filter(({ role, active }) => role === "user" && active === 1).length,
  };
}

async function ask(child: ChildProcess | undefined, question: Question): Promise<Measured> {
  if (child === undefined) throw new Error("There is no process to ask.");
  child.send(question);
  const [measured] = (await once(child, "message")) as [Measured];
  return measured;
}

export async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("The process has no output.");
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit").then(() => {
    throw new Error("A process of the load test ended before it was ready.");
  });
  const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
  ended.catch(() => {}); // it ends later, when the test is over
  return line;
}

function memoryOf({ heapMb, rssMb, files }: Measured): Record<string, number> {
  return { heap_mb: round(heapMb, 1), rss_mb: round(rssMb, 1), files };
}

function percentiles(values: readonly number[]): Record<string, number> {
  return {
    p50: round(quantile(values, 0.5)),
    p95: round(quantile(values, 0.95)),
    p99: round(quantile(values, 0.99)),
  };
}

function rounded(values: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, round(value)]));
}

// Loaded into the measured server (`--import`): answers the load test's questions about its own process over the channel between them.

/** Of the measured process. */
type Measured = {
  readonly heapMb: number;
  readonly rssMb: number;
  readonly files: number;
  /** Since the process began. */
  readonly cpuMs: number;
  readonly statements: number;
  readonly transactions: number;
  /** Since the question before. */
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
};

/** `gc`: after collecting garbage. */
type Question = { readonly gc?: boolean; readonly profile?: "start" | { readonly path: string } };

const RESOLUTION_MS = 5;
const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
loop.enable();
const counted = { statements: 0, transactions: 0 };
if (process.env.HERMES_BENCH_COUNT === "1") countStatements();

let session: Session | undefined;

process.on("message", (question: Question) => void answer(question));
process.channel?.unref();

async function answer({ gc, profile }: Question): Promise<void> {
  if (gc) for (let round = 0; round < 3; round += 1) global.gc?.();
  if (profile === "start") {
    session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
  } else if (profile !== undefined && session !== undefined) {
    writeFileSync(profile.path, JSON.stringify((await session.post("Profiler.stop")).profile));
    session.disconnect();
  }
  const { heapUsed, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const ms = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const measured: Measured = {
    heapMb: heapUsed / 2 ** 20,
    rssMb: rss / 2 ** 20,
    files: readdirSync("/proc/self/fd").length,
    cpuMs: (user + system) / 1000,
    ...counted,
    loopDelayMs: { p50: ms(loop.percentile(50)), p99: ms(loop.percentile(99)), max: ms(loop.max) },
  };
  loop.reset();
  process.send?.(measured);
}

/** Costs some percent of the time that is measured. */
function countStatements(): void {
  for (const name of ["run", "get", "all", "iterate"] as const) {
    const plain = StatementSync.prototype[name] as (...given: unknown[]) => unknown;
    Object.assign(StatementSync.prototype, {
      [name](this: StatementSync, ...given: unknown[]) {
        counted.statements += 1;
        if (this.sourceSQL === "COMMIT") counted.transactions += 1;
        return plain.apply(this, given);
      },
    });
  }
}
