// Importing transcripts: generates Claude Code transcripts (`--megabytes`, 1000 by default), imports them in a process of its own, and
// reports speed, CPU time, peak memory and the size of the database. The floor, measured in the same run: a process that only reads the
// files and parses every line.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { round } from "./statistics.ts";

const CLI = join(import.meta.dirname, "../packages/hermes-memory/src/cli/main.ts");

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(flags.folder ?? tmpdir(), "hermes-bench-import-"));
  try {
    const transcripts = join(folder, "projects");
    const bytes = await writeTranscripts(transcripts, Number(flags.megabytes ?? 1000) * 1e6);
    const env = { ...process.env, HOME: folder, HERMES_HOME: join(folder, "home") };
    const words = ["sessions", "import", "--from", "claude-code", "--path", transcripts, "--json"];
    const floor = measured(["--input-type=module", "-e", READ_ONLY, transcripts], env);
    const first = measured([CLI, ...words], env);
    const [report] = JSON.parse(first.output).sources;
    const again = measured([CLI, ...words], env);
    const path = join(folder, "home", "state.db");
    const text = textIn(path);
    return {
      bench: "import",
      megabytes: round(bytes / 1e6),
      files: report.files,
      sessions: report.sessions_added,
      messages: report.messages_added,
      seconds: round(first.seconds),
      cpu_seconds: round(first.cpuSeconds),
      megabytes_per_second: round(bytes / 1e6 / first.seconds),
      peak_rss_mb: round(first.peakMegabytes),
      floor_cpu_seconds: round(floor.cpuSeconds),
      floor_ratio: round(first.cpuSeconds / floor.cpuSeconds),
      again_seconds: round(again.seconds),
      database_mb: round(statSync(path).size / 1e6),
      text_mb: round(text / 1e6),
      database_bytes_per_text_byte: round(statSync(path).size / text),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const READ_ONLY = `
  import { createReadStream, globSync } from "node:fs";
  import { createInterface } from "node:readline";
  for (const path of globSync(process.argv[1] + "/**/*.jsonl"))
    for await (const line of createInterface({ input: createReadStream(path) })) JSON.parse(line);
`;

type Measured = {
  readonly output: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMegabytes: number;
};

/** The process prints what it used as the last line of stderr. */
const PRINT_USAGE = `data:text/javascript,${encodeURIComponent(
  "process.on('exit',()=>{const u=process.resourceUsage();process._rawDebug(JSON.stringify({cpu:(u.userCPUTime+u.systemCPUTime)/1e6,rss:u.maxRSS/1024}))})",
)}`;

function measured(words: readonly string[], env: NodeJS.ProcessEnv): Measured {
  const start = performance.now();
  const child = spawnSync(process.execPath, ["--import", PRINT_USAGE, ...words], {
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const seconds = (performance.now() - start) / 1000;
  if (child.status !== 0) throw new Error(`the import failed: ${child.stderr}${child.stdout}`);
  const usage = JSON.parse(child.stderr.trim().split("\n").at(-1) ?? "{}");
  return { output: child.stdout, seconds, cpuSeconds: usage.cpu, peakMegabytes: usage.rss };
}

function textIn(path: string): number {
  using database = new DatabaseSync(path, { readOnly: true });
  const row = database
    .prepare(
      "SELECT SUM(octet_length(COALESCE(content, '')) + octet_length(COALESCE(tool_calls, ''))) AS bytes FROM messages",
    )
    .get();
  return Number(row?.bytes);
}

// ---- Generated transcripts ----
// Turns of a user, an answer in two lines, and a tool result that the record holds twice, as Claude Code writes them. Most results are
// short, some have 20,000 characters.

const WORDS =
  "the cache key locale index build error module test session token queue worker stream buffer parse render commit branch merge deploy config server client request response header timeout retry lock table column row query schema migration".split(
    " ",
  );

async function writeTranscripts(folder: string, wanted: number): Promise<number> {
  const random = randomNumbers(7);
  let bytes = 0;
  for (let file = 0; bytes < wanted; file += 1) {
    const project = join(folder, `-home-ana-project-${file % 20}`);
    mkdirSync(project, { recursive: true });
    bytes += await writeTranscript(project, file, Math.min(wanted - bytes, 2e6 + random() * 6e6), random);
  }
  return bytes;
}

async function writeTranscript(
  project: string,
  file: number,
  wanted: number,
  random: () => number,
): Promise<number> {
  const sessionId = uuid(random);
  const out = createWriteStream(join(project, `${sessionId}.jsonl`));
  let time = Date.UTC(2026, 0, 1) + file * 3_600_000;
  let parentUuid: string | null = null;
  let bytes = 0;
  const record = (fields: object): string => {
    const id = uuid(random);
    time += 5000;
    const shared = {
      parentUuid,
      isSidechain: false,
      userType: "external",
      cwd: "/home/ana/project",
      sessionId,
    };
    const line = {
      ...shared,
      version: "2.0.1",
      gitBranch: "main",
      ...fields,
      uuid: id,
      timestamp: new Date(time),
    };
    parentUuid = id;
    return `${JSON.stringify(line)}\n`;
  };
  while (bytes < wanted) {
    let text = record({ type: "user", message: { role: "user", content: prose(random, 200) } });
    for (let step = 0; step < 3 + random() * 6; step += 1) text += stepRecords(record, random);
    bytes += text.length;
    if (!out.write(text)) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
  return bytes;
}

function stepRecords(record: (fields: object) => string, random: () => number): string {
  const call = `toolu_${uuid(random).slice(0, 18)}`;
  const message = {
    id: `msg_${uuid(random).slice(0, 18)}`,
    role: "assistant",
    model: "claude-sonnet-4-5",
    usage: { input_tokens: 10, output_tokens: 60 },
  };
  const input = { file_path: "/home/ana/project/src/cache.ts", note: prose(random, 60) };
  const content = prose(random, random() < 0.15 ? 20_000 : 1500);
  const result = [{ type: "tool_result", tool_use_id: call, content }];
  return (
    record({
      type: "assistant",
      message: { ...message, content: [{ type: "text", text: prose(random, 300) }] },
    }) +
    record({
      type: "assistant",
      message: { ...message, content: [{ type: "tool_use", id: call, name: "Read", input }] },
    }) +
    record({ type: "user", toolUseResult: { file: { content } }, message: { role: "user", content: result } })
  );
}

function prose(random: () => number, length: number): string {
  let text = "";
  while (text.length < length) {
    const word = WORDS[Math.floor(random() * WORDS.length)];
    text +=
      random() < 0.05 ? `${word}${Math.floor(random() * 10_000)} ` : `${word}${random() < 0.1 ? ".\n" : " "}`;
  }
  return text;
}

function uuid(random: () => number): string {
  const digits = (count: number): string =>
    Array.from({ length: count }, () => Math.floor(random() * 16).toString(16)).join("");
  return `${digits(8)}-${digits(4)}-4${digits(3)}-a${digits(3)}-${digits(12)}`;
}

/** The same numbers in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
