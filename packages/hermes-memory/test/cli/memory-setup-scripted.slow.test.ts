import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BUNDLED_NAMES } from "../../../core/test/fakes/bundled-names.ts";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { VAULT_VARIABLE, writeBroken, writeTracing, writeVault } from "./memory-provider-plugins.ts";
import { runHere, runHermes, runJson } from "./run.ts";

const SECRET = "tok-5d1f0c77b2a94e";

function homeWithVault(): string {
  const home = tempDirectory();
  writeVault(home);
  return home;
}

function filesOf(home: string): string[] {
  return ["config.yaml", ".env", "vault.json"].filter((file) => existsSync(join(home, file)));
}

describe("hermes memory setup without a terminal", () => {
  it("takes a secret from the environment, and leaves it there", async () => {
    const home = homeWithVault();
    const args = ["memory", "setup", "vault", "--set", "mode=cloud", "--set", "owner=Ada", "--yes"];
    const { code, stdout, stderr } = await runHermes(args, { home, env: { [VAULT_VARIABLE]: SECRET } });
    expect({ code, files: filesOf(home) }).toEqual({ code: 0, files: ["config.yaml", "vault.json"] });
    expect(stderr).toContain(`${VAULT_VARIABLE} is set already and stays as it is.`);
    expect(stdout + stderr).not.toContain(SECRET);
  });

  it("says that a setting is not used with the other answers", async () => {
    const home = homeWithVault();
    const args = ["memory", "setup", "vault", "--set", "owner=Ada", "--set", `token=${SECRET}`];
    const { stderr, code } = await runHere(args, { home, env: {} });
    expect({ code, hasSecrets: existsSync(join(home, ".env")) }).toEqual({ code: 0, hasSecrets: false });
    expect(stderr).toContain("Not used with these answers: token.");
  });

  it.each([
    ["--yes", []],
    ["--json", []],
    ["--set", undefined],
  ])("wants a name with %s, and without a terminal", async (flag, typed) => {
    const home = tempDirectory();
    const args = ["memory", "setup", flag, ...(flag === "--set" ? ["a=b"] : [])];
    const { code, stdout, stderr } = await runHere(args, { home, typed, input: "1\n" });
    expect({ code, files: filesOf(home) }).toEqual({ code: 2, files: [] });
    expect(stdout + stderr).toContain(BUNDLED_NAMES.join(", "));
  });

  it("a provider that cannot save is not switched on, and the failure is printed", async () => {
    const home = tempDirectory();
    writePlugin(home, "full", { "index.js": FULL });
    const { code, stdout, stderr } = await runHermes(["memory", "setup", "full", "--yes"], { home });
    expect(code).toBe(1);
    expect(stderr).toContain("The settings of 'full' are not saved: it failed: no room left.");
    expect(stderr).not.toContain("What was saved stays saved"); // nothing was
    expect(stdout).toContain("'full' is not switched on.");
    expect(existsSync(join(home, "config.yaml"))).toBe(false);
  });

  it("a broken plugin is refused with its reason, and one beside it is not touched", async () => {
    const home = homeWithVault();
    writeBroken(home);
    const { hasRun } = writeTracing(home);
    const broken = await runHermes(["memory", "setup", "broken", "--yes"], { home });
    expect(broken.code).toBe(1);
    expect(broken.stderr).toContain("Loading 'broken' failed");
    expect((await runHermes(["memory", "setup", "vault", "--set", "owner=Ada"], { home })).code).toBe(0);
    expect(hasRun()).toBe(false);
  });
});

describe("what a plugin needs", () => {
  function homeWithNeeds(): string {
    const home = tempDirectory();
    const directory = writePlugin(home, "needy", {
      "index.mjs": NEEDY,
      "plugin.yaml": NEEDS,
    });
    mkdirSync(join(directory, "dependency"));
    writeFileSync(
      join(directory, "dependency", "package.json"),
      JSON.stringify({ name: "needed-thing", version: "1.0.0", type: "module", exports: "./index.js" }),
    );
    writeFileSync(join(directory, "dependency", "index.js"), "export const word = 'there';\n");
    return home;
  }

  it("is listed, and not installed unless the user agrees", async () => {
    const home = homeWithNeeds();
    const silent = await runHermes(["memory", "setup", "needy"], { home });
    expect(silent.code).toBe(1);
    expect(silent.stderr).toContain("'needy' needs 1 npm package");
    expect(silent.stderr).toContain("Nothing is installed without --yes.");
    expect(silent.stderr).toContain("For the Python edition, not installed here: needed-thing-py>=1");
    expect(silent.stderr).toContain("gizmo is missing: there is no program 'gizmo-of-nobody'.");
    expect(silent.stderr).toContain("Install it with: get a gizmo");
    const declined = await runHere(["memory", "setup", "needy"], { home, answers: [false] });
    expect({ questions: declined.questions, code: declined.code }).toEqual({
      questions: ["Install now?"],
      code: 1,
    });
    expect(existsSync(join(home, "plugins", "needy", "node_modules"))).toBe(false);
    expect(existsSync(join(home, "config.yaml"))).toBe(false);
  });

  it("is installed into the plugin's own directory with --yes", async () => {
    const home = homeWithNeeds();
    const outcome = await runJson(["memory", "setup", "needy", "--yes"], { home });
    expect(outcome).toMatchObject({
      activated: true,
      available: true,
      packages: { installed: ["needed-thing@file:dependency"], missing: [] },
      external: [{ name: "gizmo", present: false, install: "get a gizmo" }],
    });
    expect(existsSync(join(home, "plugins", "needy", "node_modules", "needed-thing"))).toBe(true);
  });
});

const NEEDS = `description: Needs things
npm_dependencies: ["needed-thing@file:dependency"]
pip_dependencies: ["needed-thing-py>=1"]
external_dependencies:
  - name: gizmo
    install: get a gizmo
    check: gizmo-of-nobody --version
`;

const NEEDY = `import { word } from "needed-thing";
export default class NeedyMemoryProvider {
  name = "needy";
  isAvailable() { return word === "there"; }
  initialize() {}
  getToolSchemas() { return []; }
}
`;

const FULL = `export default class FullMemoryProvider {
  name = "full";
  isAvailable() { return true; }
  initialize() {}
  getToolSchemas() { return []; }
  getConfigSchema() { return [{ key: "size", default: "1" }]; }
  saveConfig() { throw new Error("no room left"); }
}
`;
