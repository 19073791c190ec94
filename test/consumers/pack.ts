// The packed product, for the suites that install it as a user does (`test:consumers`, `test:clients`).
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..", "..");

/** Builds all packages and packs them into a folder that holds no other tarball; returns the paths of the tarballs. */
export function packProduct(tarballs: string): string[] {
  execFileSync(process.execPath, [join(root, "scripts", "build.ts")], { stdio: "pipe" });
  mkdirSync(tarballs, { recursive: true });
  for (const name of readdirSync(join(root, "packages")))
    npm(["pack", `./packages/${name}/dist`, "--pack-destination", tarballs], root);
  return globSync(join(tarballs, "*.tgz")).sort();
}

/** The npm that runs this, on the Node that runs this. */
export function npm(args: readonly string[], cwd: string): void {
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`;
  const script = process.env.npm_execpath;
  const [command, prefix] = script && existsSync(script) ? [process.execPath, [script]] : ["npm", []];
  // npm_* of the npm that started us would point this one to the root.
  const own = Object.entries(process.env).filter(([key]) => !key.startsWith("npm_"));
  const env = { ...Object.fromEntries(own), PATH: path };
  execFileSync(command, [...prefix, ...args, "--loglevel=error"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
}
