// What a check found. Findings name files and numbers, never what is written in them.
import { describeCause } from "@hermes-memory/core/lib";

export type Finding = {
  readonly check: string;
  readonly status: "ok" | "warn" | "fail";
  readonly message: string;
  readonly remedy?: string;
};

export function fine(check: string, message: string): Finding {
  return { check, status: "ok", message };
}

export function warn(check: string, message: string, remedy: string): Finding {
  return { check, status: "warn", message, remedy };
}

export function fail(check: string, message: string, remedy: string): Finding {
  return { check, status: "fail", message, remedy };
}

/** A check that cannot even look is a finding too; the others go on. */
export async function guarded(
  check: string,
  look: () => Promise<readonly Finding[]> | readonly Finding[],
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (cause) {
    const remedy = "Check owner and permissions of the home and what is in it.";
    return [fail(check, `This could not be checked: ${describeCause(cause)}.`, remedy)];
  }
}

/** A path as a shell takes it. */
export function quoted(path: string): string {
  return /^[\w./:@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** `4.1 kB`; in steps of 1024, as the limits in config.yaml are. */
export function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = size < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(size) / 10));
  return `${step === 0 ? size : (size / 1024 ** step).toFixed(1)} ${units[step]}`;
}
