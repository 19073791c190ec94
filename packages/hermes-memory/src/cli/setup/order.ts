// What `hermes setup` was told, from its flags. Pure.
import { err, ok, pyStrip, type Result } from "@hermes-memory/core/lib";
import { CommandFailure, type CommandInput } from "../command.ts";
import { wantedFlags } from "../model/set.ts";
import type { WantedModel } from "../model/settings-plan.ts";

export type SetupOrder = Omit<WantedModel, "model" | "apiKey"> & {
  readonly model?: string | undefined;
  readonly isLocal: boolean;
  readonly keyFrom:
    | { readonly kind: "nowhere" }
    | { readonly kind: "variable"; readonly name: string }
    | { readonly kind: "input" };
  readonly isYes: boolean;
  readonly wantsTest: boolean;
};

export function setupOrder(input: CommandInput): SetupOrder {
  const { flags } = input;
  const variable = textOf(flags["key-env"]);
  if (variable !== undefined && flags["key-stdin"] === true)
    throw usage(
      "The key comes from a variable (--key-env) or from standard input (--key-stdin), not from both.",
    );
  const wanted = wantedFlags(input);
  if (flags.local === true && wanted.baseUrl !== undefined)
    throw usage("--local looks for a server itself; leave it out where --base-url says where it is.");
  return {
    ...wanted,
    model: textOf(flags.model),
    isLocal: flags.local === true,
    keyFrom:
      variable !== undefined
        ? { kind: "variable", name: variable }
        : { kind: flags["key-stdin"] === true ? "input" : "nowhere" },
    isYes: flags.yes === true,
    wantsTest: flags["no-test"] !== true,
  };
}

/** A key as it is kept. Reads on after `The key`; never repeats it. */
export function checkedKey(text: string): Result<string, string> {
  const key = pyStrip(text);
  if (key === "") return err("is empty");
  // It travels in a header, where nothing else is allowed.
  return /^[\x21-\x7e]+$/.test(key)
    ? ok(key)
    : err("has a space, a line break or another character no key has");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function usage(message: string): CommandFailure {
  return new CommandFailure(message, { exitCode: 2, details: { kind: "usage" } });
}
