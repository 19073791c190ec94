// `hermes doctor`: runs every check and says what to do about each finding. Changes nothing without --fix.
import { resolve } from "node:path";
import { DEFAULT_MEMORY_CONFIG } from "@hermes-memory/core/internal/config";
import { ifUsable } from "@hermes-memory/core/internal/memory";
import type { CommandBody, CommandContext, Paint, Style } from "../command.ts";
import { isDirectory } from "../inspect-files.ts";
import { counted, printable } from "../printing.ts";
import { render as renderJson } from "../render.ts";
import { type CheckedHome, type Finding, guarded } from "./finding.ts";

type Check = (checked: CheckedHome) => Promise<readonly Finding[]> | readonly Finding[];

// Each check loads its own file, so that a file that cannot be loaded is one failed finding and the other checks still run.
const home = () => import("./home-checks.ts");
const files = () => import("./memory-checks.ts");

const ALWAYS: readonly (readonly [name: string, load: () => Promise<Check>])[] = [
  ["node", async () => (await home()).checkNode],
  ["sqlite", async () => (await home()).checkSqlite],
  ["profile", async () => (await home()).checkProfile],
  ["home", async () => (await home()).checkHome],
  ["disk", async () => (await home()).checkDisk],
  ["config", async () => (await home()).checkSettings],
  ["clients", async () => (await import("./client-checks.ts")).checkClients],
];

/** Only where the home directory exists. */
const INSIDE_HOME: typeof ALWAYS = [
  ["env-file", async () => (await home()).checkEnvFile],
  ["modes", async () => (await home()).checkModes],
  ["gateway", async () => (await home()).checkLocalToken],
  ["memory-file", async () => (await files()).checkMemoryFiles],
  ["user-scopes", async () => (await files()).checkUserScopes],
  ["locks", async () => (await files()).checkLocks],
  ["journal", async () => (await files()).checkJournals],
  ["pins", async () => (await files()).checkPins],
  ["pending", async () => (await files()).checkPending],
  ["temp-files", async () => (await files()).checkTemps],
  ["skills", async () => (await import("./memory-checks.ts")).checkSkills],
  ["sessions", async () => (await import("./session-checks.ts")).checkSessions],
  ["provider", async () => (await home()).checkProvider],
  ["outbox", async () => (await home()).checkOutbox],
];

/** Only with --network, and where the home directory exists. */
const NETWORK: typeof ALWAYS = [["connection", async () => (await home()).checkService]];

export const doctor: CommandBody = async ({ flags }, context) => {
  const checked = await checkedHome(context);
  const repair = flags.fix === true ? (await import("./client-checks.ts")).fixClients(checked) : undefined;
  const findings = [...(repair?.findings ?? [])];
  const inside = isDirectory(checked.home)
    ? [...INSIDE_HOME, ...(flags.network === true ? NETWORK : [])]
    : [];
  for (const [name, load] of [...ALWAYS, ...inside])
    findings.push(...(await guarded(name, async () => (await load())(checked))));
  if (flags.network === true) context.io.endWithoutWaiting(); // code of a plugin may have run
  const failed = findings.filter(({ status }) => status === "fail").length;
  return {
    json: { ok: failed === 0, fixed: repair?.fixed, findings },
    lines: [
      ...(repair?.fixed.length ? renderJson({ fixed: repair.fixed }, context.io.paint) : []),
      ...findings.flatMap((finding) => render(finding, context.io.paint)),
      "",
      summary(findings),
    ],
    exitCode: failed === 0 ? 0 : 1,
  };
};

async function checkedHome({ home: selected, io, memory }: CommandContext): Promise<CheckedHome> {
  return {
    memory,
    home: memory.home,
    root: resolve(selected.root),
    config: (await ifUsable(memory.memoryConfig())) ?? DEFAULT_MEMORY_CONFIG, // checkSettings reports a broken config.yaml
    env: io.env,
  };
}

const MARKS: Record<Finding["status"], readonly [Style, string]> = {
  ok: ["green", "ok  "],
  warn: ["yellow", "warn"],
  fail: ["red", "FAIL"],
};

function render({ check, status, message, remedy }: Finding, paint: Paint): string[] {
  const [style, mark] = MARKS[status];
  const line = `${paint(style, mark)}  ${check.padEnd(12)} ${printable(message)}`;
  return remedy === undefined ? [line] : [line, `${" ".repeat(19)}-> ${printable(remedy)}`];
}

function summary(findings: readonly Finding[]): string {
  const failed = findings.filter(({ status }) => status === "fail").length;
  const warned = findings.filter(({ status }) => status === "warn").length;
  const parts = [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(warned > 0 ? [counted(warned, "warning")] : []),
  ];
  return `${counted(findings.length, "finding")}: ${parts.length > 0 ? parts.join(", ") : "all is well"}.`;
}
