// The section of config.yaml: read leniently, written strictly, other sections unchanged.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { createHolographicProvider } from "../../src/holographic/provider.ts";
import { readSettings } from "../../src/holographic/settings.ts";
import { openFacts } from "./fact-home.ts";

describe("reading", () => {
  it("has a default for everything", () => {
    for (const section of [undefined, null, "text", [], {}])
      expect(readSettings(section, "/home/x")).toEqual({
        dbPath: "/home/x/memory_store.db",
        defaultTrust: 0.5,
        minTrust: 0.3,
        dim: 1024,
        vectorWeight: 0.3,
        halfLifeDays: 0,
        autoExtract: false,
        scoring: "structural",
        querySyntax: "safe",
        mode: "hybrid",
        maxChars: 4000,
      });
  });

  it("takes numbers and booleans as text, and keeps numbers in their bounds", () => {
    const section = {
      default_trust: "7",
      min_trust_threshold: "0.25",
      hrr_dim: "512",
      temporal_decay_half_life: "30",
      auto_extract: "on",
      scoring: "Reference",
      fts_query: "RAW",
      mode: "tools",
      max_chars: "100",
      hrr_weight: "none",
    };
    expect(readSettings(section, "/home/x")).toMatchObject({
      defaultTrust: 1,
      minTrust: 0.25,
      dim: 512,
      halfLifeDays: 30,
      autoExtract: true,
      scoring: "reference",
      querySyntax: "raw",
      mode: "tools",
      maxChars: 100,
      vectorWeight: 0.3,
    });
  });

  it.each([
    ["$HERMES_HOME/facts/a.db", "/home/x/facts/a.db"],
    ["\u0024{HERMES_HOME}/a.db", "/home/x/a.db"],
    ["~/a.db", join(homedir(), "a.db")],
    ["/srv/a.db", "/srv/a.db"],
  ])("expands the path %s", (db_path, path) => {
    expect(readSettings({ db_path }, "/home/x").dbPath).toBe(path);
  });

  it("creates the folders of the database, for its owner only", async () => {
    const facts = await openFacts({ settings: { db_path: "$HERMES_HOME/deep/er/facts.db" } });
    await facts.add("one");
    expect(statSync(join(facts.home, "deep/er/facts.db")).mode & 0o777).toBe(0o600);
    expect(existsSync(facts.path)).toBe(false);
  });
});

describe("saving", () => {
  it("changes the given keys and nothing else", async () => {
    const home = tempDirectory();
    const before = [
      "# my settings",
      "memory:",
      "  provider: holographic # the local one",
      "plugins:",
      "  other: {a: 1}",
      "  hermes-memory-store:",
      "    hrr_weight: 0.2 # tuned",
      "",
    ].join("\n");
    writeFileSync(join(home, "config.yaml"), before);
    const values = {
      db_path: "~/my facts: #1.db",
      auto_extract: "false",
      default_trust: "0.7",
      hrr_dim: "512",
    };
    await createHolographicProvider().saveConfig?.(values, home);
    const after = readFileSync(join(home, "config.yaml"), "utf8");
    for (const line of before.split("\n")) expect(after).toContain(line);
    expect(after).toContain("auto_extract: false\n");
    expect(after).toContain("default_trust: 0.7\n");
    expect(after).toContain("hrr_dim: 512\n");
    expect(after).toContain('db_path: "~/my facts: #1.db"\n');
  });

  it.each([
    [{ default_trust: "high" }, /default_trust must be a number from 0 to 1/],
    [{ hrr_dim: "12.5" }, /hrr_dim must be a whole number/],
    [{ auto_extract: "perhaps" }, /auto_extract must be one of true, false/],
    [{ scoring: "random" }, /scoring must be one of structural, reference/],
    [{ colour: "blue" }, /colour is not a setting/],
  ])("refuses %j and writes nothing", async (values, message) => {
    const home = tempDirectory();
    const save = async () => createHolographicProvider().saveConfig?.({ mode: "tools", ...values }, home);
    await expect(save).rejects.toThrow(message);
    expect(existsSync(join(home, "config.yaml"))).toBe(false);
  });
});
