// Puts the fixture into the home folder of a test: `dot-x` becomes `.x`, `x.txt` becomes `x`, and `@NAME@` an invented credential.

import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chance } from "../../../core/test/fakes/credentials.ts";

const FIXTURE = join(import.meta.dirname, "fixture");

/** Put together at run time, so that no scanner finds one in the repository. */
export const SECRETS: Readonly<Record<string, string>> = {
  OPENROUTER: ["sk", "-or-v1-", chance(64)].join(""),
  ANTHROPIC: ["sk", "-ant-", "api03-", chance(80)].join(""),
  OPENAI: ["sk", "-proj-", chance(50)].join(""),
  TELEGRAM: ["7654321", ":", "AA", chance(33)].join(""),
  SLACK: ["xox", "b-", chance(30)].join(""),
  SLACKAPP: ["xapp", "-", chance(30)].join(""),
  DISCORD: ["discord", chance(40)].join(""),
  // Forms that no pattern knows: they are found because OpenClaw keeps them under a secret name.
  DEEPSEEK: "deep-8842-orchard-19",
  STUDIO: "studio-key-3318",
  ELEVEN: "voices-5521-amber",
  MATRIX: "syt-ana-7745-matrix",
  FILES: "files-9921-basalt",
  HOOK: "hooked-7712-cedar",
  GATEWAY: "gate-3141-willow",
  WEATHER: "weather-2718-slate",
};

/** `userHome` gets `.openclaw` and `.agents`. */
export function makeSource(userHome: string): string {
  cpSync(FIXTURE, userHome, { recursive: true });
  convert(userHome);
  return join(userHome, ".openclaw");
}

function convert(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) convert(path);
    else {
      const text = readFileSync(path, "utf8");
      writeFileSync(
        path,
        text.replace(/@([A-Z]+)@/g, (mark, secret: string) => SECRETS[secret] ?? mark),
      );
    }
    renameSync(path, join(folder, name.replace(/^dot-/, ".").replace(/\.txt$/, "")));
  }
}

/** Every file and folder below a folder with its mode and content: equal before and after a command that writes nothing. */
export function treeOf(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (path: string, before: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const name = `${before}${entry.name}`;
      const at = join(path, entry.name);
      if (entry.isDirectory()) {
        found[`${name}/`] = "";
        walk(at, `${name}/`);
      } else if (entry.isFile()) {
        found[name] = createHash("sha256").update(readFileSync(at)).digest("hex");
      } else found[name] = "special";
    }
  };
  walk(folder, "");
  return found;
}
