// check: what is wrong in config.yaml, and which keys nobody here reads.
import { resolve } from "node:path";
import { type ConfigIssue, checkConfig, type UnknownKey } from "@hermes-memory/core/config";
import { isFindingId } from "@hermes-memory/core/security";
import type { CommandBody } from "../command.ts";
import { printable } from "../printing.ts";

export const check: CommandBody = async (_input, { home, io }) => {
  const found = await checkConfig(home.home, { isThreatId: isFindingId });
  const problems = found.errors.length + found.warnings.length;
  return {
    json: {
      ok: problems === 0,
      path: resolve(found.path),
      exists: found.exists,
      errors: found.errors,
      warnings: found.warnings,
      unknown_keys: found.unknownKeys,
    },
    lines: [
      ...found.errors.map((issue) => `${io.paint("red", "error")}    ${printable(problem(issue))}`),
      ...found.warnings.map((issue) => `${io.paint("yellow", "warning")}  ${printable(problem(issue))}`),
      ...found.unknownKeys.map((unknown) => `${io.paint("dim", "note")}     ${printable(unread(unknown))}`),
      `${resolve(found.path)}: ${summary(problems, found.exists)}.`,
    ],
    exitCode: problems === 0 ? 0 : 1,
  };
};

export function problem({ key, message, line }: ConfigIssue): string {
  return `${at(line)}${key === "" ? "" : `${key} `}${message}`;
}

export function unread({ key, line, suggestion }: UnknownKey): string {
  const meant = suggestion === undefined ? "" : ` Did you mean '${suggestion}'?`;
  return `${at(line)}${key} is not a key this program reads.${meant}`;
}

function at(line: number | undefined): string {
  return line === undefined ? "" : `line ${line}: `;
}

function summary(problems: number, exists: boolean): string {
  if (!exists) return "not there, so the defaults apply";
  if (problems === 0) return "nothing wrong";
  return problems === 1 ? "1 problem" : `${problems} problems`;
}
