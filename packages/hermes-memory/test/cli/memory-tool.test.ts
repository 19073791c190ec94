import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";

const OWN = ["memory", "session_search", "memory_history", "skills_list", "skill_view", "skill_manage"];

const ECHO = `export default () => ({
  name: "echo",
  isAvailable: () => true,
  initialize() {},
  getToolSchemas: () => [{ name: "echo_say", description: "Says it again.", parameters: { type: "object", properties: { text: {} } } }],
  handleToolCall: (name, args) => (args.text === "plain" ? "not json" : JSON.stringify(args.text === "bad" ? { error: "no" } : { name, args })),
});
`;

function home(): string {
  const directory = tempDirectory();
  writePlugin(directory, "echo", { "index.mjs": `${ECHO}// registerMemoryProvider` });
  writeFileSync(join(directory, "config.yaml"), "memory:\n  provider: echo\n");
  return directory;
}

describe("hermes memory tool", () => {
  it("lists the home's own tools and the active provider's with their arguments", async () => {
    const { code, stdout } = await runHere(["memory", "tool"], { home: home() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^memory {2}\S/);
    expect(stdout.endsWith("\necho_say  Says it again.\n  text\n")).toBe(true);
    const names = stdout.split("\n").flatMap((line) => /^(\w+) {2}/.exec(line)?.[1] ?? []);
    expect(names).toEqual([...OWN, "echo_say"]);
  });

  it("runs the home's own tools without a provider", async () => {
    const place = tempDirectory();
    const added = await runHere(
      ["memory", "tool", "memory", "action=add", "content=The kiln is fired at 1240 degrees", "--json"],
      { home: place },
    );
    expect(JSON.parse(added.stdout)).toMatchObject({ success: true, target: "memory" });
    expect(readFileSync(join(place, "memories", "MEMORY.md"), "utf8")).toBe(
      "The kiln is fired at 1240 degrees",
    );
    const history = await runHere(["memory", "tool", "memory_history", "--json"], { home: place });
    expect(JSON.parse(history.stdout)).toMatchObject({ count: 1 });
    const found = await runHere(["memory", "tool", "session_search", "query=kiln", "--json"], {
      home: place,
    });
    expect({ code: found.code, answer: JSON.parse(found.stdout) }).toMatchObject({
      code: 1,
      answer: { success: false },
    });
    const skills = await runHere(["memory", "tool", "skills_list", "--json"], { home: place });
    expect(JSON.parse(skills.stdout)).toMatchObject({ success: true });
  });

  it("sends the writes of the memory tool to the provider", async () => {
    const place = tempDirectory();
    writeFileSync(join(place, "config.yaml"), "memory:\n  provider: holographic\n");
    const words = ["action=add", "content=The crane is blue"];
    await runHere(["memory", "tool", "memory", ...words], { home: place });
    const found = await runHere(["memory", "tool", "fact_store", "action=search", "query=crane", "--json"], {
      home: place,
    });
    expect(found.stdout).toContain("The crane is blue");
  });

  it("lists the home's own tools although the provider cannot be started", async () => {
    const place = tempDirectory();
    writeFileSync(join(place, "config.yaml"), "memory:\n  provider: nowhere\n");
    const { code, stdout, stderr } = await runHere(["memory", "tool", "--json"], { home: place });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).tools.map(({ name }: { name: string }) => name)).toEqual(OWN);
    expect(stderr).toContain("nowhere");
  });

  it("calls one with words or with JSON, and prints its answer", async () => {
    const place = home();
    const words = await runHere(["memory", "tool", "echo_say", "text=a=b", "n=1", "--json"], { home: place });
    expect(JSON.parse(words.stdout)).toEqual({ name: "echo_say", args: { text: "a=b", n: "1" } });
    const json = await runHere(["memory", "tool", "echo_say", '{"n": 1}', "--json"], { home: place });
    expect(JSON.parse(json.stdout)).toEqual({ name: "echo_say", args: { n: 1 } });
    const plain = await runHere(["memory", "tool", "echo_say", "text=plain"], { home: place });
    expect(plain.stdout).toBe('"not json"\n');
  });

  it("fails when the tool fails, and lists the tools for an unknown name", async () => {
    const place = home();
    expect(await runHere(["memory", "tool", "echo_say", "text=bad"], { home: place })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"error": "no"'),
    });
    const unknown = await runHere(["memory", "tool", "nope"], { home: place });
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/There are: memory, .*, echo_say\./),
    });
    for (const words of [["text"], ["{broken"], ["=x"]])
      expect((await runHere(["memory", "tool", "echo_say", ...words], { home: place })).code).toBe(2);
  });

  it("without an active provider lists the home's own tools, and creates nothing", async () => {
    const place = join(tempDirectory(), "none");
    const { code, stdout } = await runHere(["memory", "tool", "--json"], { home: place });
    expect({ code, provider: JSON.parse(stdout).provider }).toEqual({ code: 0, provider: null });
    expect(existsSync(place)).toBe(false);
    const unknown = await runHere(["memory", "tool", "echo_say"], { home: place });
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no tool 'echo_say'"),
    });
  });
});
