// The layers an agent stands on: config, session database, curated memory, external memory, skills.
import { homedir } from "node:os";
import { basename } from "node:path";
import { type HermesConfig, loadConfig } from "@hermes-memory/core/config";
import { MemoryStore, type MemoryUser, storeOptionsFrom } from "@hermes-memory/core/curated";
import {
  memoriesDirectory,
  rootOf,
  sessionDatabasePath,
  userMemoriesDirectory,
} from "@hermes-memory/core/home";
import { type Clock, describeCause, HermesError } from "@hermes-memory/core/lib";
import { type Activation, activateProvider } from "@hermes-memory/core/providers";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/sessions";
import { SkillStore, skillOptionsFrom } from "@hermes-memory/core/skills";
import type { AgentOptions } from "../options.ts";

export async function readConfig(home: string): Promise<HermesConfig> {
  const loaded = await loadConfig(home);
  if (loaded.ok) return loaded.value;
  throw new HermesError("config", loaded.error.message, {
    hint: `The file is ${loaded.error.path}; 'hermes config check' lists everything that is wrong with it.`,
  });
}

export type OpenedStore = {
  /** Undefined: the agent works, and nothing of it is stored. */
  readonly store: SessionStore | undefined;
  /** For a session that goes on, where the database can be read at least. Whoever opened it closes it. */
  readonly reader?: SessionStore;
};

export async function openStore(
  options: AgentOptions,
  home: string,
  warn: (text: string) => void,
): Promise<OpenedStore> {
  if (options.store !== undefined) return { store: options.store ?? undefined };
  const path = sessionDatabasePath(home);
  try {
    const store = await openSessionStore({ path });
    for (const warning of store.warnings) warn(warning);
    if (!store.readOnly) return { store };
    warn("The session database can only be read, so this conversation is not stored.");
    return { store: undefined, reader: store };
  } catch (cause) {
    warn(
      `The session database cannot be written: ${describeCause(cause)} This conversation is not stored. 'hermes doctor' says more.`,
    );
    if (options.resume === undefined && !options.continueLast) return { store: undefined };
    const reader = await openSessionStore({ path, readOnly: true }).catch(() => undefined);
    if (reader === undefined && options.continueLast)
      warn("The newest conversation cannot be read, so a new one begins.");
    return { store: undefined, ...(reader === undefined ? {} : { reader }) };
  }
}

export async function openMemory(
  user: MemoryUser | undefined,
  home: string,
  { memory }: HermesConfig,
  warn: (text: string) => void,
): Promise<MemoryStore | undefined> {
  if (!memory.memoryEnabled && !memory.userProfileEnabled) return undefined;
  const dir = user ? userMemoriesDirectory(home, user.platform, user.userId) : memoriesDirectory(home);
  const store = new MemoryStore(storeOptionsFrom(memory, dir));
  const loaded = await store.load();
  if (!loaded.ok) {
    warn(`Memory is not used: ${loaded.error.message}`);
    return undefined;
  }
  for (const warning of store.warnings) warn(warning);
  return store;
}

type ActivationInput = Pick<
  Parameters<typeof activateProvider>[0],
  "home" | "sessionId" | "log" | "clock" | "onTrouble"
> & {
  readonly config: HermesConfig;
  readonly platform: string;
  readonly user: MemoryUser | undefined;
  readonly title: string | null;
  readonly parentId: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
};

export async function activate(options: AgentOptions, input: ActivationInput): Promise<Activation> {
  if (options.skipMemory) return { kind: "none" };
  const { config, platform, user, title, parentId, env, ...rest } = input;
  return activateProvider({
    ...rest,
    config: config.memory,
    options: {
      platform: user?.platform ?? platform, // an id means nothing without the platform it belongs to
      agent_context: "primary",
      agent_workspace: "hermes",
      ...(title === null ? {} : { session_title: title }),
      ...(user === undefined ? {} : { user_id: user.userId }),
      ...(options.userName === undefined ? {} : { user_name: options.userName }),
      ...(parentId === undefined ? {} : { parent_session_id: parentId }),
      agent_identity: profileOf(input.home, env).name,
    },
  });
}

export function profileOf(
  home: string,
  env: AgentOptions["env"] = {},
): { readonly name: string; readonly root: string } {
  const root = rootOf(home, { env, platform: process.platform, userHome: homedir() });
  return { name: root === home ? "default" : basename(home), root };
}

export function openSkills(
  home: string,
  { skills }: HermesConfig,
  place: { readonly platform: string; readonly env: NonNullable<AgentOptions["env"]>; readonly clock: Clock },
): SkillStore {
  return new SkillStore({ home, ...skillOptionsFrom(skills), ...place });
}
