// config.yaml and .env.
import { checkConfig, configPath, envFilePath, readEnvFile } from "@hermes-memory/core/config";
import { isFindingId } from "@hermes-memory/core/security";
import { problem, unread } from "../config/check.ts";
import { statOf } from "../inspect-files.ts";
import { counted } from "../printing.ts";
import { type Finding, fail, fine, quoted, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";

export async function checkSettings({ home }: Patient): Promise<Finding[]> {
  const { exists, errors, warnings, unknownKeys } = await checkConfig(home, { isThreatId: isFindingId });
  if (!exists) return [fine("config", "There is no config.yaml; the defaults apply.")];
  const remedy = `Edit ${configPath(home)}; 'hermes config check' looks again.`;
  const findings = [
    ...errors.map((issue) => fail("config", `config.yaml: ${problem(issue)}.`, remedy)),
    ...warnings.map((issue) => warn("config", `config.yaml: ${problem(issue)}.`, remedy)),
    ...unknownKeys
      .filter(({ suggestion }) => suggestion !== undefined) // others belong to programs that share the file
      .map((unknown) => warn("config", `config.yaml: ${unread(unknown)}`, remedy)),
  ];
  return findings.length > 0 ? findings : [fine("config", "config.yaml has no mistakes.")];
}

export function checkEnvFile({ home }: Patient): Finding[] {
  const path = envFilePath(home);
  const stats = statOf(path);
  if (stats === undefined) return [];
  const file = readEnvFile(path);
  if (!file.ok) return [fail("env-file", file.error.message, "Make it a text file that your user can read.")];
  const findings: Finding[] = [];
  const mode = stats.mode & 0o777;
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    const message = `Other users may read the secrets in ${path} (mode ${mode.toString(8)}).`;
    findings.push(warn("env-file", message, `chmod 600 ${quoted(path)}`));
  }
  const { malformedLines } = file.value;
  if (malformedLines.length > 0) {
    const lines = `${malformedLines.length === 1 ? "line" : "lines"} ${malformedLines.join(", ")}`;
    findings.push(warn("env-file", `.env: ${lines} cannot be read as NAME=value.`, `Edit ${path}.`));
  }
  const names = counted(file.value.values.size, "variable");
  return findings.length > 0 ? findings : [fine("env-file", `.env is private and holds ${names}.`)];
}
