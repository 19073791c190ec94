// What setup did, for the person and for programs.
import { groupThousands } from "@hermes-memory/core/lib";
import type { CommandOutcome, Terminal } from "../command.ts";
import { identityJson, modelText, type Resolved } from "../model/resolution.ts";
import type { SavedSettings } from "../model/save.ts";
import type { CallReport } from "../model/trial.ts";
import { oneLine, printable } from "../printing.ts";

export type SavedSetup = {
  readonly settings: SavedSettings;
  readonly resolved: Resolved;
  /** The key that was written to .env. */
  readonly variable?: { readonly name: string; readonly path: string };
  readonly notes: readonly string[];
};

export type SetupTest =
  | { readonly kind: "skipped" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "worked"; readonly report: CallReport }
  | { readonly kind: "failed"; readonly reason: string; readonly failureKind: string };

const NEXT = [
  "Next: 'hermes chat' starts a conversation. 'hermes model' shows these settings, 'hermes model set' changes the model.",
];
const AGAIN = "What was set up stays. 'hermes model test' tries again; 'hermes setup' changes it.";

export function setupOutcome(saved: SavedSetup, test: SetupTest, io: Terminal): CommandOutcome {
  const { settings, resolved, variable } = saved;
  const { written, removed, path } = settings;
  return {
    json: {
      success: test.kind !== "failed" && test.kind !== "interrupted",
      ...identityJson(resolved.identity),
      has_key: resolved.hasKey,
      key_source: resolved.hasKey ? resolved.chosen.keySource : null,
      key_saved_as: variable?.name ?? null,
      written,
      removed,
      path,
      test: testJson(test),
    },
    lines: [
      ...(variable === undefined ? [] : [row("key", printable(`${variable.name} in ${variable.path}`))]),
      ...(written.length === 0 ? [] : [row("config", printable(`${written.join(", ")} in ${path}`))]),
      ...(removed.length === 0 ? [] : [row("removed", `${removed.join(", ")}: about another model`)]),
      row("model", modelText(resolved.identity)),
      ...testLines(test, io),
    ],
    notes: [
      ...saved.notes.map(printable),
      ...(test.kind === "failed" ? [`${io.paint("red", "error:")} ${printable(test.reason)}`, AGAIN] : []),
    ],
    exitCode: test.kind === "failed" ? 1 : test.kind === "interrupted" ? 130 : 0,
  };
}

function testLines(test: SetupTest, io: Terminal): string[] {
  switch (test.kind) {
    case "skipped":
      return [row("test", "not tried; 'hermes model test' does"), ...NEXT];
    case "interrupted":
      return [row("test", "interrupted; what was set up stays")];
    case "failed":
      return [row("test", io.paint("yellow", "failed"))];
    case "worked": {
      const { text, totalMs } = test.report;
      const said = text.trim() === "" ? "it answers" : `it answers "${oneLine(text.trim(), 40)}"`;
      return [row("test", io.paint("green", `${said}, after ${groupThousands(totalMs)} ms`)), ...NEXT];
    }
    default:
      return test satisfies never;
  }
}

function testJson(test: SetupTest): object {
  switch (test.kind) {
    case "worked": {
      const { firstMs, totalMs, text } = test.report;
      return { outcome: "worked", first_token_ms: firstMs ?? null, total_ms: totalMs, text };
    }
    case "failed":
      return { outcome: "failed", kind: test.failureKind, error: test.reason };
    default:
      return { outcome: test.kind };
  }
}

function row(name: string, text: string): string {
  return `${name.padEnd(8)} ${text}`;
}
