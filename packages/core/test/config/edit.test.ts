import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  checkConfig,
  getConfigValue,
  loadConfig,
  setConfigValue,
  unsetConfigValue,
} from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

const SAMPLE = `# settings of the house
model:   "big one"   # chosen in May
memory:
  # keep it small
  memory_char_limit: 3000   # was 2200
  provider: ''

  scan_allow:
    - hermes_env   # our docs name it
    - ssh_access
  custom: {a: 1}
# the end of memory
display: {memory_notifications: verbose}
list:
- one
-   two
`;

async function edited(text: string, key: string, value: string): Promise<string> {
  using temp = tempHome();
  temp.writeConfig(text);
  const outcome = await setConfigValue(temp.home, key, value);
  if (!outcome.ok) throw new Error(outcome.error.message);
  return temp.readConfig();
}

describe("getting a value", () => {
  it("tells what the file says, the default, or that there is neither", async () => {
    using temp = tempHome();
    temp.writeConfig(SAMPLE);
    const get = async (key: string) => {
      const value = await getConfigValue(temp.home, key);
      return value.ok ? value.value : value.error;
    };
    expect(await get("memory.memory_char_limit")).toMatchObject({ source: "file", value: 3000 });
    expect(await get("memory.custom.a")).toMatchObject({ source: "file", value: 1 });
    expect(await get("memory.user_char_limit")).toMatchObject({ source: "default", value: 1375 });
    expect(await get("memory.nothing")).toEqual({ source: "unset", key: "memory.nothing" });
    expect(await get("__proto__.x")).toMatchObject({ source: "unset" });
    expect(await get("memory..x")).toMatchObject({ kind: "invalid" });
  });

  it("finds what is set in the short form of a section, or under an old name", async () => {
    using temp = tempHome();
    temp.writeConfig("model: big\nmemory: {write_mode: approve}\n");
    const get = async (key: string) => {
      const value = await getConfigValue(temp.home, key);
      return value.ok ? value.value : value.error;
    };
    expect(await get("model.default")).toMatchObject({ source: "file", value: "big", from: "model" });
    expect(await get("model.provider")).toMatchObject({ source: "default", value: "" });
    expect(await get("memory.write_approval")).toMatchObject({ value: true, from: "memory.write_mode" });
    temp.writeConfig("memory: {write_mode: approve, write_approval: false}\n");
    const explicit = await get("memory.write_approval");
    expect(explicit).toEqual({ source: "file", key: "memory.write_approval", value: false });
  });
});

describe("setting a value", () => {
  it("creates a private file when there is none", async () => {
    using temp = tempHome();
    const outcome = await setConfigValue(temp.home, "memory.memory_char_limit", "4000");
    expect(outcome).toMatchObject({ ok: true, value: { value: 4000, changed: true, path: temp.configFile } });
    expect(temp.readConfig()).toBe("memory:\n  memory_char_limit: 4000\n");
    expect(statSync(temp.configFile).mode & 0o777).toBe(0o600);
    expect(readdirSync(temp.home)).toEqual(["config.yaml"]);
  });

  it("changes one value and no other byte", async () => {
    expect(await edited(SAMPLE, "memory.memory_char_limit", "5")).toBe(SAMPLE.replace("3000", "5"));
    expect(await edited(SAMPLE, "memory.provider", "mem0")).toBe(SAMPLE.replace("''", "mem0"));
    expect(await edited(SAMPLE, "model", "small")).toBe(SAMPLE.replace('"big one"', "small"));
    expect(await edited(SAMPLE, "memory.custom.a", "7")).toBe(SAMPLE.replace("{a: 1}", "{a: 7}"));
    const crlf = SAMPLE.replaceAll("\n", "\r\n");
    expect(await edited(crlf, "memory.memory_char_limit", "5")).toBe(crlf.replace("3000", "5"));
    expect(await edited(crlf, "memory.nudge_interval", "5")).toContain("\r\n  nudge_interval: 5\r\n");
  });

  it("adds keys at the end of their section, and sections at the end of the file", async () => {
    expect(await edited(SAMPLE, "memory.nudge_interval", "3")).toBe(
      SAMPLE.replace("  custom: {a: 1}\n", "  custom: {a: 1}\n  nudge_interval: 3\n"),
    );
    expect(await edited(SAMPLE, "logging.memory_monitor.enabled", "off")).toBe(
      `${SAMPLE}logging:\n  memory_monitor:\n    enabled: false\n`,
    );
    expect(await edited("# only a comment", "memory.provider", "mem0")).toBe(
      "# only a comment\nmemory:\n  provider: mem0\n",
    );
    expect(await edited("memory: # soon\nx: 1\n", "memory.provider", "mem0")).toBe(
      "memory: # soon\n  provider: mem0\nx: 1\n",
    );
    expect(await edited("memory:\n  provider:\nx: 1\n", "memory.provider", "mem0")).toBe(
      "memory:\n  provider: mem0\nx: 1\n",
    );
  });

  it("turns the short form of a section into a section, and takes it away as its key", async () => {
    expect(await edited(SAMPLE, "model.default", "small")).toBe(
      SAMPLE.replace('"big one"', "{default: small}"),
    );
    expect(await edited(SAMPLE, "model.provider", "openai")).toBe(
      SAMPLE.replace('"big one"', '{default: "big one", provider: openai}'),
    );
    using temp = tempHome();
    temp.writeConfig("model: big\nz: 1\n");
    const same = await setConfigValue(temp.home, "model.default", "big");
    expect(same).toMatchObject({ value: { previous: "big", changed: false } });
    const other = await setConfigValue(temp.home, "model.default", "small");
    expect(other).toMatchObject({ value: { previous: "big", value: "small", changed: true } });
    expect(temp.readConfig()).toBe("model: {default: small}\nz: 1\n");
    temp.writeConfig("model: big\nz: 1\n");
    const gone = await unsetConfigValue(temp.home, "model.default");
    expect(gone).toMatchObject({ value: { key: "model.default", previous: "big", changed: true } });
    expect(temp.readConfig()).toBe("z: 1\n");
    temp.writeConfig("model: big\n");
    expect(await setConfigValue(temp.home, "model.default.x", "1")).toMatchObject({ ok: false });
    expect(await setConfigValue(temp.home, "terminal", "bash")).toMatchObject({ ok: true });
    expect(await setConfigValue(temp.home, "terminal.shell", "zsh")).toMatchObject({ ok: false });
    expect(await setConfigValue(temp.home, "model.other.x", "1")).toMatchObject({ ok: true });
    expect(parse(temp.readConfig())).toEqual({
      model: { default: "big", other: { x: 1 } },
      terminal: "bash",
    });
    temp.writeConfig("model: big\n");
    expect(await unsetConfigValue(temp.home, "model.provider")).toMatchObject({ value: { changed: false } });
  });

  it("replaces lists and adds into flow mappings, comments kept", async () => {
    const list = await edited(SAMPLE, "memory.scan_allow", "[a, b]");
    expect(parse(list).memory.scan_allow).toEqual(["a", "b"]);
    expect(list).toContain("# the end of memory");
    const flow = await edited(SAMPLE, "display.platforms.slack.memory_notifications", "off");
    expect(parse(flow).display).toEqual({
      memory_notifications: "verbose",
      platforms: { slack: { memory_notifications: "off" } },
    });
    for (const comment of SAMPLE.match(/#.*/g) ?? []) expect(flow).toContain(comment);
  });

  it.each([
    ["{}\n", "{memory: {nudge_interval: 3}}\n"],
    ["# head\n{a: 1} # tail\n", "# head\n{a: 1, memory: {nudge_interval: 3}} # tail\n"],
  ])("adds to a file that is one flow: %j", async (text, changed) => {
    expect(await edited(text, "memory.nudge_interval", "3")).toBe(changed);
  });

  it("stores words for switches as booleans and quotes what YAML 1.1 would misread", async () => {
    expect(await edited("", "memory.write_approval", "on")).toContain("write_approval: true");
    expect(await edited("", "memory.write_approval", "1")).toContain("write_approval: true");
    expect(await edited("", "memory.memory_enabled", "No")).toContain("memory_enabled: false");
    expect(await edited("", "display.memory_notifications", "off")).toContain('memory_notifications: "off"');
    expect(await edited("", "memory.provider", "")).toContain('provider: ""');
    expect(await edited("", "memory.provider", "7")).toContain('provider: "7"');
  });

  it("keeps the mode of an existing file", async () => {
    using temp = tempHome();
    temp.writeConfig("a: 1\n");
    chmodSync(temp.configFile, 0o640);
    await setConfigValue(temp.home, "a", "2");
    expect(statSync(temp.configFile).mode & 0o777).toBe(0o640);
  });

  it("notes keys nobody here reads", async () => {
    using temp = tempHome();
    expect(await setConfigValue(temp.home, "terminal.shell", "x")).toMatchObject({
      ok: true,
      value: { note: expect.stringContaining("terminal.shell") },
    });
    const known = await setConfigValue(temp.home, "memory.provider", "x");
    expect(known.ok && known.value.note).toBeUndefined();
  });

  it.each([
    ["memory.write_approval", "maybe", "must be true or false"],
    ["memory", "5", "must be a section"],
    ["database", "5", "must be a section"],
    ["plugins", "[a]", "must be a section"],
    ["memory.memory_char_limit.x", "1", "is not a section"],
    ["memory.memory_char_limit", "[1", "is not a YAML value"],
    ["memory.", "1", "is not a key"],
    ["", "1", "is not a key"],
  ])("refuses %s = %s and writes nothing", async (key, value, message) => {
    using temp = tempHome();
    temp.writeConfig(SAMPLE);
    const outcome = await setConfigValue(temp.home, key, value);
    expect(outcome).toMatchObject({ ok: false, error: { kind: "invalid" } });
    expect(!outcome.ok && outcome.error.message).toContain(message);
    expect(temp.readConfig()).toBe(SAMPLE);
  });

  it.each([
    ["compression.hygiene_treshold", "compression.hygiene_threshold"],
    ["memory.provder", "memory.provider"],
    ["memroy.provder", "memory.provider"],
    ["nudge_interval", "memory.nudge_interval"],
    ["provider", "memory.provider"],
    ["mcp_server.lab.timeout", "mcp_servers.lab.timeout"],
    ["memory.provder.name", "memory.provider"],
  ])("says about %s that nothing reads it, and names %s", async (key, suggestion) => {
    using temp = tempHome();
    const note = expect.stringContaining(`${key} is not a key this program reads`);
    expect(await setConfigValue(temp.home, key, "5")).toMatchObject({ value: { note, suggestion } });
    expect((await checkConfig(temp.home)).unknownKeys).toHaveLength(1);
  });

  it.each([
    ["compression.hygiene_timeout_seconds", "60"],
    ["compression.proactive_prune_tokens", "0"],
    ["database.journal_mode", "wal"],
    ["memory.mem0.mode", "tools"],
    ["memory.mem0", "{mode: tools}"],
    ["plugins.p.a", "1"],
  ])("says nothing about %s, as check does", async (key, value) => {
    using temp = tempHome();
    const outcome = await setConfigValue(temp.home, key, value);
    expect(outcome.ok && outcome.value.note).toBeUndefined();
    expect(outcome.ok && outcome.value.suggestion).toBeUndefined();
    expect(await checkConfig(temp.home)).toMatchObject({ warnings: [], unknownKeys: [] });
  });

  it("tells at once that a name is an old one, and which key counts", async () => {
    using temp = tempHome();
    expect(await setConfigValue(temp.home, "memory.write_mode", "approve")).toMatchObject({
      value: {
        note: "memory.write_mode is the old name of memory.write_approval and counts as memory.write_approval: true until that is set. Set memory.write_approval instead.",
      },
    });
    await setConfigValue(temp.home, "memory.write_approval", "false");
    expect(await setConfigValue(temp.home, "memory.write_mode", "approve")).toMatchObject({
      value: { note: expect.stringContaining("has no effect: memory.write_approval counts") },
    });
  });

  it("remarks on a time zone that is none, and loads the file all the same", async () => {
    using temp = tempHome();
    const told = 'should be the IANA name of a zone, such as Europe/Vienna; "Mars/X" is ignored';
    const outcome = await setConfigValue(temp.home, "timezone", "Mars/X");
    expect(outcome).toMatchObject({ ok: true, value: { note: `timezone ${told}.` } });
    expect((await checkConfig(temp.home)).warnings).toEqual([{ key: "timezone", message: told, line: 1 }]);
    expect(await loadConfig(temp.home)).toMatchObject({ ok: true, value: { timezone: "Mars/X" } });
    for (const zone of ["Europe/Vienna", "UTC", " Asia/Tokyo ", "", "+02:00"]) {
      const fine = await setConfigValue(temp.home, "timezone", JSON.stringify(zone));
      expect(fine.ok && fine.value.note, zone).toBeUndefined();
      expect((await checkConfig(temp.home)).warnings, zone).toEqual([]);
    }
  });

  it.each(["compression.proactive_prune_*", "plugins.*", "mcp_servers.*.url"])(
    "refuses the pattern %s as a key",
    async (key) => {
      using temp = tempHome();
      const outcome = await setConfigValue(temp.home, key, "x");
      expect(!outcome.ok && outcome.error.message).toContain("* stands for a name");
      expect(existsSync(temp.configFile)).toBe(false);
      expect((await setConfigValue(temp.home, "other.*", "x")).ok).toBe(true);
    },
  );

  it("refuses a wrong setting of an MCP server whether or not the server is there", async () => {
    for (const text of ["", "mcp_servers: {lab: {timeout: 5}}\n", "mcp_servers: {lab: {command: npx}}\n"]) {
      using temp = tempHome();
      temp.writeConfig(text);
      const outcome = await setConfigValue(temp.home, "mcp_servers.lab.timeout", "-1");
      expect(!outcome.ok && outcome.error.issues, text).toEqual([
        { key: "mcp_servers.lab.timeout", message: "must be a number of seconds above 0; 120 counts" },
      ]);
      expect(temp.readConfig()).toBe(text);
      expect((await setConfigValue(temp.home, "mcp_servers.lab.timeout", "7")).ok, text).toBe(true);
    }
  });

  it("repairs one of several mistakes, but does not touch a file it cannot read", async () => {
    using temp = tempHome();
    temp.writeConfig("memory:\n  memory_char_limit: lots\n  history_keep: none\n");
    expect((await setConfigValue(temp.home, "memory.memory_char_limit", "9")).ok).toBe(true);
    temp.writeConfig("memory: [\n");
    expect(await setConfigValue(temp.home, "a", "1")).toMatchObject({ error: { kind: "syntax" } });
    expect(temp.readConfig()).toBe("memory: [\n");
    using other = tempHome();
    mkdirSync(other.configFile);
    expect(await setConfigValue(other.home, "a", "1")).toMatchObject({ error: { kind: "unreadable" } });
  });

  it("asks for a hand when an anchor is in the way", async () => {
    using temp = tempHome();
    const text = "a: &x 1\nb: *x\n";
    temp.writeConfig(text);
    expect(await setConfigValue(temp.home, "a", "2")).toMatchObject({
      ok: false,
      error: { kind: "invalid" },
    });
    expect(temp.readConfig()).toBe(text);
  });

  it("gives back every value, keeps the rest, and unset takes it away again", async () => {
    const part = fc.constantFrom("memory", "other", "deep", "on", "7", "with space", "ä");
    const scalar = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom("yes", "null", "#", "- a", "a: b", "\u0085", ""),
    );
    const value = fc.oneof(
      scalar,
      fc.array(scalar, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("k", "on"), scalar),
    );
    const key = fc
      .array(part, { minLength: 1, maxLength: 3 })
      .filter((parts) => parts.length > 1 || parts[0] !== "memory");
    const start = fc.constantFrom(
      "",
      SAMPLE,
      "other: {}\n",
      "deep:\n  deep:\n    x: 1\n\nz: 2 # c",
      "memory:\n# c\n",
      "\ufeffa: 1\n",
      "on: # c\n",
    );
    await fc.assert(
      fc.asyncProperty(start, key, value, async (text, path, wanted) => {
        using temp = tempHome();
        temp.writeConfig(text);
        const before = await loadConfig(temp.home);
        const outcome = await setConfigValue(temp.home, path.join("."), JSON.stringify(wanted));
        expect(outcome).toMatchObject({ ok: true });
        const got = await getConfigValue(temp.home, path.join("."));
        expect(got.ok && got.value).toMatchObject({ source: "file", value: wanted });
        for (const comment of text.match(/# .*/g) ?? []) expect(temp.readConfig()).toContain(comment);
        expect((await unsetConfigValue(temp.home, path.join("."))).ok).toBe(true);
        const after = await loadConfig(temp.home);
        const rest = (loaded: typeof before) =>
          loaded.ok ? (loaded.value.raw.list ?? loaded.value.raw.z) : undefined;
        expect(rest(after)).toEqual(rest(before));
      }),
      { numRuns: 300 },
    );
  });
});

describe("every other byte of the file", () => {
  const BLOCKS = [
    ..."# a comment\n\n¦plain:   value   # note\n".split("¦"),
    "anchor: &a {x: 1,   y: [2,3]}   # kept\nalias:   *a\n",
    "base: &base\n  k: 1\nderived:\n  <<: *base\n  z:   0x10\n",
    "script: |\n  line # no comment\n    deeper\n\n  memory:\n    provider: no\n",
    ..."folded: >-\n   one\n   two\n\n# after\n¦list:\n- one\n-   'it''s'\n- {a:   1}\n".split("¦"),
    "deep:\n    odd:   # four blanks\n        - x:  1\n          y: ~\n",
    ...`"quoted key":   "a\\tb\n  c"\n¦flow: [1,\n   2,   # inside\n   3]\n¦empty:\n`.split("¦"),
    ..."? complex\n:   value\n¦when: 2026-01-02T03:04:05Z\nyes: no\n".split("¦"),
  ];
  const SECTIONS = [
    ..."|memory:   # soon\n|memory: {}\n|memory: ~   # none\n".split("|"),
    "memory: {provider:   old,   mem0: {mode: x}}   # flow\n",
    "memory:\n    # four\n    nudge_interval:   3   # often\n\n",
    "memory:\n  provider:   old   # which\n  mem0: {a:   1}\n",
    "memory:\n  mem0: {a:   1}\n  provider:   'old'\n",
    "memory:\n  provider: >-\n    old\n  # end\n",
  ];
  const OURS = /(provider: *)[^,}#\n]*?(?= *(?:[,}#\n]|$))/;

  it("stays when a value is set and unset", async () => {
    const blocks = fc.uniqueArray(fc.constantFrom(...BLOCKS), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        blocks,
        fc.constantFrom(...SECTIONS),
        fc.uniqueArray(fc.constantFrom(...BLOCKS), { maxLength: 4 }),
        fc.constantFrom("\n", "\r\n"),
        async (before, section, after, wanted) => {
          const newline = [...before, section, ...after].join("") === "" ? "\n" : wanted;
          const inNewlines = (text: string) => text.replaceAll("\n", newline);
          const head = inNewlines(before.join(""));
          const tail = inNewlines(after.filter((block) => !before.includes(block)).join(""));
          using temp = tempHome();
          temp.writeConfig(head + inNewlines(section) + tail);
          expect(await setConfigValue(temp.home, "memory.provider", "mem0")).toMatchObject({ ok: true });
          const set = temp.readConfig();
          const unset = async () => {
            expect(await unsetConfigValue(temp.home, "memory.provider")).toMatchObject({ ok: true });
            return temp.readConfig();
          };
          if (section === "") {
            expect(set.replace(/^memory:\r?\n {2}provider: mem0\r?\n/m, "")).toBe(head + tail);
            expect((await unset()).replace(/^memory:\r?\n/m, "")).toBe(head + tail);
            return;
          }
          expect(set.startsWith(head) && set.endsWith(tail)).toBe(true);
          const written = set.slice(head.length, set.length - tail.length);
          expect(written).toMatch(newline === "\n" ? /^[^\r]*$/ : /^(?:[^\r\n]|\r\n)*$/);
          // Within the section only the value changes, or a line is added.
          if (/provider: +[^>]/.test(section))
            expect(written).toBe(inNewlines(section.replace(OURS, "$1mem0")));
          else for (const line of section.match(/#.*|nudge.*/g) ?? []) expect(written).toContain(line);
          const without = await unset();
          expect(without.startsWith(head) && without.endsWith(tail)).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe("unsetting a value", () => {
  it("removes the line only", async () => {
    using temp = tempHome();
    temp.writeConfig(SAMPLE);
    expect(await unsetConfigValue(temp.home, "memory.memory_char_limit")).toMatchObject({
      ok: true,
      value: { changed: true, previous: 3000 },
    });
    expect(temp.readConfig()).toBe(SAMPLE.replace("  memory_char_limit: 3000   # was 2200\n", ""));
    await unsetConfigValue(temp.home, "memory.scan_allow");
    expect(parse(temp.readConfig()).memory).toEqual({ provider: "", custom: { a: 1 } });
  });

  it("leaves an emptied section, and a file without the key or no file at all, alone", async () => {
    using temp = tempHome();
    temp.writeConfig("memory:\n  provider: x\nz: 1\n");
    await unsetConfigValue(temp.home, "memory.provider");
    expect(temp.readConfig()).toBe("memory:\nz: 1\n");
    expect(await unsetConfigValue(temp.home, "memory.provider")).toMatchObject({ value: { changed: false } });
    using empty = tempHome();
    expect(await unsetConfigValue(empty.home, "memory.provider")).toMatchObject({
      value: { changed: false },
    });
    expect(existsSync(empty.configFile)).toBe(false);
  });
});

describe("checking", () => {
  it("finds nothing in a missing file and in a good one", async () => {
    using temp = tempHome();
    const clean = { errors: [], warnings: [], unknownKeys: [] };
    expect(await checkConfig(temp.home)).toEqual({ path: temp.configFile, exists: false, ...clean });
    temp.writeConfig(
      "memory:\n  provider: mem0\n  mem0: {mode: tools}\n  flush_min_turns: 6\ndisplay:\n  platforms:\n    slack: {memory_notifications: off}\n",
    );
    expect(await checkConfig(temp.home)).toEqual({ path: temp.configFile, exists: true, ...clean });
  });

  it("lists every mistake with its line", async () => {
    using temp = tempHome();
    temp.writeConfig("memory:\n  history_keep: 0\n  overflow: drop\ncontext_file_max_chars: x\n");
    const check = await checkConfig(temp.home);
    expect(check.errors.map(({ key, line }) => [key, line])).toEqual([
      ["memory.overflow", 3],
      ["memory.history_keep", 2],
      ["context_file_max_chars", 4],
    ]);
  });

  it("warns of what counts as false, of old names and of unknown threat ids", async () => {
    using temp = tempHome();
    temp.writeConfig(
      "memory:\n  write_approval: maybe\n  write_mode: approve\n  scan_allow: [known, unknown]\nskills:\n  write_approval: 1\n",
    );
    const check = await checkConfig(temp.home, { isThreatId: (id) => id === "known" });
    expect(check.errors).toEqual([]);
    expect(check.warnings.map(({ key, line }) => [key, line])).toEqual([
      ["memory.write_approval", 2],
      ["skills.write_approval", 6],
      ["memory.write_mode", 3],
      ["memory.scan_allow", 4],
    ]);
    expect((await checkConfig(temp.home)).warnings).toHaveLength(3);
  });

  it("warns of a value in place of a section that is only accepted, and loads the file", async () => {
    using temp = tempHome();
    temp.writeConfig("plugins:\ndatabase: 5\n");
    const { errors, warnings } = await checkConfig(temp.home);
    expect({ errors, warnings }).toEqual({
      errors: [],
      warnings: [
        { key: "database", line: 2, message: "must be a section with keys of its own; it is ignored" },
      ],
    });
    expect((await loadConfig(temp.home)).ok).toBe(true);
  });

  it("lists unknown keys and suggests what was probably meant", async () => {
    using temp = tempHome();
    temp.writeConfig(
      "memori:\n  x: 1\nmemory:\n  memory_char_limt: 5\n  nudge_intreval: 3\n  zebra: 1\nuser_char_limit: 7\nterminal: x\ndisplay:\n  platforms:\n    slack: {memory_notification: off}\n",
    );
    expect((await checkConfig(temp.home)).unknownKeys).toEqual([
      { key: "memori", line: 1, suggestion: "memory" },
      { key: "memory.memory_char_limt", line: 4, suggestion: "memory.memory_char_limit" },
      { key: "memory.nudge_intreval", line: 5, suggestion: "memory.nudge_interval" },
      { key: "memory.zebra", line: 6 },
      { key: "user_char_limit", line: 7, suggestion: "memory.user_char_limit" },
      { key: "terminal", line: 8 },
      {
        key: "display.platforms.slack.memory_notification",
        line: 11,
        suggestion: "display.platforms.slack.memory_notifications",
      },
    ]);
  });

  it("reports a file that cannot be read or parsed as an error", async () => {
    using temp = tempHome();
    temp.writeConfig("a: 1\nb: [\n");
    expect((await checkConfig(temp.home)).errors[0]).toMatchObject({ line: expect.any(Number) });
    using other = tempHome();
    mkdirSync(other.configFile);
    expect((await checkConfig(other.home)).errors).toHaveLength(1);
  });
});
