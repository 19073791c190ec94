// The settings of a networked memory as one table: a row says where a value is, what setup asks, and how the value is read. Readers, the
// questions of setup, remarks and saving follow from the rows.
import { HermesError, isAbsent, withoutUndefined } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import {
  readBoolean,
  readNumber,
  readSettings,
  readText,
  writeSettings,
} from "@hermes-memory/core/internal/providers";
import { PROVIDER_MODES } from "../provider-mode.ts";
import { USER_SCOPES } from "./identity.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where settings come from. */
export type Place = { readonly home: string; readonly env: Environment };

export type Values = Readonly<Record<string, unknown>>;

export type Setting<T> = {
  /** In the file, and in setup. */
  readonly key: string;
  /** Other names in the file. */
  readonly also?: readonly string[];
  readonly env?: string;
  /** The file may have it, for setup, and does not count. */
  readonly isEnvOnly?: boolean;
  /** An empty text is a value. */
  readonly keepsEmpty?: boolean;
  /** The question of setup, which does not ask for one without a description. */
  readonly field: ConfigField;
  /** The value for anything that is found; `remark` reports what is not used. */
  readonly read: (value: unknown, remark: (problem: string) => void) => T;
};

type About = Omit<ConfigField, "key" | "type" | "choices"> &
  Pick<Setting<unknown>, "also" | "env" | "isEnvOnly" | "keepsEmpty">;

/** `env_var` is also where it is read. */
export function setting<T>(
  key: string,
  { also, env, isEnvOnly, keepsEmpty, ...asked }: About & Partial<ConfigField>,
  read: Setting<T>["read"],
): Setting<T> {
  return {
    ...{ key, also, env: env ?? asked.env_var, isEnvOnly, keepsEmpty },
    field: withoutUndefined({ ...asked, key }),
    read,
  };
}

export function text(key: string, about: About = {}, standard = about.default ?? ""): Setting<string> {
  return setting(key, about, (value) => readText(value, standard));
}

/** The first choice unless told. */
export function choice<T extends string>(
  key: string,
  choices: readonly T[],
  about: About = {},
  standard = choices[0] as T,
): Setting<T> {
  return setting(key, { ...about, choices, default: standard }, (value, remark) => {
    const word = readText(value, "").toLowerCase();
    const found = choices.find((each) => each === word);
    if (found === undefined && word !== "")
      remark(`'${key}' must be one of ${choices.join(", ")}; '${standard}' is used.`);
    return found ?? standard;
  });
}

export function flag(key: string, standard: boolean, about: About = {}): Setting<boolean> {
  const asked = { type: "boolean", choices: ["true", "false"], default: String(standard) } as const;
  return setting(key, { ...about, ...asked }, (value) => readBoolean(value, standard));
}

type Range = { readonly standard: number; readonly min: number; readonly max: number };

export function number(key: string, range: Range, about: About = {}): Setting<number> {
  return numeric(key, range, { ...about, type: "number" }, (value) => value);
}

export function integer(key: string, range: Range, about: About = {}): Setting<number> {
  return numeric(key, range, { ...about, type: "integer" }, Math.trunc);
}

function numeric(
  key: string,
  { standard, min, max }: Range,
  about: About & Partial<ConfigField>,
  shaped: (value: number) => number,
): Setting<number> {
  const asked = { minimum: min, maximum: max, default: String(standard), ...about };
  return setting(key, asked, (value, remark) => {
    const read = readNumber(value, Number.NaN, { min, max });
    if (Number.isFinite(read)) return shaped(read);
    if (!isAbsent(value)) remark(`'${key}' is not a number; ${standard} is used.`);
    return standard;
  });
}

// ---- Rows of every service ----

export const MODE = choice("mode", PROVIDER_MODES, {
  description: "What the model gets: recall before a turn (context), tools, or both (hybrid)",
});

/** Questions that every service has after its own. */
export const COMMON = {
  userScope: choice("user_scope", USER_SCOPES, {
    description:
      "How users of a gateway are kept apart: by platform and id, by id as in the Python edition, or not at all",
  }),
  isMirroring: flag("mirror_memory", true, {
    description: "Copy entries of MEMORY.md and USER.md to the server",
  }),
  // Also the manager's limit (`memory.recall_max_chars`), which cuts what is left.
  maxChars: integer(
    "max_chars",
    { standard: 16_000, min: 1, max: 100_000 },
    { description: "Longest recall in a turn, in characters" },
  ),
};

// ---- The table ----

export type SettingsTable<S> = {
  /** The questions of setup. */
  readonly fields: readonly ConfigField[];
  /** Also those that setup does not ask for. */
  readonly allFields: readonly ConfigField[];
  /** Unusable values become defaults. Neither throws nor uses the network. */
  readonly read: (place: Place) => S;
  /** Sentences about a file that cannot be read and values that are not used, for log and status. */
  readonly remarks: (place: Place) => readonly string[];
  /** Saves answers of setup that are not secret. Throws `HermesError` when it cannot. */
  readonly save: (values: Readonly<Record<string, string>>, home: string) => void;
  /** The saved answers, by key, as setup shows them: without secrets. */
  readonly saved: (place: Place) => Values;
};

type Rows = Readonly<Record<string, Setting<unknown>>>;
export type ValuesOf<R extends Rows> = { readonly [K in keyof R]: ReturnType<R[K]["read"]> };

export type TableOptions = {
  /** Whether a variable or the file wins where both have a value. */
  readonly wins: "env" | "file";
  /** What the file holds. Default: `<home>/<fileName>`. */
  readonly load?: (place: Place) => { readonly values: Values; readonly problem?: string };
};

export function settingsTable<R extends Rows>(
  fileName: string,
  rows: R,
  { wins, load = ({ home }) => readSettings(home, fileName) }: TableOptions,
): SettingsTable<ValuesOf<R>> {
  const all: readonly Setting<unknown>[] = Object.values(rows);
  const asked = all.filter(({ field }) => field.description !== undefined);
  const fields = asked.map(({ field }) => field);

  const inFile = (values: Values, { key, also = [], keepsEmpty = false }: Setting<unknown>): unknown =>
    [key, ...also]
      .map((name) => values[name])
      .find((value) => !isAbsent(value) || (keepsEmpty && value === ""));
  const inEnv = (env: Environment, row: Setting<unknown>): unknown =>
    row.env === undefined ? undefined : env[row.env] || undefined;
  const given = (values: Values, env: Environment, row: Setting<unknown>): unknown => {
    const found = row.isEnvOnly === true ? undefined : inFile(values, row);
    return wins === "file" ? (found ?? inEnv(env, row)) : (inEnv(env, row) ?? found);
  };
  const parse = (place: Place) => {
    const { values, problem } = load(place);
    const remarks = problem === undefined ? [] : [problem];
    const remark = (sentence: string): void => void remarks.push(sentence);
    const entries = Object.entries(rows).map(
      ([name, row]) => [name, row.read(given(values, place.env, row), remark)] as const,
    );
    return { settings: Object.fromEntries(entries) as ValuesOf<R>, remarks };
  };
  return {
    fields,
    allFields: all.map(({ field }) => field),
    read: (place) => parse(place).settings,
    remarks: (place) => parse(place).remarks,
    save: (values, home) => saveValues(values, fields, { home, fileName }),
    saved: (place) => {
      const { values } = load(place);
      const shown = asked.filter(({ field }) => field.secret !== true);
      const answers = shown.map((row) => {
        // A variable that is only read would be replaced by the default; setup itself looks for a field's own one.
        const isKept = row.field.env_var === undefined && row.field.default !== undefined;
        const value = inFile(values, row) ?? (isKept ? inEnv(place.env, row) : undefined);
        return [row.key, Array.isArray(value) ? value.join(",") : value] as const;
      });
      return Object.fromEntries(answers.filter(([, value]) => !isAbsent(value)));
    },
  };
}

/** Numbers and booleans are saved as such. */
function saveValues(
  values: Readonly<Record<string, string>>,
  fields: readonly ConfigField[],
  { home, fileName }: { readonly home: string; readonly fileName: string },
): void {
  const changes = Object.entries(values).map(
    ([key, answer]) =>
      [
        key,
        typedAnswer(
          fields.find((field) => field.key === key),
          answer,
        ),
      ] as const,
  );
  const written = writeSettings(home, fileName, Object.fromEntries(changes));
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}

export function typedAnswer(field: ConfigField | undefined, answer: string): string | number | boolean {
  if (field?.type === "boolean") return readBoolean(answer, false);
  return field?.type === "number" || field?.type === "integer" ? Number(answer) : answer;
}
