// What can be migrated: the ids of the options in the order in which they run, the presets, and which options a command selects.
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";

type Option = { readonly label: string; readonly description: string };

/** In the order in which they run. */
export const OPTIONS = {
  soul: { label: "SOUL.md", description: "The agent's identity" },
  "workspace-agents": { label: "AGENTS.md", description: "Workspace instructions, into --workspace-target" },
  memory: { label: "MEMORY.md", description: "Long-term memory, as entries" },
  "user-profile": { label: "USER.md", description: "Facts about the user, as entries" },
  "secret-settings": {
    label: "Telegram token",
    description: "TELEGRAM_BOT_TOKEN, only with --migrate-secrets",
  },
  "provider-keys": { label: "API keys", description: "Keys of model providers, only with --migrate-secrets" },
  "model-config": { label: "Default model", description: "agents.defaults.model, into config.yaml" },
  skills: { label: "Workspace skills", description: "Skills of the workspace" },
  "shared-skills": {
    label: "Shared skills",
    description: "Skills of the state folder, of ~/.agents and of projects",
  },
  "daily-memory": { label: "Daily notes", description: "memory/*.md of the workspace, as entries" },
  sessions: { label: "Conversations", description: "Transcripts of every agent" },
  archive: {
    label: "Archive",
    description: "The config and everything without a place in Hermes, for review",
  },
  "agent-config": { label: "Agent defaults", description: "Turns, compaction, time zone, into config.yaml" },
  "session-config": { label: "Session reset", description: "session.reset, into config.yaml" },
  "full-providers": { label: "Own model servers", description: "models.providers, into custom_providers" },
} as const satisfies Record<string, Option>;

/** Options of Hermes' own migration that only archive a part of OpenClaw: they stand for `archive`. */
const PARTS_OF_ARCHIVE = [
  "messaging-settings discord-settings slack-settings whatsapp-settings signal-settings tts-config",
  "command-allowlist tts-assets mcp-servers plugins-config cron-jobs hooks-config gateway-config deep-channels",
  "browser-config tools-config approvals-config memory-backend skills-config ui-identity logging-config",
].flatMap((ids) => ids.split(" "));

export type OptionId = keyof typeof OPTIONS;

export const OPTION_IDS = Object.keys(OPTIONS).filter(isOptionId);

const SECRET_OPTIONS: readonly OptionId[] = ["secret-settings", "provider-keys"];

export const PRESETS = {
  "user-data": OPTION_IDS.filter((id) => !SECRET_OPTIONS.includes(id)),
  full: OPTION_IDS,
} as const satisfies Record<string, readonly OptionId[]>;

export type Selection = {
  readonly preset: keyof typeof PRESETS | null;
  readonly selected: ReadonlySet<OptionId>;
  /** Names that were given and stand for `archive`. */
  readonly partsOfArchive: readonly string[];
};

type Asked = {
  readonly preset?: keyof typeof PRESETS;
  /** Each may name several ids, separated by commas. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
};

/** A preset decides alone; without one, `include` does, and without that everything is selected. `exclude` is subtracted last. */
export function selectOptions({ preset, include = [], exclude = [] }: Asked): Result<Selection, string> {
  const [included, excluded] = [idsIn(include).map(wholeOption), idsIn(exclude).map(wholeOption)];
  const unknown = [...included, ...excluded].filter((id) => id !== "all" && !isOptionId(id));
  if (unknown.length > 0) {
    const named = [...new Set(unknown)].map((id) => `'${id}'`).join(", ");
    return err(`There is no option ${named}. The options are: all, ${OPTION_IDS.join(", ")}.`);
  }
  const isAll = included.length === 0 || included.includes("all");
  const wanted =
    preset === undefined ? OPTION_IDS.filter((id) => isAll || included.includes(id)) : PRESETS[preset];
  const selected = new Set(wanted.filter((id) => !excluded.includes("all") && !excluded.includes(id)));
  const partsOfArchive = idsIn([...include, ...exclude]).filter((id) => wholeOption(id) !== id);
  return ok({ preset: preset ?? null, selected, partsOfArchive });
}

function idsIn(lists: readonly string[]): string[] {
  const ids = lists.flatMap((list) => list.split(",")).map((id) => id.trim().toLowerCase());
  return ids.filter((id) => id !== "");
}

function wholeOption(id: string): string {
  return PARTS_OF_ARCHIVE.includes(id) ? "archive" : id;
}

function isOptionId(id: string): id is OptionId {
  return Object.hasOwn(OPTIONS, id);
}
