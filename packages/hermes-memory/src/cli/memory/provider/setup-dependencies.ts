// The first step of setup: what the plugin needs beside its own files. Packages are installed when somebody agreed,
// programs are only looked for.
import {
  checkExternal,
  type FoundProvider,
  installPackages,
  missingPackages,
} from "@hermes-memory/core/providers";
import { Cancelled, type CommandContext } from "../../command.ts";
import { counted, printable } from "../../printing.ts";

export type Dependencies = {
  readonly installed: readonly string[];
  /** Packages that are not there and were not installed. */
  readonly missing: readonly string[];
  /** For the Python edition; not ours to install. */
  readonly python: readonly string[];
  readonly external: readonly {
    readonly name: string;
    readonly present: boolean | null;
    readonly install: string;
  }[];
};

export type Consent = "ask" | "yes" | "no";

/** Tells on stderr what it finds. Throws `Cancelled`. */
export async function settleDependencies(
  found: FoundProvider,
  consent: Consent,
  { io }: CommandContext,
): Promise<Dependencies> {
  const tell = (text: string): void => io.note(`${printable(text)}\n`);
  const wanted = missingPackages(found);
  const isInstalled = wanted.length > 0 && (await settlePackages(found, wanted, consent, io, tell));
  const python = found.manifest.pipDependencies;
  if (python.length > 0) tell(`For the Python edition, not installed here: ${python.join(", ")}`);
  const external: Dependencies["external"][number][] = [];
  for (const dependency of found.manifest.externalDependencies) {
    const { name, install } = dependency;
    const check = await checkExternal(dependency);
    if (check.kind === "missing") {
      tell(`${name} is missing: ${check.reason}.`);
      if (install !== "") tell(`  Install it with: ${install}`);
    }
    external.push({ name, present: check.kind === "unchecked" ? null : check.kind === "present", install });
  }
  return { installed: isInstalled ? wanted : [], missing: isInstalled ? [] : wanted, python, external };
}

async function settlePackages(
  found: FoundProvider,
  specs: readonly string[],
  consent: Consent,
  io: CommandContext["io"],
  tell: (text: string) => void,
): Promise<boolean> {
  const packages = counted(specs.length, "npm package");
  tell(`'${found.name}' needs ${packages} in ${found.directory ?? "its directory"}: ${specs.join(", ")}`);
  if (consent === "no") tell("Nothing is installed without --yes.");
  const isAgreed =
    consent === "yes" || (consent === "ask" && (await io.confirm("Install now?", { short: true })));
  if (!isAgreed) return false;
  tell("Installing ...");
  const outcome = await io.untilInterrupted((signal) => installPackages(found, specs, { signal }));
  if (outcome.ok) return true;
  if (outcome.error.kind === "stopped") throw new Cancelled("interrupt");
  tell(outcome.error.message);
  return false;
}
