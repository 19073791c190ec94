// `npm run test:consumers [-- part of a name...]`: builds and packs our packages, installs them beside other people's packages,
// and runs every `*.consumer.ts` below this folder. A program passes if it exits with 0; its last line of output is shown beside its time.
//
// A program starts with an empty folder of its own as its first argument (see kit.ts) and may use loopback only. `--no-build` keeps the
// packages that an earlier run installed. The lockfile here is separate from the root's, so that a plain `npm ci` stays small.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { npm, packProduct } from "./pack.ts";

const here = import.meta.dirname;
const work = join(here, ".work");
/** A program that hangs must not hold up CI. */
const LIMIT_MS = 10 * 60_000;

const words = process.argv.slice(2).filter((each) => !each.startsWith("--"));
const programs = globSync("*/**/*.consumer.ts", { cwd: here, exclude: ["node_modules", ".work"] })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort();
if (programs.length === 0) throw new Error(`No program matches ${words.join(" ")}.`);

rmSync(work, { recursive: true, force: true });
const userHome = mkdtempSync(join(tmpdir(), "hermes-consumers-"));
await step("install", installOthers);
if (!process.argv.includes("--no-build")) {
  await step("build and pack", buildAndPack);
  await step("install ours", installOurs);
}

let failed = 0;
for (const path of programs) {
  const name = path.replace(/\.consumer\.ts$/, "");
  const startedAt = performance.now();
  const { code, output } = await runProgram(path, name);
  if (code !== 0) failed += 1;
  if (code !== 0) console.log(output.trimEnd());
  const finding = code === 0 ? (output.trimEnd().split("\n").at(-1) ?? "") : `exit ${code}`;
  console.log(`${code === 0 ? "ok  " : "FAIL"} ${name.padEnd(28)} ${seconds(startedAt)}  ${finding}`);
}
rmSync(userHome, { recursive: true, force: true });
if (failed === 0) rmSync(work, { recursive: true, force: true });
else console.log(`${failed} of ${programs.length} failed. Their files are in ${work}.`);
process.exitCode = failed === 0 ? 0 : 1;

/** Only when the lockfile is not the one that was installed: it takes a minute. */
async function installOthers(): Promise<string> {
  const stamp = join(here, "node_modules", ".installed-lockfile");
  const hash = createHash("sha256")
    .update(readFileSync(join(here, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return "as the lockfile says";
  npm(["ci"], here);
  writeFileSync(stamp, hash);
  return "npm ci";
}

async function buildAndPack(): Promise<string> {
  return packProduct(join(work, "tarballs"))
    .map((path) => basename(path))
    .join(", ");
}

/** What they depend on is here already, in the versions of the lockfile; npm complains if a range of ours does not allow those. */
async function installOurs(): Promise<string> {
  const tarballs = globSync(join(work, "tarballs", "*.tgz"));
  npm(["install", "--no-save", "--prefer-offline", ...tarballs], here);
  return `${tarballs.length} packages`;
}

async function step(name: string, run: () => Promise<string>): Promise<void> {
  const startedAt = performance.now();
  const finding = await run();
  console.log(`     ${name.padEnd(28)} ${seconds(startedAt)}  ${finding}`);
}

function runProgram(
  path: string,
  name: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const folder = join(work, name.replaceAll("/", "-"));
  mkdirSync(folder, { recursive: true });
  // The environment of a user without any account, and a home of their own.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/_API_KEY$|^HERMES_|^npm_/.test(key)),
  );
  const child = spawn(process.execPath, [join(here, path), folder], {
    cwd: folder,
    env: { ...env, HOME: userHome, NO_COLOR: "1", NEXT_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: process.platform !== "win32", // so that its servers end with it
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It and its children have ended.
    }
  };
  const timer = setTimeout(end, LIMIT_MS);
  return new Promise((done) => {
    child.on("close", (code) => {
      clearTimeout(timer);
      end();
      done({ code, output });
    });
  });
}

function seconds(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s`;
}
