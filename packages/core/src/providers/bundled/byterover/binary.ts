// Where the `brv` program is. Found once; when it is missing, the disk is asked again from time to time.
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { type Clock, systemClock } from "../../../lib/index.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type BinaryFinderOptions = {
  readonly env: Environment;
  readonly userHome: string;
  /** Outside PATH and the user's home. */
  readonly systemPlaces?: readonly string[];
  /** How long "not found" is believed. */
  readonly recheckMs: number;
  readonly clock?: Clock;
};

export const INSTALL_HINT = "Install: npm install -g byterover-cli";
export const NOT_FOUND = `brv CLI not found. ${INSTALL_HINT}`;

const SYSTEM_PLACES = ["/usr/local/bin/brv"];

export class BinaryFinder {
  readonly #options: BinaryFinderOptions;
  readonly #clock: Clock;
  #found: string | undefined;
  #missingSince: number | undefined;

  constructor(options: BinaryFinderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** From memory where possible. */
  find(): string | undefined {
    if (this.#found !== undefined) return this.#found;
    const elapsed = this.#missingSince === undefined ? undefined : this.#now() - this.#missingSince;
    const isKnownMissing = elapsed !== undefined && elapsed >= 0 && elapsed < this.#options.recheckMs;
    return isKnownMissing ? undefined : this.look();
  }

  /** From the disk, now. */
  look(): string | undefined {
    this.#found = candidates(this.#options).find(isProgram);
    this.#missingSince = this.#found === undefined ? this.#now() : undefined;
    return this.#found;
  }

  /** It could not be started: what we remember is no longer true. */
  forget(): void {
    this.#found = undefined;
    this.#missingSince = undefined;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

/** The process environment for a child, with the program's own directory first: brv starts `brv` itself. */
export function childEnvironment(env: Environment, binaryDirectory: string): Record<string, string> {
  const name = pathVariable(env);
  const path = env[name];
  const entries = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    ...Object.fromEntries(entries),
    [name]: path === undefined || path === "" ? binaryDirectory : `${binaryDirectory}${delimiter}${path}`,
  };
}

function candidates({ env, userHome, systemPlaces = SYSTEM_PLACES }: BinaryFinderOptions): string[] {
  // Relative entries of PATH mean another directory for each working directory; a program of ours never starts from there.
  const fromPath = (env[pathVariable(env)] ?? "").split(delimiter).filter(isAbsolute);
  return [
    ...fromPath.map((directory) => join(directory, "brv")),
    join(userHome, ".brv-cli", "bin", "brv"),
    ...systemPlaces,
    join(userHome, ".npm-global", "bin", "brv"),
  ];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // missing or not ours to run: the next place is asked
  }
}

/** Windows spells it `Path`. */
function pathVariable(env: Environment): string {
  return Object.keys(env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
}
