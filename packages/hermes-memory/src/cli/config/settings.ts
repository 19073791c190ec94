// The settings that apply, under the names they have in config.yaml, and how they are written on a terminal.
import { CONFIG_KEYS, type HermesConfig } from "@hermes-memory/core/config";
import type { Paint } from "../command.ts";

export type Setting = {
  readonly key: string;
  /** The same in parts: a model's name may hold dots. */
  readonly path: readonly string[];
  readonly value: unknown;
  readonly isDefault: boolean;
  /** Only this program knows the key. */
  readonly isOurs: boolean;
};

/** Every known key with the value it has now. Keys that hold nothing unless somebody sets them appear when set. */
export function effectiveSettings(config: HermesConfig): Setting[] {
  return CONFIG_KEYS.filter(({ kind }) => kind !== "unused").flatMap(
    ({ key, kind, default: standard, isOurs }): Setting[] => {
      const parts = key.split(".");
      const star = parts.indexOf("*");
      const names = star < 0 ? [""] : namesOf(config, parts.slice(0, star));
      return names.flatMap((name): Setting[] => {
        const path = parts.map((part) => (part === "*" ? name : part));
        const explicit = at(config.raw, path);
        const effective = at(
          config,
          path.map((part, index) => (index === star ? part : camel(part))),
        );
        // A section is shown as the file has it: the names in it are the file's, not ours.
        const value = kind === "section" && explicit != null ? explicit : effective;
        if (value === undefined) return [];
        // Set under another name, such as the short form of `model`, is set all the same.
        const isDefault = explicit == null && JSON.stringify(value) === JSON.stringify(standard);
        return [{ key: path.join("."), path, value, isDefault, isOurs }];
      });
    },
  );
}

/** What a `*` stands for. A section that the program holds as a list has its names in the file. */
function namesOf(config: HermesConfig, path: readonly string[]): string[] {
  const held = at(config, path.map(camel));
  return Object.keys(asRecord(Array.isArray(held) ? at(config.raw, path) : held));
}

export function toNested(settings: readonly Setting[]): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const { path, value } of settings) {
    const last = path.at(-1) ?? "";
    let holder = root;
    for (const part of path.slice(0, -1)) {
      if (!Object.hasOwn(holder, part)) holder[part] = {};
      holder = holder[part] as Record<string, unknown>;
    }
    holder[last] = value;
  }
  return root;
}

/** As it could stand in config.yaml. Values that stand there only by default are marked, and keys that only this program knows. */
export function yamlLines(settings: readonly Setting[], paint: Paint): string[] {
  const lines: string[] = [];
  let open: readonly string[] = [];
  for (const { path, value, isDefault, isOurs } of settings) {
    const sections = path.slice(0, -1);
    const shared = sections.findIndex((part, depth) => part !== open[depth]);
    for (let depth = shared === -1 ? sections.length : shared; depth < sections.length; depth += 1)
      lines.push(`${"  ".repeat(depth)}${sections[depth]}:`);
    open = sections;
    const marks = [...(isDefault ? ["default"] : []), ...(isOurs ? ["not in Hermes"] : [])];
    const mark = marks.length === 0 ? "" : paint("dim", `  # ${marks.join(", ")}`);
    lines.push(`${"  ".repeat(sections.length)}${path.at(-1)}: ${yamlScalar(value)}${mark}`);
  }
  return lines;
}

/** A single value on a line of its own: text bare, the rest as YAML's flow style has it. */
export function scalar(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : yamlScalar(value);
}

function yamlScalar(value: unknown): string {
  const isPlain =
    typeof value === "string" &&
    /^[A-Za-z][\w-]*$/.test(value) &&
    !/^(on|off|yes|no|true|false|null|y|n)$/i.test(value);
  return isPlain ? value : (JSON.stringify(value) ?? "null");
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

export function at(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const part of path) {
    const holder = asRecord(current);
    current = Object.hasOwn(holder, part) ? holder[part] : undefined;
  }
  return current;
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
