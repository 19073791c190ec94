// The package as users get it: packed, installed elsewhere without a network, started, imported and type-checked.
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { VERSION } from "@hermes-memory/core/version";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "hermes-package-"));
const project = join(folder, "project");
let reason = "";

beforeAll(() => {
  npm(root, ["pack", "--pack-destination", folder]);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
  mkdirSync(project);
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ name: "consumer", private: true, type: "module" }),
  );
  try {
    npm(project, [
      "install",
      "--offline",
      "--no-audit",
      "--no-fund",
      "--ignore-scripts",
      join(folder, tarball),
    ]);
  } catch (cause) {
    reason = `npm could not install from its cache: ${String((cause as { stderr?: unknown }).stderr ?? cause).slice(0, 300)}`;
    console.warn(`${reason}\nThe tests of the installed package are skipped.`);
  }
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the packed package", () => {
  it("holds what it needs and nothing of the workshop", () => {
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
    const names = execFileSync("tar", ["-tzf", join(folder, tarball)], { encoding: "utf8" });
    for (const name of [
      "package/dist/hermes.js",
      "package/dist/index.js",
      "package/dist/types/index.d.ts",
      "package/LICENSE",
    ]) {
      expect(names).toContain(name);
    }
    expect(names).not.toMatch(/package\/(src|test|bench|scripts)\//);
  });

  it("starts as `hermes` and says its version", (context) => {
    if (reason) context.skip(reason);
    const { stdout, status } = run(process.execPath, [bin(), "--version"]);
    expect({ stdout, status }).toEqual({ stdout: `${VERSION}\n`, status: 0 });
  });

  it("remembers and shows an entry", (context) => {
    if (reason) context.skip(reason);
    expect(run(process.execPath, [bin(), "memory", "add", "The kiln fires at 1240"]).status).toBe(0);
    expect(run(process.execPath, [bin(), "memory", "show"]).stdout).toContain("The kiln fires at 1240");
    expect(run(process.execPath, [bin(), "config", "check"]).status).toBe(0);
  });

  it("can be imported, and its types hold", (context) => {
    if (reason) context.skip(reason);
    const script = `
      import { MemoryStore, memoryTool, scanThreats, type MemoryOpOutcome } from "hermes-memory";
      const store = new MemoryStore({ dir: ${JSON.stringify(join(folder, "imported"))} });
      await store.load();
      const outcome = await store.apply("user", { action: "add", content: "Prefers tea" });
      const value: MemoryOpOutcome | undefined = outcome.ok ? outcome.value : undefined;
      const answer: object = await memoryTool(store, { action: "remove", target: "user", old_text: "tea" });
      console.log(JSON.stringify([value?.message, answer, scanThreats("plain", "all")]));
    `;
    writeFileSync(join(project, "use.ts"), script);
    const { stdout } = run(process.execPath, ["use.ts"]);
    expect(JSON.parse(stdout)).toMatchObject([
      "Entry added.",
      { success: true, message: "Entry removed." },
      [],
    ]);
    expectTypesHold("use.ts");
  });

  it("makes an agent that talks to a model of the caller's, and its types hold", (context) => {
    if (reason) context.skip(reason);
    const script = `
      import { createAgent, type AgentEvent, type AgentHooks, type ChatModel, type TurnResult } from "hermes-memory";
      const model: ChatModel = {
        identity: { model: "parrot", provider: "custom", apiMode: "chat_completions", baseUrl: "" },
        async stream({ messages, onDelta }) {
          const text = String(messages.at(-1)?.content).toUpperCase();
          onDelta?.({ kind: "text", text });
          return {
            ok: true,
            value: { message: { role: "assistant", content: text }, finishReason: "stop", usage: undefined, model: undefined },
          };
        },
      };
      const seen: AgentEvent["type"][] = [];
      const hooks: AgentHooks = { preToolCall: ({ name }) => (name === "todo" ? { block: "no" } : undefined) };
      const agent = await createAgent({
        home: ${JSON.stringify(join(folder, "agent-home"))},
        model,
        hooks,
        titles: false,
        skipContextFiles: true,
        onEvent: (event) => void seen.push(event.type),
      });
      const result: TurnResult = await agent.run("hello");
      const found = await agent.store?.searchMessages("hello");
      await agent.close();
      console.log(JSON.stringify([result.final_response, agent.toolNames, seen, found?.length]));
    `;
    writeFileSync(join(project, "agent.ts"), script);
    const { stdout, stderr } = run(process.execPath, ["agent.ts"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual([
      "HELLO",
      expect.arrayContaining(["memory", "session_search", "todo"]),
      ["turn-start", "text-delta", "turn-end"],
      2,
    ]);
    expectTypesHold("agent.ts");
  });

  it("gives the offline tour, with every step as it should be", (context) => {
    if (reason) context.skip(reason);
    const { stdout, stderr, status } = run(process.execPath, [bin(), "demo", "--json"]);
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, model: { scripted: true }, home: null });
  });

  it("says in one line that an older Node is too old", () => {
    const launcher = readFileSync(join(root, "dist", "hermes.js"), "utf8");
    const old = launcher.replace("process.versions.node;", '"20.11.0";');
    expect(old).not.toBe(launcher);
    writeFileSync(join(folder, "old.mjs"), old);
    const { status, stderr, stdout } = run(process.execPath, [join(folder, "old.mjs"), "--version"]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^hermes needs Node 24 or newer; this is Node 20\.11\.0\..*\n$/);
  });
});

/** With what @types/node would bring: a consumer on Node 24 has that, this one does without. */
function expectTypesHold(file: string): void {
  const lib = "es2024,dom,esnext.disposable";
  const flags = `--noEmit --strict --module nodenext --target es2024 --lib ${lib}`.split(" ");
  const check = run(process.execPath, [
    join(root, "node_modules/typescript/bin/tsc"),
    ...flags,
    "--types",
    "",
    file,
  ]);
  expect({ problems: check.stdout, status: check.status }).toEqual({ problems: "", status: 0 });
}

function bin(): string {
  return join(project, "node_modules", "hermes-memory", "dist", "hermes.js");
}

function run(
  command: string,
  args: readonly string[],
): { stdout: string; stderr: string; status: number | null } {
  const env = { ...process.env, HERMES_HOME: join(folder, "home") };
  const { stdout, stderr, status } = spawnSync(command, args, { cwd: project, env, encoding: "utf8" });
  return { stdout, stderr, status };
}

/** The npm that runs these tests, on the Node that runs them. */
function npm(cwd: string, args: readonly string[]): void {
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`;
  const script = process.env.npm_execpath;
  const [command, prefix] = script && existsSync(script) ? [process.execPath, [script]] : ["npm", []];
  execFileSync(command, [...prefix, ...args], {
    cwd,
    env: { ...process.env, PATH: path },
    stdio: "pipe",
    encoding: "utf8",
  });
}
