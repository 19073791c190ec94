// The questions of a provider's setup. A plugin gives them as it likes; what comes out here can be relied on.
import { err, isRecord, ok, pyStrip, type Result } from "../../lib/index.ts";
import type { ConfigField, MemoryProvider } from "../contract.ts";
import { describeForeign } from "../discovery/foreign-code.ts";
import { readBoolean } from "../kit/values.ts";

export type ReadFields = {
  readonly fields: readonly ConfigField[];
  /** About fields that were left out or repaired. */
  readonly warnings: readonly string[];
};

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Never throws. A provider without a schema has no fields. */
export function fieldsOf(provider: MemoryProvider): ReadFields {
  try {
    return readFields(provider.getConfigSchema?.() ?? []);
  } catch (cause) {
    return none(`getConfigSchema() failed: ${describeForeign(cause)}. Nothing is asked.`);
  }
}

export function readFields(schema: unknown): ReadFields {
  if (!Array.isArray(schema)) return none("The setup schema is no list of fields. Nothing is asked.");
  const fields: ConfigField[] = [];
  const warnings: string[] = [];
  for (const [index, item] of schema.entries()) {
    const field = readField(item);
    const isTwice = field.ok && fields.some(({ key }) => key === field.value.field.key);
    if (!field.ok) warnings.push(`Field ${index + 1} of the setup schema is left out: ${field.error}.`);
    else if (isTwice)
      warnings.push(`Field ${index + 1} of the setup schema is left out: its key is there already.`);
    else {
      fields.push(field.value.field);
      warnings.push(...field.value.warnings);
    }
  }
  return { fields, warnings };
}

type OneField = { readonly field: ConfigField; readonly warnings: readonly string[] };

function readField(item: unknown): Result<OneField, string> {
  if (!isRecord(item)) return err("it is no object");
  const key = scalar(item.key);
  if (key === undefined || key === "") return err("it has no key");
  const isSecret = readBoolean(item.secret, Boolean(item.secret)); // in doubt it is kept like a secret
  const choices = Array.isArray(item.choices) ? item.choices.flatMap((choice) => scalar(choice) ?? []) : [];
  const variable = scalar(item.env_var);
  const isVariable = variable !== undefined && VARIABLE_NAME.test(variable);
  const isUnusable = variable !== undefined && variable !== "" && !isVariable;
  const field: ConfigField = {
    key,
    ...(isSecret ? { secret: true } : {}),
    ...(readBoolean(item.required, false) ? { required: true } : {}),
    ...(choices.length > 0 && !isSecret ? { choices } : {}),
    ...(isVariable ? { env_var: variable } : {}),
    ...optional("description", scalar(item.description)),
    ...optional("default", scalar(item.default)),
    ...optional("url", scalar(item.url)),
    ...optional("when", scalars(item.when)),
    ...optional("default_from", defaultFrom(item.default_from)),
  };
  const warning = `The field '${key}' names the variable '${variable}', which no environment can have; the name is not used.`;
  return ok({ field, warnings: isUnusable ? [warning] : [] });
}

function defaultFrom(value: unknown): ConfigField["default_from"] {
  if (!isRecord(value)) return undefined;
  const field = scalar(value.field);
  const map = scalars(value.map);
  return field === undefined || map === undefined ? undefined : { field, map };
}

/** Answers are texts, so what they are compared with becomes text as well: `when: { auto: true }`. */
function scalar(value: unknown): string | undefined {
  if (typeof value === "string") return pyStrip(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

function scalars(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).flatMap(([key, item]): [string, string][] => {
    const text = scalar(item);
    return text === undefined ? [] : [[key, text]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

function none(warning: string): ReadFields {
  return { fields: [], warnings: [warning] };
}
