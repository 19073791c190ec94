import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { KEYS, startInPty, whyNoPty } from "../fakes/pty.ts";
import { VAULT_VARIABLE, writeVault } from "./memory-provider-plugins.ts";

const reason = await whyNoPty();
const SECRET = "tok-5d1f0c77b2a94e";
const CONFIG = "# mine\nmemory:\n  provider: old # the one before\n  nudge_interval: 7\n";

function homeWithVault(config = CONFIG): string {
  const home = tempDirectory();
  writeVault(home);
  writeFileSync(join(home, "config.yaml"), config);
  return home;
}

const configOf = (home: string): string => readFileSync(join(home, "config.yaml"), "utf8");
const settingsOf = (home: string): unknown => JSON.parse(readFileSync(join(home, "vault.json"), "utf8"));

describe.skipIf(reason !== undefined)(`hermes memory setup in a pseudo terminal ${reason ?? ""}`, () => {
  it("lets the arrows choose a provider and asks for what it needs", async () => {
    const home = homeWithVault();
    const pty = await startInPty(["memory", "setup"], { home });
    await pty.play([
      ["● Built-in only", KEYS.up],
      ["● vault - Notes in a vault", KEYS.enter],
      ["● local", KEYS.down],
      ["● cloud", KEYS.enter],
      ["Get it at https://vault.example/tokens", ""],
      ["Vault token", KEYS.enter],
      ["token must not be empty.", `${SECRET}${KEYS.enter}`],
      ["https://vault.example", KEYS.enter],
      ["Owner", KEYS.enter],
      ["owner must not be empty.", `Ada${KEYS.enter}`],
      ["'vault' is the memory provider of every session that starts from now on.", ""],
      ["It is available.", ""],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).not.toContain(SECRET);
    expect(pty.output()).not.toContain(SECRET.slice(-4));
    expect(configOf(home)).toBe(CONFIG.replace("old", "vault"));
    expect(settingsOf(home)).toEqual({ mode: "cloud", address: "https://vault.example", owner: "Ada" });
    expect(readFileSync(join(home, ".env"), "utf8")).toBe(`${VAULT_VARIABLE}=${SECRET}\n`);
    expect(statSync(join(home, ".env")).mode & 0o777).toBe(0o600);
  });

  it("shows the end of a secret that is there, and keeps it when nothing is typed", async () => {
    const home = homeWithVault();
    writeFileSync(join(home, ".env"), `# keys\n${VAULT_VARIABLE}=${SECRET}\n`);
    writeFileSync(join(home, "vault.json"), JSON.stringify({ mode: "cloud", owner: "Grace" }));
    const pty = await startInPty(["memory", "setup", "vault", "--set", "address=elsewhere"], { home });
    await pty.play([
      ["● cloud", KEYS.enter],
      [`Vault token [...${SECRET.slice(-4)}, empty keeps it]`, KEYS.enter],
      ["Grace", KEYS.enter],
      ["It is available.", ""],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).not.toContain("Get it at");
    expect(pty.output()).not.toContain("Address");
    expect(pty.output()).not.toContain(SECRET);
    expect(settingsOf(home)).toEqual({ mode: "cloud", address: "elsewhere", owner: "Grace" });
    expect(readFileSync(join(home, ".env"), "utf8")).toBe(`# keys\n${VAULT_VARIABLE}=${SECRET}\n`);
  });

  it.each([
    ["and Escape in the list", ["memory", "setup"], [["● Built-in only", `${KEYS.up}${KEYS.escape}`]]],
    [
      "while a secret is typed",
      ["memory", "setup", "vault", "--set", "mode=cloud"],
      [["Vault token", `abc${KEYS.interrupt}`]],
    ],
    [
      "at the last question",
      ["memory", "setup", "vault", "--set", "mode=cloud", "--set", `token=${SECRET}`],
      [
        ["Address", KEYS.enter],
        ["Owner", `Ada${KEYS.interrupt}`],
      ],
    ],
  ] as const)("Ctrl-C %s writes nothing", async (_where, args, steps) => {
    const home = homeWithVault();
    const pty = await startInPty(args, { home });
    await pty.play(steps);
    expect(await pty.ended()).toBe(130);
    expect(pty.output()).toContain("Cancelled. No setting was changed.");
    expect(configOf(home)).toBe(CONFIG);
    expect([".env", "vault.json"].filter((file) => existsSync(join(home, file)))).toEqual([]);
  });

  it("asks before it installs, and Ctrl-C stops that too", async () => {
    const home = homeWithVault();
    const directory = writePlugin(home, "needy", {
      "index.mjs": TURNS,
      "plugin.yaml": "npm_dependencies: [needed-thing]\n",
      "bin/npm": '#!/bin/sh\necho $$ > "$(dirname "$0")/pid"\nexec sleep 60\n',
    });
    chmodSync(join(directory, "bin", "npm"), 0o755);
    const env = { PATH: `${join(directory, "bin")}:${process.env.PATH}` };
    const pty = await startInPty(["memory", "setup", "needy"], { home, env });
    await pty.play([
      [": needed-thing", ""],
      ["Install now? [y/N]", `y${KEYS.enter}`],
      ["Installing ...", ""],
    ]);
    const pid = await appears(join(directory, "bin", "pid"));
    pty.send(KEYS.interrupt);
    expect(await pty.ended()).toBe(130);
    expect(configOf(home)).toBe(CONFIG);
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  it("hands the terminal to a provider that asks by itself", async () => {
    const home = homeWithVault();
    writePlugin(home, "own", { "index.mjs": OWN });
    const pty = await startInPty(["memory", "setup", "own", "--set", "colour=blue"], { home });
    await pty.play([
      ["Own setup, colour blue, nudges 7", ""],
      ["Your name?", KEYS.enter],
      ["Your key?", `${SECRET}${KEYS.enter}`],
      ["hermes config set memory.provider own", ""],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).not.toContain(SECRET);
    expect(readFileSync(join(home, "own.txt"), "utf8")).toBe(`nobody ${SECRET}`);
  });

  it("Ctrl-C ends a provider's own setup, even when it catches every error", async () => {
    const home = homeWithVault();
    writePlugin(home, "own", { "index.mjs": OWN });
    const pty = await startInPty(["memory", "setup", "own"], { home });
    await pty.play([["Your name?", KEYS.interrupt]]);
    expect(await pty.ended()).toBe(130);
    expect(pty.output()).toContain("What 'own' had saved by then stays.");
    expect(configOf(home)).toBe(CONFIG);
  });
});

/** The number in the file, as soon as it is there. */
async function appears(path: string): Promise<number> {
  const signal = AbortSignal.timeout(10_000);
  while (!existsSync(path) || readFileSync(path, "utf8") === "") {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return Number(readFileSync(path, "utf8"));
}

const TURNS = `export default class TurnsMemoryProvider {
  name = "turns";
  isAvailable() { return true; }
  initialize() {}
  getToolSchemas() { return []; }
}
`;

const OWN = `import { writeFileSync } from "node:fs";
import { join } from "node:path";
export default class OwnMemoryProvider {
  name = "own";
  isAvailable() { return true; }
  initialize() {}
  getToolSchemas() { return []; }
  async postSetup(home, config, { ask, print, values }) {
    print("Own setup, colour " + values.colour + ", nudges " + config.memory.nudge_interval);
    try {
      const name = await ask("Your name?", { default: "nobody" });
      const key = await ask("Your key?", { secret: true });
      writeFileSync(join(home, "own.txt"), name + " " + key);
    } catch {}
  }
}
`;
