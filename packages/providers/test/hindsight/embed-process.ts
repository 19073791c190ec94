// A stand-in for the program `hindsight-embed`: it notes its commands in $FAKE_EMBED_LOG, merges a profile as the real one does, and
// starts and stops a fake Hindsight server as a process of its own. $FAKE_EMBED_FAILS names a command that fails.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FakeHindsight } from "../fakes/servers/hindsight.ts";

const args = process.argv.slice(2);
const directory = join(process.env.HOME ?? "", ".hindsight", "profiles");
mkdirSync(directory, { recursive: true });

if (args[0] === "serve") {
  await new FakeHindsight().start(Number(args[1]));
} else {
  appendFileSync(process.env.FAKE_EMBED_LOG ?? "", `${JSON.stringify(args)}\n`);
  if (args.includes(process.env.FAKE_EMBED_FAILS ?? "-")) {
    console.error(`cannot ${args.join(" ")} with ${process.env.HINDSIGHT_LLM_API_KEY}`);
    process.exit(3);
  }
  if (args[0] === "profile") createProfile(args[2] ?? "");
  else if (args[3] === "start") start(args[2] ?? "");
  else if (args[3] === "stop") stop(args[2] ?? "");
}

function envPath(profile: string): string {
  return join(directory, `${profile}.env`);
}

function createProfile(profile: string): void {
  const path = envPath(profile);
  const old = existsSync(path) ? readFileSync(path, "utf8") : "MADE_BY_EMBED=1\n";
  const pairs = args.flatMap((arg, index) => (args[index - 1] === "--env" ? [arg] : []));
  writeFileSync(path, `${old}${pairs.join("\n")}\n`);
}

function start(profile: string): void {
  const port = /^HINDSIGHT_API_PORT=(\d+)$/m.exec(readFileSync(envPath(profile), "utf8"))?.[1] ?? "";
  const server = spawn(process.execPath, [import.meta.filename, "serve", port], {
    detached: true,
    stdio: "ignore",
  });
  writeFileSync(join(directory, `${profile}.pid`), String(server.pid));
  server.unref();
}

function stop(profile: string): void {
  const path = join(directory, `${profile}.pid`);
  if (!existsSync(path)) return;
  try {
    process.kill(Number(readFileSync(path, "utf8")));
  } catch {
    // it had ended
  }
  rmSync(path);
}
