// The layers an agent stands on, of the person it works for: session database, curated memory, external memory.
import { homedir } from "node:os";
import { basename } from "node:path";
import type { MemoryStore } from "@hermes-memory/core/curated";
import { rootOf } from "@hermes-memory/core/home";
import { describeCause, HermesError } from "@hermes-memory/core/lib";
import type { Memory, MemoryUser, Person } from "@hermes-memory/core/memory";
import type { Activation, ActivationRequest } from "@hermes-memory/core/providers";
import type { SessionStore } from "@hermes-memory/core/sessions";
import type { AgentOptions } from "../options.ts";

export type Binding = {
  /** Where the agent works: the source of its sessions. */
  readonly platform: string;
  readonly person: Person;
};

/**
 * `userId`, `user` and a store that is bound to a user are three ways to say the same; none: the owner of the home, who sees every
 * session. Throws `bad-user-id` for an option without a value, and `user-mismatch` where two disagree.
 */
export function bindPerson(options: AgentOptions, memory: Memory, defaultPlatform: string): Binding {
  const given: Partial<MemoryUser> = options.user ?? {};
  const bound = options.store?.user;
  const asUser = "user" in options ? memory.user(keyOf(given.platform, given.userId)) : undefined;
  const asStore = bound && memory.user(keyOf(bound.platform, bound.userId));
  const platform = options.platform ?? asUser?.user?.platform ?? asStore?.user?.platform ?? defaultPlatform;
  const asId = "userId" in options ? memory.user(keyOf(platform, options.userId)) : undefined;
  const [first, ...others] = [...named("userId", asId), ...named("user", asUser), ...named("store", asStore)];
  if (first === undefined) return { platform, person: memory.owner };
  const other = others.find(({ person }) => person !== first.person);
  if (other === undefined) return { platform, person: first.person };
  throw new HermesError("user-mismatch", `The options ${shown(first)} and ${shown(other)} name two users.`, {
    hint: "Pass one of them, or the same user in both.",
  });
}

type Named = { readonly option: string; readonly person: Person };

function named(option: string, person: Person | undefined): Named[] {
  return person === undefined ? [] : [{ option, person }];
}

function shown({ option, person: { user } }: Named): string {
  return `${option} ('${user?.userId}' on ${user?.platform})`;
}

/** `memory.user` refuses values of wrong types that an untyped caller passed. */
function keyOf(platform: string | undefined, id: string | undefined): Parameters<Memory["user"]>[0] {
  return { platform, id } as Parameters<Memory["user"]>[0];
}

export type OpenedStore = {
  /** Undefined: the agent works, and nothing of it is stored. */
  readonly store: SessionStore | undefined;
  /** For a session that goes on, where the database can be read at least. */
  readonly reader?: SessionStore;
  /** With the sessions of all users, for maintenance and counts. Undefined where the caller's store is bound to one. */
  readonly whole?: SessionStore;
};

/** The home closes the stores that are opened here. */
export async function openStore(
  options: AgentOptions,
  person: Person,
  warn: (text: string) => void,
): Promise<OpenedStore> {
  const { store: given } = options;
  if (given !== undefined)
    return {
      store: given ?? undefined,
      ...(given === null || given.user !== undefined ? {} : { whole: given }),
    };
  const everyone = person.memory.everyone();
  try {
    const whole = await everyone.sessions({ mode: "write", create: true });
    const store = await person.sessions({ mode: "write", create: true });
    for (const warning of store.warnings) warn(warning);
    if (!store.readOnly) return { store, whole };
    warn("The session database can only be read, so this conversation is not stored.");
    return { store: undefined, reader: store, whole };
  } catch (cause) {
    warn(
      `The session database cannot be written: ${describeCause(cause)} This conversation is not stored. 'hermes doctor' says more.`,
    );
    if (options.resume === undefined && !options.continueLast) return { store: undefined };
    const reader = await person.sessions({ mode: "read" }).catch(() => undefined);
    if (reader === undefined && options.continueLast)
      warn("The newest conversation cannot be read, so a new one begins.");
    if (reader === undefined) return { store: undefined };
    const whole = await everyone.sessions({ mode: "read" });
    return { store: undefined, reader, ...(whole === undefined ? {} : { whole }) };
  }
}

export async function openCurated(
  person: Person,
  warn: (text: string) => void,
): Promise<MemoryStore | undefined> {
  const store = await person.curated();
  for (const warning of store?.warnings ?? []) warn(warning);
  return store;
}

type ActivationInput = Pick<ActivationRequest, "sessionId" | "log" | "clock" | "onTrouble"> & {
  readonly title: string | null;
  readonly parentId: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
};

export async function activate(
  options: AgentOptions,
  { platform, person }: Binding,
  { title, parentId, env, ...rest }: ActivationInput,
): Promise<Activation> {
  if (options.skipMemory) return { kind: "none" };
  return person.provider.activate({
    ...rest,
    options: {
      platform,
      agent_context: "primary",
      agent_workspace: "hermes",
      ...(title === null ? {} : { session_title: title }),
      ...(options.userName === undefined ? {} : { user_name: options.userName }),
      ...(parentId === undefined ? {} : { parent_session_id: parentId }),
      agent_identity: profileOf(person.memory.home, env).name,
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
