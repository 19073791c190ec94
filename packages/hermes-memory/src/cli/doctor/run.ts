// `hermes doctor`: looks at everything memory rests on and says what to do about what it finds. Changes nothing without --fix.
import { resolve } from "node:path";
import { DEFAULT_MEMORY_CONFIG } from "@hermes-memory/core/config";
import { ifUsable } from "@hermes-memory/core/memory";
import type { CommandBody, CommandContext, Paint, Style } from "../command.ts";
import { isDirectory } from "../inspect-files.ts";
import { counted, printable } from "../printing.ts";
import { checkClients, type Fixed, fixClients } from "./clients.ts";
import { type Finding, guarded } from "./finding.ts";
import { checkDisk, checkHome, checkModes, checkProfile } from "./home.ts";
import { checkJournals, checkPins } from "./journal.ts";
import { checkPending, checkTemps } from "./leftovers.ts";
import { checkLocks } from "./locks.ts";
import { checkBackups, checkMemoryFiles, checkUserScopes } from "./memory.ts";
import type { Patient } from "./patient.ts";
import { checkProvider } from "./providers.ts";
import { checkNode, checkSqlite } from "./runtime.ts";
import { checkSkills } from "./second-gate.ts";
import { checkSessions } from "./sessions.ts";
import { checkEnvFile, checkSettings } from "./settings.ts";

export const doctor: CommandBody = async ({ flags }, context) => {
  const patient = await patientOf(context);
  const repair = flags.fix === true ? fixClients(patient) : undefined;
  const findings = [...(repair?.findings ?? []), ...(await examine(patient))];
  const failed = findings.filter(({ status }) => status === "fail").length;
  return {
    json: { ok: failed === 0, ...(repair && { fixed: repair.fixed }), findings },
    lines: [
      ...(repair?.fixed ?? []).flatMap(told),
      ...findings.flatMap((finding) => render(finding, context.io.paint)),
      "",
      summary(findings),
    ],
    exitCode: failed === 0 ? 0 : 1,
  };
};

async function patientOf({ home, io, memory }: CommandContext): Promise<Patient> {
  return {
    memory,
    home: memory.home,
    root: resolve(home.root),
    config: (await ifUsable(memory.memoryConfig())) ?? DEFAULT_MEMORY_CONFIG, // the settings check tells what is wrong with it
    env: io.env,
  };
}

async function examine(patient: Patient): Promise<Finding[]> {
  const checks = [
    ["node", checkNode],
    ["sqlite", checkSqlite],
    ["profile", checkProfile],
    ["home", checkHome],
    ["disk", checkDisk],
    ["config", checkSettings],
    ["clients", checkClients],
    ...(isDirectory(patient.home) ? INSIDE : []), // without a home there is nothing to look into
  ] as const;
  const findings: Finding[] = [];
  for (const [name, check] of checks) findings.push(...(await guarded(name, () => check(patient))));
  return findings;
}

const INSIDE = [
  ["env-file", checkEnvFile],
  ["modes", checkModes],
  ["memory-file", checkMemoryFiles],
  ["user-scopes", checkUserScopes],
  ["locks", checkLocks],
  ["backups", checkBackups],
  ["journal", checkJournals],
  ["pins", checkPins],
  ["pending", checkPending],
  ["temp-files", checkTemps],
  ["skills", checkSkills],
  ["sessions", checkSessions],
  ["provider", checkProvider],
] as const;

const MARKS: Record<Finding["status"], readonly [Style, string]> = {
  ok: ["green", "ok  "],
  warn: ["yellow", "warn"],
  fail: ["red", "FAIL"],
};

function told({ path, names, backup }: Fixed): string[] {
  const entries = names.map((name) => `'${name}'`).join(", ");
  const lines = [`Rewrote ${entries} in ${printable(path)}.`];
  return backup === null ? lines : [...lines, `Backup: ${printable(backup)}`];
}

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
