// `npm run test:clients [-- names]`: installs pinned clients from npm (1 to 4 GB) and the packed product into a folder of their own, and
// runs each client against a scripted model and the gateway. The folder is $HERMES_CLIENTS_DIR, or ~/.cache/hermes-memory-clients.
// Prints client x check, a sentence for each failure, and one line of JSON. `--no-build` keeps the product of the last run.
//
// Clients run in namespaces where the machine allows them: a network of loopback only, and processes that end with the run. The part that
// runs there is this file, too.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { npm, packProduct } from "../consumers/pack.ts";
import { CHECKS, checkClient, type Verdicts } from "./checks.ts";
import { CLIENTS } from "./table.ts";

const folder = process.env.HERMES_CLIENTS_DIR ?? join(homedir(), ".cache", "hermes-memory-clients");
const product = join(folder, "hermes-memory");
const hermes = join(product, "node_modules", "hermes-memory", "hermes.js");
const INSIDE = "--inside";

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
if (process.argv.includes(INSIDE)) await inside(words);
else outside();

function outside(): undefined {
  const unknown = words.filter((word) => !(word in CLIENTS));
  if (unknown.length > 0)
    return nothingRan(`No client is called ${unknown.join(", ")}: ${Object.keys(CLIENTS).join(" ")}.`);
  if (process.platform !== "linux" || process.arch !== "x64")
    return nothingRan(
      `The clients are pinned for Linux on x64; this is ${process.platform} on ${process.arch}.`,
    );
  const missing: Record<string, string> = {};
  for (const name of words.length > 0 ? words : Object.keys(CLIENTS)) {
    try {
      install(name);
    } catch (error) {
      missing[name] = String(error instanceof Error ? error.message : error).split("\n")[0] ?? "";
      console.log(`${name} does not install: ${missing[name]}`);
    }
  }
  const ready = (words.length > 0 ? words : Object.keys(CLIENTS)).filter((name) => !(name in missing));
  if (ready.length === 0) return nothingRan("No client could be installed: is npm's registry reachable?");
  try {
    if (!process.argv.includes("--no-build") || !existsSync(hermes)) installProduct();
  } catch (error) {
    return nothingRan(`The product could not be packed and installed: ${String(error).split("\n")[0]}`);
  }
  const self = [process.execPath, import.meta.filename, INSIDE, ...ready];
  const up = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
  // With processes of its own, so that daemons of clients end with it.
  const kinds = [["-n"], ["-rn"]].map((net) => ["unshare", ...net, "--pid", "--fork", "--mount-proc"]);
  const namespace = kinds.find(
    ([program = "", ...args]) => spawnSync(program, [...args, ...up, "true"]).status === 0,
  );
  console.log(
    namespace
      ? "Only loopback is reachable."
      : "This machine allows no network namespace: clients may reach the network.",
  );
  const [program = "", ...args] = namespace ? [...namespace, ...up, ...self] : self;
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  const notInstalled = words.length > 0 && Object.keys(missing).length > 0;
  process.exitCode = notInstalled ? 1 : (status ?? 1);
}

/** Only an error if somebody asked for a client by name. */
function nothingRan(reason: string): undefined {
  console.log(reason);
  console.log("0 run");
  console.log(JSON.stringify({ run: 0, reason }));
  process.exitCode = words.length > 0 ? 1 : 0;
}

function install(name: string): void {
  const { packages, bin } = CLIENTS[name]!;
  const own = join(folder, name);
  if (existsSync(join(own, "node_modules", ".bin", bin)) && installedVersion(name) === pinned(name)) return;
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "package.json"), '{"private":true}\n');
  console.log(`installing ${packages.join(" ")}`);
  npm(["install", "--no-audit", "--no-fund", ...packages], own);
}

function pinned(name: string): string {
  const [first = ""] = CLIENTS[name]!.packages;
  return first.slice(first.lastIndexOf("@") + 1);
}

function installedVersion(name: string): string | undefined {
  const [first = ""] = CLIENTS[name]!.packages;
  const path = join(folder, name, "node_modules", first.slice(0, first.lastIndexOf("@")), "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).version : undefined;
}

function installProduct(): void {
  console.log("packing and installing the product");
  rmSync(product, { recursive: true, force: true });
  const tarballs = packProduct(join(product, "tarballs"));
  writeFileSync(join(product, "package.json"), '{"private":true}\n');
  npm(["install", "--no-audit", "--no-fund", "--prefer-offline", ...tarballs], product);
}

async function inside(names: readonly string[]): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "hermes-clients-"));
  const results: Record<string, Verdicts> = {};
  console.log(`${"".padEnd(20)}${CHECKS.map((check) => check.padEnd(11)).join("")}`);
  for (const name of names) {
    const verdicts = await checkClient({ name, clients: folder, hermes, work });
    results[name] = verdicts;
    const cells = CHECKS.map((check) => (verdicts[check] ?? "-").split(":")[0]!.padEnd(11));
    console.log(`${`${name} ${installedVersion(name)}`.padEnd(20)}${cells.join("")}`);
    const { single } = CLIENTS[name]!;
    if (single !== undefined) console.log(`    one turn only: ${single}`);
    for (const check of CHECKS)
      if (verdicts[check] !== "pass") console.log(`    ${check} ${verdicts[check]}`);
  }
  const failed = Object.values(results).flatMap((each) =>
    Object.values(each).filter((text) => text.startsWith("FAIL")),
  );
  if (failed.length === 0) rmSync(work, { recursive: true, force: true });
  else console.log(`${failed.length} cells failed. Homes of the clients and of hermes are in ${work}.`);
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], {
    cwd: import.meta.dirname,
    encoding: "utf8",
  });
  const versions = Object.fromEntries(names.map((name) => [name, installedVersion(name)]));
  console.log(
    JSON.stringify({ run: names.length, failed: failed.length, commit: commit.trim(), versions, results }),
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
}
