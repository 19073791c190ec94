// What one client is put through, and the verdicts. It runs where only loopback is reachable; nothing here reads the network.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import {
  itemsOf,
  type Json,
  type Recorded,
  recorder,
  type Scripted,
  scriptedModel,
  toolsOf,
} from "./model.ts";
import { CLIENTS, type Client, type Place } from "./table.ts";

export const CHECKS = [
  ...["works", "stored", "auxiliary", "memory", "recall", "prefix", "import"],
  ...["mcp", "hooks", "together"],
] as const;
/** "pass", "FAIL: sentence" or "-: reason". `rows` and `rowsTogether` count what was stored. */
export type Verdicts = Record<string, string>;

const LIMIT_MS = 180_000;
const FACT = "The staging machine is called zebrafish.";
const NOTE = "The MCP note is about herons.";
const SECOND = "And which tree gives that wood? [[say It comes from the tree of that name.]]";
const QUESTION = "What wood is my garden stool made of? [[say Let me think about it.]]";

const QUIET = {
  DISABLE_TELEMETRY: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  DO_NOT_TRACK: "1",
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
};

type Setup = {
  readonly name: string;
  readonly clients: string;
  readonly hermes: string;
  readonly work: string;
};
type Options = { readonly gateway: boolean; readonly hooks: boolean; readonly mcp: boolean };
type Ran = { readonly code: number | null; readonly output: string };
type Row = {
  readonly session: string;
  readonly role: string;
  readonly content: string;
  readonly calls: string | null;
};

export async function checkClient(setup: Setup): Promise<Verdicts> {
  const client = CLIENTS[setup.name]!;
  const verdicts: Verdicts = {};
  const phases: [readonly string[], () => Promise<Verdicts>][] = [
    [
      ["works", "stored", "auxiliary", "memory", "recall", "prefix", "import"],
      () => throughGateway(setup, client),
    ],
    [["mcp"], () => withMcp(setup, client)],
    [["hooks"], () => withHooks(setup, client)],
    [["together"], () => together(setup, client)],
  ];
  for (const [names, run] of phases) {
    const found = await run().catch((error): Verdicts => {
      const text = `FAIL: ${oneLine(error instanceof Error ? error.message : String(error))}`;
      return Object.fromEntries(names.map((name) => [name, text]));
    });
    Object.assign(verdicts, found);
  }
  return verdicts;
}

async function throughGateway(setup: Setup, client: Client): Promise<Verdicts> {
  if (client.apiMode === undefined) {
    await using stage = await Stage.open(setup, client, "direct", {
      gateway: false,
      hooks: false,
      mcp: false,
    });
    const said = await stage.chatA();
    const reason = "-: it speaks no protocol of the gateway";
    const rest = ["stored", "auxiliary", "memory", "recall", "prefix"].map((name) => [name, reason]);
    const first = stage.import();
    const stored = said === "pass" ? judge(() => oneWholeChat(stage)) : said;
    const twice = stage.import() === first ? stored : "FAIL: a second import adds rows";
    return { ...Object.fromEntries(rest), works: said, import: twice };
  }
  await using stage = await Stage.open(setup, client, "gateway", { gateway: true, hooks: false, mcp: false });
  const works = await stage.chatA();
  if (works !== "pass") {
    const rest = CHECKS.slice(1, 7).map((name) => [name, "-: it does not work"]);
    return { ...Object.fromEntries(rest), works };
  }
  const stored = judge(() => oneWholeChat(stage));
  const prefix = samePrefix(stage);
  stage.hermes("memory", "add", FACT);
  await stage.run(QUESTION, "first", "b");
  const ask = QUESTION.slice(0, 30);
  const [asked, own] = [stage.model, stage.sent].map((at) =>
    stage.bodiesWith(ask, at).map(({ body }) => JSON.stringify(body)),
  );
  const has = (bodies: readonly string[] | undefined, word: string): boolean =>
    bodies!.some((body) => body.includes(word));
  // What the client brought itself, from files of its own, is not our doing.
  const isAdded = (word: string): boolean => has(asked, word) && !has(own, word);
  const auxiliary = judge(() => onlyPrompts(stage));
  const before = stage.counts();
  stage.import();
  const after = stage.counts();
  const again = stage.import();
  return {
    works,
    rows: `gateway ${before}, after import ${after}, after another ${again}`,
    stored,
    prefix,
    auxiliary,
    memory: isAdded("zebrafish") ? "pass" : "FAIL: the next chat's request has no memory block",
    recall: isAdded("walnut") ? "pass" : "FAIL: the fact of one chat is not in the request of the next",
    import: judge(() => {
      if (after !== before) return `after the gateway stored ${before}, import makes it ${after}`;
      return again === after ? undefined : "a second import adds rows";
    }),
  };
}

async function withMcp(setup: Setup, client: Client): Promise<Verdicts> {
  if (typeof client.mcp === "object") return { mcp: `-: ${client.mcp.none}` };
  await using stage = await Stage.open(setup, client, "mcp", { gateway: false, hooks: false, mcp: true });
  const call = JSON.stringify({ action: "add", target: "memory", content: NOTE });
  const [tool, args] = client.mcpCall?.(call) ?? ["*hermes*memory", JSON.parse(call)];
  const ran = await stage.run(
    `Note it. [[tool ${tool} ${JSON.stringify(args)}]] [[say Noted.]]`,
    "first",
    "m",
  );
  const path = join(stage.hermesHome, "memories", "MEMORY.md");
  // A call that arrived proves that the tools were listed.
  if (existsSync(path) && readFileSync(path, "utf8").includes(NOTE)) return { mcp: "pass" };
  const names = stage.model.bodies.flatMap(({ body }) => toolsOf(body).map((each) => String(each.name)));
  const isListed = client.mcpCall !== undefined || names.some((name) => name.includes("hermes"));
  const what = isListed
    ? "our tools are listed, but the call wrote nothing"
    : "its requests list none of our tools";
  return { mcp: `FAIL: ${what} (exit ${ran.code}): ${oneLine(ran.output)}` };
}

async function withHooks(setup: Setup, client: Client): Promise<Verdicts> {
  if (client.hooks === undefined) return { hooks: "-: hermes has no hooks for it" };
  await using stage = await Stage.open(setup, client, "hooks", { gateway: false, hooks: true, mcp: false });
  stage.hermes("memory", "add", FACT);
  const said = await stage.chatA();
  if (said !== "pass") return { hooks: said };
  await stage.settle();
  const shown = stage
    .bodiesWith("garden stool")
    .some(({ body }) => JSON.stringify(body).includes("zebrafish"));
  const whole = judge(() => oneWholeChat(stage));
  if (whole !== "pass") return { hooks: whole };
  const before = stage.counts();
  const after = stage.import();
  if (after !== before) return { hooks: `FAIL: after the hooks stored ${before}, import makes it ${after}` };
  return { hooks: shown ? "pass" : "FAIL: captured, but the request has no memory block" };
}

/** Gateway, hooks and import of one conversation meet in one set of rows. */
async function together(setup: Setup, client: Client): Promise<Verdicts> {
  if (client.hooks === undefined || client.apiMode === undefined)
    return { together: "-: it has not both, gateway and hooks" };
  await using stage = await Stage.open(setup, client, "together", { gateway: true, hooks: true, mcp: false });
  const said = await stage.chatA();
  if (said !== "pass") return { together: said };
  await stage.settle();
  const before = stage.counts();
  return {
    rowsTogether: `gateway and hooks ${before}, after import ${stage.import()}`,
    together: judge(() => oneWholeChat(stage) ?? onlyPrompts(stage)),
  };
}

function judge(find: () => string | undefined): string {
  const problem = find();
  return problem === undefined ? "pass" : `FAIL: ${oneLine(problem)}`;
}

/** Once, whole, in order, in one session, in the user's own words. */
function oneWholeChat(stage: Stage): string | undefined {
  const rows = stage.rows();
  const sessions = [
    ...new Set(rows.filter(({ content }) => content.includes("garden stool is")).map((row) => row.session)),
  ];
  if (sessions.length !== 1) return `the conversation is in ${sessions.length} sessions`;
  const chat = rows.filter(({ session }) => session === sessions[0]);
  const users = chat.filter(({ role }) => role === "user").map(({ content }) => plain(content));
  const isSingle = stage.client.single !== undefined;
  const expected = isSingle ? [stage.first] : [stage.first, SECOND];
  const strange = users.find((text) => !expected.includes(text));
  if (strange !== undefined) return `a user row is not what the user said: ${strange.slice(0, 100)}`;
  if (users.join("\n") !== expected.join("\n"))
    return `${users.length} user rows instead of ${expected.length}`;
  const shape = chat.map(({ role, calls }) => (calls && calls !== "[]" ? "call" : role)).join(" ");
  if (shape !== `user call tool assistant${isSingle ? "" : " user assistant"}`)
    return `the rows are: ${shape}`;
  return chat[2]?.content.includes("stool-ok") ? undefined : "the tool's result is not in its row";
}

/** Titles and the like are no conversations: two chats, and nothing but what the user typed. */
function onlyPrompts(stage: Stage): string | undefined {
  const known = [stage.first, SECOND, QUESTION];
  const foreign = stage
    .rows()
    .filter(({ role, content }) => role === "user" && !known.includes(plain(content)));
  return foreign.length > 0
    ? `${foreign.length} user rows that nobody typed, such as: ${foreign[0]?.content.slice(0, 100)}`
    : undefined;
}

/** Each request begins with the whole of the one before. Where the client itself rewrote its list, nothing can be said about ours. */
function samePrefix(stage: Stage): string {
  const upstream = stage.bodiesWith("garden stool is");
  if (upstream.length < (stage.client.single === undefined ? 3 : 2))
    return `FAIL: only ${upstream.length} requests of the chat reached the model`;
  const found = firstChange(upstream);
  if (found === undefined) return "pass";
  const own = firstChange(stage.bodiesWith("garden stool is", stage.sent));
  return own === undefined
    ? `FAIL: the list upstream changes: ${found}`
    : `-: the client rewrites its own list: ${own}`;
}

function firstChange(requests: readonly Recorded[]): string | undefined {
  for (const [index, { body }] of requests.entries()) {
    const next = requests[index + 1]?.body;
    if (next === undefined) return undefined;
    const [older, newer] = [itemsOf(body), itemsOf(next)].map((items) => items.map(withoutMarks));
    const at = older!.findIndex((text, place) => text !== newer![place]);
    if (at >= 0) return `item ${at} of ${older!.length} in request ${index + 2}`;
    for (const key of ["system", "instructions", "tools"])
      if (withoutMarks(body[key]) !== withoutMarks(next[key])) return `${key} in request ${index + 2}`;
  }
  return undefined;
}

/** Cache marks move to the end with each request; Claude Code writes a marked text as a block and the same text unmarked as a string. */
function withoutMarks(value: Json): string {
  const unmarked = (key: string, each: Json): Json => {
    if (key === "cache_control") return undefined;
    return key === "content" && typeof each === "string" ? [{ type: "text", text: each }] : each;
  };
  return JSON.stringify(value, unmarked) ?? "";
}

/** `opencode run` and `kilo run` put quotation marks around a prompt with spaces. */
function plain(text: string): string {
  const trimmed = text.trim();
  return /^".*"$/s.test(trimmed) ? trimmed.slice(1, -1).replaceAll('\\"', '"') : trimmed;
}

function oneLine(text: string): string {
  return text
    .replaceAll(/\u001b\[[0-9;?]*[a-zA-Z]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(-300);
}

/** A client with a HOME, a repository and a Hermes home of its own, in front of the gateway or of the model itself. */
class Stage implements AsyncDisposable {
  readonly setup: Setup;
  readonly client: Client;
  readonly model: Scripted;
  readonly first: string;
  readonly hermesHome: string;
  sent: Scripted | undefined;
  #gateway: ChildProcess | undefined;
  #place!: Place;
  readonly #env: Record<string, string>;

  private constructor(setup: Setup, client: Client, model: Scripted, folder: string) {
    this.setup = setup;
    this.client = client;
    this.model = model;
    this.first = `My garden stool is made of walnut. [[tool ${client.tool[0]} ${JSON.stringify(client.tool[1])}]] [[say Noted.]]`;
    this.hermesHome = join(folder, "hermes");
    const home = join(folder, "home");
    this.#env = {
      ...QUIET,
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: home,
      HERMES_HOME: this.hermesHome,
      LANG: "C.UTF-8",
      TERM: "dumb",
      NO_COLOR: "1",
    };
  }

  static async open(setup: Setup, client: Client, phase: string, options: Options): Promise<Stage> {
    const folder = join(setup.work, setup.name, phase);
    const stage = new Stage(setup, client, await scriptedModel(), folder);
    await stage.#prepare(options).catch(async (error) => {
      await stage[Symbol.asyncDispose]();
      throw error;
    });
    return stage;
  }

  async #prepare({ gateway, hooks, mcp }: Options): Promise<void> {
    const { client, setup, model } = this;
    const home = this.#env.HOME!;
    const repo = join(home, "repo");
    mkdirSync(repo, { recursive: true });
    mkdirSync(this.hermesHome, { recursive: true });
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: repo, env: this.#env, stdio: "pipe" });
    git("init", "-q");
    writeFileSync(join(repo, "README.md"), "# A small repository\n");
    git("add", ".");
    git("-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "Begin");
    const lines = [
      "provider: custom",
      `base_url: ${model.url}/v1`,
      "default: fake-model",
      "api_key: sk-upstream",
    ];
    const mode = `api_mode: ${client.apiMode ?? "chat_completions"}`;
    writeFileSync(
      join(this.hermesHome, "config.yaml"),
      `model:\n${[...lines, mode].map((line) => `  ${line}\n`).join("")}`,
    );
    let root = model.url;
    if (gateway) {
      this.sent = await recorder(await this.#serve());
      const prefix = client.apiMode === "chat_completions" ? "/proxy" : "";
      root = `${this.sent.url}/${this.hermes("token", "local").trim()}${prefix}`;
    }
    const command = [process.execPath, setup.hermes, "mcp"];
    this.#place = {
      home,
      repo,
      root,
      openai: `${root}/v1`,
      mcp: mcp && client.mcp === "files" ? command : undefined,
    };
    for (const [path, content] of Object.entries(client.files?.(this.#place) ?? {})) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(
        join(home, path),
        typeof content === "string" ? content : JSON.stringify(content, null, 2),
      );
    }
    if (mcp && client.mcp === "install") this.hermes("mcp", "install", "--client", client.hooks!);
    if (hooks) this.hermes("mcp", "install", "--client", client.hooks!, "--hooks");
  }

  async #serve(): Promise<string> {
    const args = [this.setup.hermes, "serve", "--port", "0", "--mode", "proxy", "--json"];
    const child = spawn(process.execPath, args, { env: this.#env, stdio: ["ignore", "pipe", "pipe"] });
    this.#gateway = child;
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    for (let waited = 0; waited < 30_000 && child.exitCode === null; waited += 50) {
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (url) return url;
      await sleep(50);
    }
    throw new Error(`The gateway does not start: ${output}`);
  }

  hermes(...args: readonly string[]): string {
    return execFileSync(process.execPath, [this.setup.hermes, ...args], {
      env: this.#env,
      cwd: this.#env.HOME,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Two turns of one chat, the first with a tool call; or only that one. */
  async chatA(): Promise<string> {
    const turns = [
      [this.first, "first", "Scripted: Noted."],
      [SECOND, "next", "Scripted: It comes"],
    ] as const;
    for (const [prompt, turn, reply] of turns.slice(0, this.client.single === undefined ? 2 : 1)) {
      const ran = await this.run(prompt, turn, "a");
      if (ran.code !== 0 || !ran.output.includes(reply))
        return `FAIL: ${turn} turn: exit ${ran.code}, ${oneLine(ran.output) || "no output"}`;
    }
    return "pass";
  }

  run(prompt: string, turn: "first" | "next", chat: string): Promise<Ran> {
    const { client, setup } = this;
    const program = join(setup.clients, setup.name, "node_modules", ".bin", client.bin);
    const child = spawn(program, client.args(prompt, turn, chat, this.#place), {
      cwd: this.#place.repo,
      env: { ...this.#env, ...client.env?.(this.#place) },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // so that what it started ends with it
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    const end = (): void => {
      try {
        process.kill(-child.pid!, "SIGKILL");
      } catch {
        // It and its children have ended.
      }
    };
    const timer = setTimeout(end, LIMIT_MS);
    return new Promise((done, fail) => {
      child.on("error", fail);
      // Not "close": a daemon of the client may hold the pipes. Hooks that run on get a moment.
      child.on("exit", async (code) => {
        clearTimeout(timer);
        await sleep(500);
        end();
        done({ code, output });
      });
    });
  }

  /** Hooks store in a process of their own after the client ended: waits for the first rows, then until nothing is added. */
  async settle(): Promise<void> {
    for (let waited = 0; waited < 20 && this.rows().length === 0; waited += 1) await sleep(1000);
    let before: string;
    do {
      before = this.counts();
      await sleep(3000);
    } while (before !== this.counts());
  }

  /** Requests that reached the model with this text in them; those without tools are auxiliary. */
  bodiesWith(text: string, at: Scripted = this.model): readonly Recorded[] {
    return at.bodies.filter(
      ({ body }) => toolsOf(body).length > 0 && JSON.stringify(itemsOf(body)).includes(text),
    );
  }

  import(): string {
    this.hermes("sessions", "import", "--from", this.client.source, "--yes", "--force");
    return this.counts();
  }

  counts(): string {
    const rows = this.rows();
    return `${new Set(rows.map(({ session }) => session)).size} sessions with ${rows.length} rows`;
  }

  rows(): readonly Row[] {
    const path = join(this.hermesHome, "state.db");
    if (!existsSync(path)) return [];
    using closing = new DisposableStack();
    const database = closing.adopt(new DatabaseSync(path, { readOnly: true }), (each) => each.close());
    const sql =
      "SELECT session_id AS session, role, coalesce(content, '') AS content, tool_calls AS calls FROM messages WHERE active = 1 ORDER BY session_id, id";
    return database.prepare(sql).all() as unknown as Row[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gateway = this.#gateway;
    if (gateway !== undefined && gateway.exitCode === null) {
      const ended = new Promise((done) => gateway.once("exit", done));
      gateway.kill("SIGKILL");
      await ended;
    }
    await this.sent?.[Symbol.asyncDispose]();
    await this.model[Symbol.asyncDispose]();
  }
}
