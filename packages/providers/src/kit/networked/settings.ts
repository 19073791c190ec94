// Settings that every networked memory has, and how its `<home>/<name>.json` is read and written. Where a service has a variable for a
// setting, its own file decides which of the two wins.
import { HermesError, isAbsent } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { readBoolean, readNumber, readSettings, writeSettings } from "@hermes-memory/core/internal/providers";
import { PROVIDER_MODES, parseMode } from "../provider-mode.ts";
import { parseUserScope, USER_SCOPES } from "./identity.ts";
import type { CommonSettings, Place } from "./service.ts";

/** Also the manager's limit (`memory.recall_max_chars`), which cuts what is left. */
const DEFAULT_MAX_CHARS = 16_000;

export const MODE_FIELD: ConfigField = {
  key: "mode",
  description: "What the model gets: recall before a turn (context), tools, or both (hybrid)",
  choices: PROVIDER_MODES,
  default: "hybrid",
};

/** Questions that every service has after its own. */
export const COMMON_FIELDS: readonly ConfigField[] = [
  {
    key: "user_scope",
    description:
      "How users of a gateway are kept apart: by platform and id, by id as in the Python edition, or not at all",
    choices: USER_SCOPES,
    default: "platform",
  },
  {
    key: "mirror_memory",
    description: "Copy entries of MEMORY.md and USER.md to the server",
    type: "boolean",
    choices: ["true", "false"],
    default: "true",
  },
  {
    key: "max_chars",
    description: "Longest recall in a turn, in characters",
    type: "integer",
    minimum: 1,
    maximum: 100_000,
    default: String(DEFAULT_MAX_CHARS),
  },
];

export function readCommon(values: Readonly<Record<string, unknown>>): CommonSettings {
  return {
    mode: parseMode(values.mode),
    userScope: parseUserScope(values.user_scope),
    isMirroring: readBoolean(values.mirror_memory, true),
    maxChars: readNumber(values.max_chars, DEFAULT_MAX_CHARS, { min: 1, max: 100_000 }),
  };
}

/** The values of `<home>/<name>.json` that are neither null nor "". */
export function fileValues({ home }: Place, fileName: string): Readonly<Record<string, unknown>> {
  const { values } = readSettings(home, fileName);
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isAbsent(value)));
}

export function fileRemarks({ home }: Place, fileName: string): readonly string[] {
  const { problem } = readSettings(home, fileName);
  return problem === undefined ? [] : [problem];
}

/** For `saveSettings` of a service. Numbers and booleans are saved as such. */
export function saveValues(
  values: Readonly<Record<string, string>>,
  fields: readonly ConfigField[],
  { home, fileName }: { readonly home: string; readonly fileName: string },
): void {
  const changes = Object.entries(values).map(([key, text]) => {
    const type = fields.find((field) => field.key === key)?.type ?? "text";
    if (type === "boolean") return [key, readBoolean(text, false)] as const;
    if (type === "number" || type === "integer") return [key, Number(text)] as const;
    return [key, text] as const;
  });
  const written = writeSettings(home, fileName, Object.fromEntries(changes));
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}
