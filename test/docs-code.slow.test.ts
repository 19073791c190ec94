// The TypeScript of README and docs is type-checked and run: each page in a home of its own, with a scripted model behind the address
// that OPENAI_BASE_URL names. The word after `ts` in the fence says what a block is:
//   (nothing)      a program
//   continued      the rest of the program above it
//   file=NAME      a file that the programs below it import
//   test           a test file, run by vitest
//   no-run: WHY    for reading only
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Script } from "../packages/agent/test/fakes/wires/script.ts";
import { startWire, type Wire } from "../packages/agent/test/fakes/wires/start-wire.ts";

const root = resolve(import.meta.dirname, "..");
const run = promisify(execFile);

/** For people who change the code, and signatures without context. */
const NOT_RUN = /^docs\/(?:api|decisions)\/|^docs\/(?:architecture|style)\.md$/;

const pages = [
  ...["README.md", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`)].filter(
    (page) => existsSync(join(root, page)),
  ),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".md") && !NOT_RUN.test(name)),
]
  .map((page) => ({ page, blocks: blocksOf(readFileSync(join(root, page), "utf8")) }))
  .filter(({ blocks }) => blocks.length > 0);

type Block = { readonly info: string; readonly code: string; readonly line: number };

function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^```(?:ts|tsx|typescript)\b(.*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    info: (match[1] ?? "").trim(),
    code: match[2] ?? "",
    line: text.slice(0, match.index).split("\n").length,
  }));
}

/** Below the root, so that packages are found; not below a node_modules, where Node runs no TypeScript. */
const folder = mkdtempSync(join(root, ".docs-code-"));
/** `responses`: for `openai(...)` of the AI SDK. `chat`: for the model that config.yaml of each home names. */
let wires: { readonly responses: Wire; readonly chat: Wire };

beforeAll(async () => {
  const script: Script = ({ raw }) => ({
    text: raw.includes("JSON only")
      ? '[{"target":"user","text":"Lives in Porto"}]'
      : "It is 24 degrees in Lisbon.",
  });
  wires = { responses: await startWire("responses", script), chat: await startWire("chat", script) };
  for (const { page, blocks } of pages) write(page, blocks);
});

afterAll(async () => {
  await Promise.all([wires.responses.close(), wires.chat.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const placeOf = (page: string): string => join(folder, page.replace(/\.md$/, "").replaceAll("/", "-"));

/** Makes the files of a page: 1.ts, 2.ts, ... for its programs, `<line>.test.ts` for its tests. */
function write(page: string, blocks: readonly Block[]): void {
  const place = placeOf(page);
  const home = join(place, "home");
  const model = `  default: test-model\n  provider: custom\n  base_url: ${wires.chat.url}\n  context_length: 128000\n`;
  writeAt(join(home, "config.yaml"), `model:\n${model}`);
  const programs: string[] = [];
  for (const { info, code, line } of blocks) {
    const text = code.replaceAll("/home/me/.hermes", home.replaceAll("\\", "/"));
    if (info.startsWith("file=")) writeAt(join(place, info.slice("file=".length)), text);
    else if (info === "test") writeAt(join(place, `${line}.test.ts`), text);
    else if (info === "continued") programs[programs.length - 1] += text;
    else if (info === "") programs.push(text);
  }
  for (const [i, text] of programs.entries()) writeAt(join(place, `${i + 1}.ts`), `${text}\nexport {};\n`);
}

function writeAt(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe("the code in the documentation", () => {
  it.each(pages)("$page says what each block is", ({ blocks }) => {
    const known = /^$|^continued$|^file=\S+\.tsx?$|^test$|^no-run: .+/;
    const unknown = blocks.filter(({ info }) => !known.test(info));
    expect(unknown.map(({ line, info }) => `line ${line}: ${info}`)).toEqual([]);
    expect(blocks[0]?.info).not.toBe("continued");
  });

  it("has the right types", { timeout: 120_000 }, async () => {
    const config = join(folder, "tsconfig.json");
    const options = { noUnusedLocals: false, noUnusedParameters: false, moduleDetection: "force" };
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: options,
        include: ["**/*.ts"],
      }),
    );
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = await run(process.execPath, [tsc, "-p", config], { cwd: folder }).catch(failed);
    expect(stdout).toBe("");
  });

  const withPrograms = pages.filter(({ blocks }) => blocks.some(({ info }) => info === ""));
  it.each(withPrograms)("$page runs", { timeout: 120_000 }, async ({ page }) => {
    const place = placeOf(page);
    const programs = readdirSync(place).filter((name) => /^\d+\.ts$/.test(name));
    const lines = programs
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
      .map((name) => `await import("./${name}");`);
    writeFileSync(join(place, "all.ts"), `${lines.join("\n")}\nexport {};\n`);
    const running = run(process.execPath, ["all.ts"], { cwd: place, env: environment(place) });
    running.child.stdin?.end(); // a server on stdin and stdout ends with its input
    const { stderr, code } = await running.then(({ stderr }) => ({ stderr, code: 0 })).catch(failed);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  const withTests = pages.filter(({ blocks }) => blocks.some(({ info }) => info === "test"));
  it.each(withTests)("the tests of $page pass", { timeout: 120_000 }, async ({ page }) => {
    const place = placeOf(page);
    const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
    const args = [vitest, "run", "--root", place, "--config", configOf(place)];
    const { stdout, code } = await run(process.execPath, args, { cwd: place, env: environment(place) })
      .then(({ stdout }) => ({ stdout, code: 0 }))
      .catch(failed);
    expect(code, stdout).toBe(0);
  });
});

function configOf(place: string): string {
  const path = join(place, "vitest.config.js");
  writeFileSync(path, "export default { test: { include: ['*.test.ts'], testTimeout: 60000 } };\n");
  return path;
}

function environment(place: string): NodeJS.ProcessEnv {
  const { PATH, TMPDIR } = process.env;
  const model = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: wires.responses.url };
  return { PATH, TMPDIR, HOME: place, HERMES_HOME: join(place, "home"), ...model };
}

function failed(cause: unknown): { stdout: string; stderr: string; code: number } {
  const { stdout = "", stderr = "", code = 1 } = cause as { stdout?: string; stderr?: string; code?: number };
  return { stdout, stderr, code };
}
