import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";

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
  it("lists the active provider's tools with their arguments", async () => {
    const { code, stdout } = await runHere(["memory", "tool"], { home: home() });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "echo_say  Says it again.\n  text\n" });
  });

  it("calls one with words or with JSON, and prints what it answers", async () => {
    const place = home();
    const words = await runHere(["memory", "tool", "echo_say", "text=a=b", "n=1", "--json"], { home: place });
    expect(JSON.parse(words.stdout)).toEqual({ name: "echo_say", args: { text: "a=b", n: "1" } });
    const json = await runHere(["memory", "tool", "echo_say", '{"n": 1}', "--json"], { home: place });
    expect(JSON.parse(json.stdout)).toEqual({ name: "echo_say", args: { n: 1 } });
    const plain = await runHere(["memory", "tool", "echo_say", "text=plain"], { home: place });
    expect(plain.stdout).toBe('"not json"\n');
  });

  it("fails where the tool does, and says what there is", async () => {
    const place = home();
    expect(await runHere(["memory", "tool", "echo_say", "text=bad"], { home: place })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"error": "no"'),
    });
    const unknown = await runHere(["memory", "tool", "nope"], { home: place });
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("It offers: echo_say") });
    for (const words of [["text"], ["{broken"], ["=x"]])
      expect((await runHere(["memory", "tool", "echo_say", ...words], { home: place })).code).toBe(2);
  });

  it("without an active provider says how to get one", async () => {
    const { code, stderr } = await runHere(["memory", "tool"], { home: tempDirectory() });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("hermes memory setup") });
  });
});
