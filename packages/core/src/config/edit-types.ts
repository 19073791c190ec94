// Answers of `hermes config get`, `set`, `unset` and `check`.
import type { ConfigIssue } from "./config-error.ts";

export type ConfigValue =
  | { readonly source: "file" | "default"; readonly key: string; readonly value: unknown }
  | { readonly source: "unset"; readonly key: string };

export type ConfigChange = {
  /** The file. */
  readonly path: string;
  readonly key: string;
  /** Absent after `unset`. */
  readonly value?: unknown;
  /** Absent when the key was not set before. */
  readonly previous?: unknown;
  readonly changed: boolean;
  /** Something the user should know, such as that nothing here reads the key. */
  readonly note?: string;
};

export type UnknownKey = { readonly key: string; readonly line?: number; readonly suggestion?: string };

export type ConfigCheck = {
  readonly path: string;
  readonly exists: boolean;
  /** What keeps the file from being used. */
  readonly errors: readonly ConfigIssue[];
  /** What works, but probably not as it was meant. */
  readonly warnings: readonly ConfigIssue[];
  readonly unknownKeys: readonly UnknownKey[];
};

export type CheckOptions = { readonly isThreatId?: (id: string) => boolean };
