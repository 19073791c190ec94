// Flags as the bodies of these commands read them.
import type { CommandInput } from "../command.ts";

export function textFlag({ flags }: CommandInput, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

export function numberFlag({ flags }: CommandInput, name: string, standard: number): number {
  const value = flags[name];
  return typeof value === "number" ? value : standard;
}

/** `{ source }` when one was named. */
export function sourceFlag(input: CommandInput): { readonly source?: string } {
  const source = textFlag(input, "source");
  return source === undefined ? {} : { source };
}
