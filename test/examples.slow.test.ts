import { execFile, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { RecordedRequest, Script } from "../packages/agent/test/fakes/wires/script.ts";
import { startWire, type Wire } from "../packages/agent/test/fakes/wires/wire-in-test.ts";

const examples = resolve(import.meta.dirname, "../examples");
const needsModel = (name: string): boolean => name.startsWith("agent");

it.each(readdirSync(examples).filter((name) => name.endsWith(".ts") && !needsModel(name)))(
  "examples/%s runs to its end",
  (name) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(examples, name)], {
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).not.toBe("");
  },
);

it("docs/context.md shows what examples/compact.ts prints", () => {
  const { stdout } = spawnSync(process.execPath, [join(examples, "compact.ts")], { encoding: "utf8" });
  const blocks = textBlocks("docs/context.md");
  const withoutIds = (text: string): string => text.replaceAll(/lcm_[0-9a-f]{12}/g, "lcm_id");
  expect(withoutIds(blocks.join("\n\n"))).toBe(withoutIds(stdout.trimEnd()));
});

describe("with a model", () => {
  /** Runs an example against a scripted server, found through the environment as its first lines say. */
  async function run(
    name: string,
    script: Script,
  ): Promise<{ readonly stdout: string; readonly wire: Wire }> {
    const wire = await startWire("chat", script);
    const vendors = Object.entries(process.env).filter(([key]) => !/_API_KEY$|^HERMES_/.test(key));
    const env = { ...Object.fromEntries(vendors), OPENAI_BASE_URL: wire.url, HERMES_MODEL: "test-model" };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(examples, name)], { env });
    expect(stderr).toBe("");
    return { stdout, wire };
  }

  const lastOf = ({ messages }: RecordedRequest): string => String(messages.at(-1)?.content);

  it("docs/agent.md shows what examples/agent-tools.ts prints", async () => {
    const call = (name: string, args: object, id: string) => ({ name, arguments: { ...args }, id });
    const { stdout, wire } = await run("agent-tools.ts", [
      {
        toolCalls: [
          call("read_sensor", { sensor: "top" }, "c1"),
          call("read_sensor", { sensor: "bottom" }, "c2"),
        ],
      },
      { text: "905 degrees at the top, 880 at the bottom." },
      { toolCalls: [call("set_target", { degrees: 1300 }, "c3")] },
      { toolCalls: [call("set_target", { degrees: 1240 }, "c4")] },
      { text: "1300 was refused; the target is 1240 degrees now." },
    ]);
    expect(textBlocks("docs/agent.md")).toContain(stdout.trimEnd());
    expect(wire.requests[0]?.tools).toEqual(["read_sensor", "set_target"]);
    expect(lastOf(wire.requests[3] as RecordedRequest)).toContain("must not go above 1240");
    expect(wire.requests[0]?.raw).toContain("its target is 900 degrees");
  });

  it("docs/agent.md shows what examples/agent-sessions.ts prints", async () => {
    const content = "The user's kiln is called Vesuvius.";
    const { stdout, wire } = await run("agent-sessions.ts", [
      { toolCalls: [{ name: "memory", arguments: { action: "add", target: "memory", content } }] },
      { text: "Noted: Vesuvius." },
      { text: "Two to one, understood." },
      { text: "Your kiln is called Vesuvius." },
      { toolCalls: [{ name: "session_search", arguments: { query: "glaze mixed" } }] },
      { text: "A celadon glaze." },
      { text: "Two parts." },
    ]);
    expect(textBlocks("docs/agent.md")).toContain(stdout.trimEnd());
    expect(wire.systemOf(0)).not.toContain("Vesuvius");
    expect(wire.systemOf(3)).toContain(content);
    expect(lastOf(wire.requests[5] as RecordedRequest)).toContain("two parts ash");
    expect(wire.systemOf(6)).toBe(wire.systemOf(0));
    expect(wire.wireMessages(6).slice(0, -1)).toEqual([
      ...wire.wireMessages(2),
      { role: "assistant", content: "Two to one, understood." },
    ]);
  });
});

function textBlocks(page: string): string[] {
  const text = readFileSync(resolve(examples, "..", page), "utf8");
  return [...text.matchAll(/^```text\n(.*?)\n```$/gms)].map(([, block = ""]) => block);
}
