// Plugins for tests: one with every kind of question, one that writes a file when its code runs, a broken one.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";

export const VAULT_VARIABLE = "VAULT_TOKEN";

/** Keeps notes in a file; its setup asks several questions. */
export function writeVault(home: string): string {
  return writePlugin(home, "vault", {
    "plugin.yaml": 'name: vault\nversion: 1.0.0\ndescription: "Notes in a vault"\n',
    "index.js": VAULT,
  });
}

/** Writes a file as soon as it is imported. */
export function writeTracing(home: string, name = "tracing"): { readonly hasRun: () => boolean } {
  writePlugin(home, name, {
    "index.js": `import { writeFileSync } from "node:fs";
writeFileSync(new URL("./has-run", import.meta.url), "");
export default class TracingMemoryProvider {
  name = "${name}";
  isAvailable() { return true; }
  initialize() {}
  getToolSchemas() { return []; }
}
`,
  });
  return { hasRun: () => existsSync(join(home, "plugins", name, "has-run")) };
}

/** Declares a memory provider, but has a syntax error. */
export function writeBroken(home: string): void {
  writePlugin(home, "broken", {
    "plugin.yaml": "description: [not closed\n",
    "index.js": "// a MemoryProvider\nexport default class {{{\n",
  });
}

const VAULT = `import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export default class VaultMemoryProvider {
  name = "vault";
  #file = "";

  isAvailable() {
    return this.#mode() === "local" || Boolean(process.env.${VAULT_VARIABLE});
  }

  unavailableReason() {
    return "${VAULT_VARIABLE} is not set";
  }

  #mode() {
    const file = join(process.env.HERMES_HOME, "vault.json");
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).mode : "cloud";
  }

  initialize(_session, { hermes_home }) {
    this.#file = join(hermes_home, "vault-notes.json");
  }

  #notes() {
    return existsSync(this.#file) ? JSON.parse(readFileSync(this.#file, "utf8")) : [];
  }

  syncTurn(user, assistant) {
    writeFileSync(this.#file, JSON.stringify([...this.#notes(), user + " / " + assistant]));
  }

  prefetch(query) {
    return this.#notes().filter((note) => note.includes(query)).join("\\n");
  }

  getToolSchemas() {
    return [];
  }

  getConfigSchema() {
    return [
      { key: "mode", description: "Where the vault is", choices: ["local", "cloud"], default: "local" },
      {
        key: "token",
        description: "Vault token",
        secret: true,
        required: true,
        env_var: "${VAULT_VARIABLE}",
        url: "https://vault.example/tokens",
        when: { mode: "cloud" },
      },
      {
        key: "address",
        description: "Address",
        default: "here",
        default_from: { field: "mode", map: { cloud: "https://vault.example" } },
      },
      { key: "owner", description: "Owner", required: true },
    ];
  }

  saveConfig(values, home) {
    writeFileSync(join(home, "vault.json"), JSON.stringify(values));
  }

  selfTest() {
    const before = this.#notes();
    this.syncTurn("probe", "answer");
    const found = this.prefetch("probe");
    writeFileSync(this.#file, JSON.stringify(before));
    if (!found.includes("answer")) throw new Error("the probe was not found again");
    return { steps: [{ name: "write", ms: 1 }, { name: "recall", ms: 2.34 }, { name: "clean up", ms: 1 }] };
  }
}
`;
