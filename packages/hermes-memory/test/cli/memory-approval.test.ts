import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { MemoryStore, memoryTool } from "../../src/index.ts";
import { runHere, runHermes, runJson } from "./run.ts";

/** Stages a write as an agent with write approval does. */
async function stage(
  home: string,
  args: Record<string, string>,
  origin: "assistant_tool" | "background_review" = "assistant_tool",
): Promise<string> {
  const store = new MemoryStore({ dir: join(home, "memories") });
  await store.load();
  const reply = (await memoryTool(
    store,
    { target: "memory", ...args },
    { home, writeApproval: true, origin },
  )) as { pending_id: string };
  return reply.pending_id;
}

function files(home: string): string[] {
  return readdirSync(join(home, "pending", "memory"));
}

describe("hermes memory pending, approve, reject", () => {
  it("lists staged writes, with [auto] for those of a background review", async () => {
    const home = tempDirectory();
    const empty = await runHermes(["memory", "pending"], { home });
    expect(empty).toEqual({ code: 0, stdout: "No pending memory writes.\n", stderr: "" });
    const first = await stage(home, { action: "add", content: "alpha" });
    const second = await stage(home, { action: "add", content: "be\nta" }, "background_review");
    writeFileSync(join(home, "pending", "memory", "notes.json"), "{}");
    const { stdout, stderr, code } = await runHermes(["memory", "pending"], { home });
    expect(code).toBe(0);
    expect(stdout.split("\n").slice(0, 4)).toEqual([
      "Pending memory writes (2):",
      `  ${first}  add to memory: alpha`,
      `  ${second} [auto]  add to memory: be ta`,
      "",
    ]);
    expect(stdout).toContain("hermes memory approve <id>");
    expect(stderr).toBe("notes.json is not a staged write and was skipped.\n");
    expect(await runJson(["memory", "pending"], { home })).toMatchObject({
      pending: [{ id: first, payload: { content: "alpha" } }, { id: second }],
      skipped: ["notes.json"],
    });
    expect((await runHere(["memory", "explain", "alpha"], { home })).stdout).toMatch(
      new RegExp(`^A write with it waits for approval since .*, from assistant_tool: ${first}\\.\\n$`),
    );
  });

  it("approves one and all, with the limits of the config", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "memory:\n  write_approval: true\n  memory_char_limit: 20\n");
    const one = await stage(home, { action: "add", content: "alpha" });
    await stage(home, { action: "add", content: "beta" });
    const tooLong = await stage(home, { action: "add", content: "a text that is far too long" });
    const missing = await stage(home, { action: "remove", old_text: "nowhere" });
    const approved = await runHermes(["memory", "approve", one], { home });
    expect(approved).toMatchObject({ code: 0, stdout: "Approved 1 memory write(s).\n" });
    const all = await runHermes(["memory", "approve", "all"], { home });
    expect(all.code).toBe(1);
    expect(all.stdout).toContain("Approved 1 memory write(s).\nFailed:\n");
    expect(all.stdout).toMatch(new RegExp(`  ${tooLong}: Memory at 12/20 chars\\..*exceed the limit`));
    expect(all.stdout).toContain(`  ${missing}: No entry matched 'nowhere'.\n`);
    expect(files(home).sort()).toEqual([`${tooLong}.json`, `${missing}.json`].sort());
    const again = await runHere(["memory", "approve", missing, "--json"], { home });
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toEqual({
      success: false,
      approved: [],
      failed: [{ id: missing, kind: "no_match", error: "No entry matched 'nowhere'." }],
    });
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("alpha\n§\nbeta");
  });

  it("rejects one and all, and explain reports the rejection", async () => {
    const home = tempDirectory();
    const one = await stage(home, { action: "add", content: "alpha\n" });
    const rejected = await runHermes(["memory", "reject", one], { home });
    expect(rejected).toMatchObject({ code: 0, stdout: `Rejected pending memory write '${one}'.\n` });
    expect((await runHere(["memory", "explain", "alpha"], { home })).stdout).toMatch(
      /^Refused at .* for MEMORY\.md, from cli: denied\.\n$/,
    );
    await stage(home, { action: "add", content: "beta" });
    await stage(home, { action: "replace", old_text: "beta", content: "gamma" });
    await stage(home, { action: "remove", old_text: "beta" });
    expect((await runHere(["memory", "reject", "all"], { home })).stdout).toBe(
      "Rejected 3 pending memory write(s).\n",
    );
    expect(files(home)).toEqual([]);
    expect(await runJson(["memory", "reject", "all"], { home })).toEqual({ success: true, rejected: [] });
    expect(await runJson(["memory", "approve", "all"], { home })).toEqual({ success: true, approved: [] });
  });

  it("an unknown id is refused, also one that looks like a path", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "kept.json"), "{}");
    for (const command of ["approve", "reject"]) {
      for (const id of ["12345678", "../../kept", "ALL", ""]) {
        const { code, stdout, stderr } = await runHere(["memory", command, id], { home });
        expect({ code, stdout, stderr }).toEqual({
          code: 1,
          stdout: "",
          stderr: `error: No pending memory write with id '${id}'.\n`,
        });
      }
    }
    expect(readFileSync(join(home, "kept.json"), "utf8")).toBe("{}");
    expect((await runHermes(["memory", "approve"], { home })).code).toBe(2);
  });

  it("a damaged record can be rejected, not approved", async () => {
    const home = tempDirectory();
    const id = await stage(home, { action: "add", content: "alpha" });
    writeFileSync(join(home, "pending", "memory", `${id}.json`), "{");
    const approved = await runHere(["memory", "approve", id], { home });
    expect(approved.code).toBe(1);
    expect(approved.stderr).toContain("is damaged");
    expect((await runHere(["memory", "reject", id], { home })).code).toBe(0);
    expect(files(home)).toEqual([]);
  });
});
