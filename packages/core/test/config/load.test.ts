import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_MEMORY_CONFIG, loadConfig, loadMemoryConfig } from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

async function loadText(text: string) {
  using temp = tempHome();
  temp.writeConfig(text);
  return { memory: await loadMemoryConfig(temp.home), config: await loadConfig(temp.home) };
}

async function loadMemory(text: string) {
  const { memory } = await loadText(text);
  if (!memory.ok) throw new Error(memory.error.message);
  return memory.value;
}

describe("loading config.yaml", () => {
  it("gives the defaults for a missing, empty or comment-only file and for an empty section", async () => {
    using temp = tempHome();
    expect(await loadMemoryConfig(temp.home)).toEqual({ ok: true, value: DEFAULT_MEMORY_CONFIG });
    expect(await loadConfig(temp.home)).toMatchObject({
      ok: true,
      value: { memory: DEFAULT_MEMORY_CONFIG, raw: {} },
    });
    for (const text of ["", "# nothing\n", "memory:\n", "memory: null\n", "memory: {}\n", "other: 1\n"])
      expect(await loadMemory(text)).toEqual(DEFAULT_MEMORY_CONFIG);
  });

  it("takes the boolean words of YAML 1.1, merge keys and fractions of a second", async () => {
    const memory = await loadMemory(`base: &base
  memory_enabled: off
  lock_timeout_seconds: 0.25
memory:
  <<: *base
  user_profile_enabled: Yes
`);
    expect(memory).toMatchObject({
      memoryEnabled: false,
      userProfileEnabled: true,
      lockTimeoutSeconds: 0.25,
    });
  });

  it("switches write_approval on by true and the known words, and by nothing else", async () => {
    for (const on of ["true", "on", '" YES "', '"1"', "approve", "Enabled"])
      expect((await loadMemory(`memory: {write_approval: ${on}}`)).writeApproval, on).toBe(true);
    for (const off of ["false", "off", "1", "2", "maybe", '""', "[true]", "null"])
      expect((await loadMemory(`memory: {write_approval: ${off}}`)).writeApproval, off).toBe(false);
  });

  it("keeps the gate of a file from before write_approval", async () => {
    expect((await loadMemory("memory:\n  write_mode: approve\n")).writeApproval).toBe(true);
    expect((await loadMemory("memory:\n  write_mode: direct\n")).writeApproval).toBe(false);
    expect(
      (await loadMemory("memory:\n  write_mode: approve\n  write_approval: false\n")).writeApproval,
    ).toBe(false);
  });

  it("lets a mistake in another section not stop memory", async () => {
    const { memory, config } = await loadText("context_file_max_chars: lots\nmemory:\n  provider: mem0\n");
    expect(memory).toMatchObject({ ok: true, value: { provider: "mem0" } });
    expect(config).toMatchObject({ ok: false, error: { kind: "invalid" } });
  });
});

describe("a config that cannot be used", () => {
  it("names the key, what was found, what is allowed and the line", async () => {
    const { memory } = await loadText("memory:\n  # size\n  memory_char_limit: lots\n");
    expect(memory).toMatchObject({
      ok: false,
      error: {
        kind: "invalid",
        message: 'config.yaml: memory.memory_char_limit must be a whole number of at least 0, but is "lots".',
        issues: [{ key: "memory.memory_char_limit", line: 3 }],
      },
    });
  });

  it.each([
    ["memory: 5", "memory must be a section with keys of its own, but is 5"],
    ["- a\n- b", "must hold keys and values"],
    ["just text", 'must hold keys and values, but is "just text"'],
  ])("refuses %s", async (text, message) => {
    const { config } = await loadText(text);
    expect(config).toMatchObject({ ok: false, error: { kind: "invalid" } });
    expect(!config.ok && config.error.message).toContain(message);
  });

  it("tells the line of broken YAML without repeating the file's content", async () => {
    const { memory } = await loadText('memory:\n  provider: mem0\n  api_key: "sk-planted\nnext: [1\n');
    expect(memory).toMatchObject({ ok: false, error: { kind: "syntax" } });
    if (memory.ok) return;
    expect(memory.error.issues[0]?.line).toBeGreaterThan(2);
    expect(memory.error.message).toMatch(/^config\.yaml: line \d+: /);
    expect(memory.error.message).not.toContain("planted");
  });

  it("refuses duplicate keys, tabs, several documents and alias bombs as syntax", async () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
      .split("")
      .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[i]}`).join(",")}]`)
      .join("\n")}\n`;
    for (const text of [
      "memory:\n  provider: a\n  provider: b\n",
      "memory:\n\tprovider: a\n",
      "a: 1\n---\nb: 2\n",
      bomb,
    ]) {
      const { memory } = await loadText(text);
      expect(memory, text.slice(0, 30)).toMatchObject({ ok: false, error: { kind: "syntax" } });
    }
  });

  it("is unreadable as a directory or as bytes that are no text", async () => {
    using temp = tempHome();
    mkdirSync(temp.configFile);
    for (const outcome of [await loadMemoryConfig(temp.home), await loadConfig(temp.home)])
      expect(outcome).toMatchObject({ ok: false, error: { kind: "unreadable", path: temp.configFile } });
    using other = tempHome();
    other.writeConfig(Uint8Array.of(0x61, 0x3a, 0x20, 0xff));
    const outcome = await loadMemoryConfig(other.home);
    expect(!outcome.ok && outcome.error.message).toContain("UTF-8");
  });
});

describe("start-up", () => {
  it("loads no YAML library for the door and an ordinary config", () => {
    using temp = tempHome();
    temp.writeConfig("memory:\n  provider: mem0 # one\n  scan_allow: [a, b]\nlist:\n- name: x\n  y: 1\n");
    const door = join(import.meta.dirname, "../../src/config/index.ts");
    const script = `
      import { registerHooks } from "node:module";
      registerHooks({ load(url, context, next) {
        if (/node_modules\\/yaml\\//.test(url)) console.log("LOADED " + url);
        return next(url, context);
      }});
      const { loadMemoryConfig, loadConfig } = await import(${JSON.stringify(door)});
      const quick = await loadMemoryConfig(${JSON.stringify(temp.home)});
      console.log(quick.ok && quick.value.provider);
      if (process.argv[1] === "full") await loadConfig(${JSON.stringify(temp.home)});
    `;
    const run = (...args: string[]) =>
      execFileSync(process.execPath, ["--input-type=module", "-e", script, ...args], { encoding: "utf8" });
    expect(run().trim()).toBe("mem0");
    expect(run("full")).toContain("LOADED"); // the hook does notice them
  });
});
