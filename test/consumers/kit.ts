// What the programs of this folder share: their folder, child processes, servers on loopback, and the count of entries in a home.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Empty at the start, removed by the runner. Node and bundlers find the installed packages from here. */
export const folder = process.argv[2] ?? "";

const root = resolve(import.meta.dirname, "..", "..");

export function inRoot(...path: readonly string[]): string {
  return join(root, ...path);
}

/** A path in node_modules of this folder, such as a program of another package. */
export function installed(...path: readonly string[]): string {
  return join(import.meta.dirname, "node_modules", ...path);
}

/**
 * Copies a project (`examples/next-app`) into the folder of this program, where its imports find the packed packages. Its package.json
 * must name every package that it imports, and ours in the version that was packed.
 */
export function stage(project: string): string {
  const target = join(folder, "app");
  cpSync(inRoot(project), target, {
    recursive: true,
    filter: (path) => !/[\\/](node_modules|\.next|data)$/.test(path),
  });
  const { dependencies } = readJson(join(target, "package.json"));
  for (const [name, range] of Object.entries(dependencies)) {
    const { version } = readJson(installed(name, "package.json"));
    if (name.includes("hermes-memory"))
      assert.equal(range, `^${version}`, `${project} asks for another ${name}`);
  }
  for (const file of globSync("**/*.{ts,tsx}", { cwd: target })) {
    const imports = readFileSync(join(target, file), "utf8").matchAll(
      / from "((?:@[^/"]+\/)?[^./"][^/"]*)[^"]*"/g,
    );
    for (const [, name = ""] of imports)
      assert.ok(name.startsWith("node:") || name in dependencies, `${project}/${file} imports ${name}`);
  }
  return target;
}

// biome-ignore lint/suspicious/noExplicitAny: a package.json has fields of every kind
function readJson(path: string): any {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** A home with room for many entries. */
export function makeHome(name = "home"): string {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.yaml"), "memory:\n  memory_char_limit: 20000\n");
  return home;
}

/** Entries of every MEMORY.md, of the owner and of users, as they are in the files. */
export function entriesIn(home: string): string[] {
  const files = globSync("memories/{,users/*/}MEMORY.md", { cwd: home });
  return files.flatMap((path) => readFileSync(join(home, path), "utf8").trim().split("\n§\n"));
}

export type Run = { readonly stdout: string; readonly stderr: string; readonly code: number | null };

type Options = { readonly cwd?: string; readonly env?: Readonly<Record<string, string | undefined>> };

/** Runs Node to its end, with whatever exit code. */
export function tryNode(
  args: readonly string[],
  { cwd = folder, env = {} }: Options = {},
  node = process.execPath,
): Promise<Run> {
  const child = spawn(node, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done({ stdout, stderr, code }));
  });
}

/** As `tryNode`; throws unless it exits with 0. */
export async function node(args: readonly string[], options?: Options): Promise<string> {
  const { stdout, stderr, code } = await tryNode(args, options);
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}\n${stdout}${stderr}`);
  return stdout;
}

export type Server = AsyncDisposable & { readonly url: string; output(): string };

/** Starts a server with `PORT` in its environment and `{port}` in its arguments, and waits until it answers. */
export async function serve(
  args: readonly string[],
  { cwd = folder, env = {} }: Options = {},
): Promise<Server> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    process.execPath,
    args.map((each) => each.replace("{port}", String(port))),
    {
      cwd,
      env: { ...process.env, ...env, PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const ended = new Promise<void>((done) => child.on("close", () => done()));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await Promise.race([ended, sleep(5000, undefined, { ref: false }).then(() => child.kill("SIGKILL"))]);
    await ended;
  };
  const deadline = Date.now() + 60_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}:\n${output}`);
    const answered = await fetch(url).then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    );
    if (answered) return { url, output: () => output, [Symbol.asyncDispose]: stop };
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`The server does not answer:\n${output}`);
    }
    await sleep(50);
  }
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address ? address.port : 0));
    });
  });
}
