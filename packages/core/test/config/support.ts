// A home of its own for each test, and a config.yaml in it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type TempHome = {
  readonly home: string;
  readonly configFile: string;
  writeConfig(text: string | Uint8Array): void;
  readConfig(): string;
  [Symbol.dispose](): void;
};

export function tempHome(): TempHome {
  const home = mkdtempSync(join(tmpdir(), "config-"));
  const configFile = join(home, "config.yaml");
  return {
    home,
    configFile,
    writeConfig: (text) => writeFileSync(configFile, text),
    readConfig: () => readFileSync(configFile, "utf8"),
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}
