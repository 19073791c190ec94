// What `hermes memory setup` was asked to do, from its arguments. Pure.
import { nearest } from "@hermes-memory/core/config";
import { CommandFailure, type CommandInput } from "../../command.ts";

export type SetupOrder = {
  /** Undefined: to be chosen. */
  readonly name?: string;
  /** From `--set`; the last one counts. */
  readonly values: ReadonlyMap<string, string>;
  readonly isYes: boolean;
};

/** What the steps of one setup share. */
export type SetupRun = {
  readonly values: ReadonlyMap<string, string>;
  readonly mayAsk: boolean;
  readonly home: string;
};

export function setupOrder({ args, flags }: CommandInput): SetupOrder {
  const pairs = Array.isArray(flags.set) ? (flags.set as readonly string[]) : [];
  return {
    ...(args.provider === undefined ? {} : { name: args.provider }),
    values: new Map(pairs.map(keyAndValue)),
    isYes: flags.yes === true,
  };
}

function keyAndValue(pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (at > 0) return [pair.slice(0, at).trim(), pair.slice(at + 1)];
  // What stands there may be a secret, so it is not repeated.
  throw new CommandFailure("--set needs a key and a value: --set key=value.", {
    exitCode: 2,
    details: { kind: "usage" },
  });
}

/** A key that no field has ends the command before anything is asked or written. */
export function refuseUnknownKeys(values: ReadonlyMap<string, string>, known: readonly string[]): void {
  const unknown = [...values.keys()].filter((key) => !known.includes(key));
  const [first] = unknown;
  if (first === undefined) return;
  const meant = nearest(first, known);
  const list = known.length === 0 ? "It has no settings." : `Its settings are: ${known.join(", ")}.`;
  throw new CommandFailure(`There is no setting '${first}' for this provider.`, {
    exitCode: 2,
    hint: meant === undefined ? list : `Did you mean '${meant}'? ${list}`,
    details: { kind: "unknown-setting", unknown, known, ...(meant === undefined ? {} : { meant }) },
  });
}
