// Puts an agent together from a home, layer by layer: config, model, database, memory, provider, engine, session, tools. Without a
// model there is no agent; every other layer may be missing, and then the user gets a warning.
import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { mcpServerRemarks, useEnvFile } from "@hermes-memory/core/internal/config";
import type { MemoryStore } from "@hermes-memory/core/internal/curated";
import { ensureHome, rootOf, sessionFiles } from "@hermes-memory/core/internal/home";
import {
  describeCause,
  groupThousands,
  HermesError,
  isRecord,
  systemClock,
  withoutUndefined,
} from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { type Home, type MemoryUser, openHome, type Person } from "@hermes-memory/core/internal/memory";
import type { Message } from "@hermes-memory/core/internal/message";
import { contextDirectory } from "@hermes-memory/core/internal/prompt";
import type { MemoryManager } from "@hermes-memory/core/internal/providers";
import {
  type HomeStore,
  maintainSessions,
  newHolder,
  type SessionStore,
  WITHOUT_USER,
} from "@hermes-memory/core/internal/sessions";
import { type ChatModel, chooseModel, fromSdkModel, type MainModel, openModel } from "../../models/index.ts";
import { Reviewer, ReviewSchedule } from "../../review/index.ts";
import { Agent } from "../agent.ts";
import type { AgentOptions } from "../agent-options.ts";
import { AgentEvents } from "../events.ts";
import { ModelInUse } from "../model-in-use.ts";
import type { AgentParts } from "../parts.ts";
import { forkForReview } from "../review-fork.ts";
import { chooseSession, type StartingSession } from "../session/choose-session.ts";
import { Session } from "../session/session.ts";
import { SessionPrompt } from "../session/session-prompt.ts";
import { givenMessages } from "../session/transcript.ts";
import { SessionTitles } from "../session-titles.ts";
import { TodoStore } from "../tools/todo.ts";
import { badOption, checkOptions } from "./check-options.ts";
import { openEngine } from "./open-engine.ts";
import { mirrorWrite, openTools } from "./open-tools.ts";
import { openSideModels } from "./side-models.ts";

/**
 * Rejects with a `HermesError` when an option is unknown or wrong (`bad-option`), there is no model to talk to, the config cannot be
 * read, the session to resume is not there, or the options name no user or two.
 */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  checkOptions(options);
  await using cleanup = new AsyncDisposableStack(); // when a later step fails, everything opened so far is closed again
  const basics = await openBasics(options, cleanup);
  const { home, config, log } = basics;

  const model = await ModelInUse.open(await chooseMainModel(basics), {
    home,
    config,
    contextLength: options.contextLength,
  });
  if (model.window.source === "default") warnOfGuess(basics, model);
  const sideModels = await openSideModels(model, basics);
  const { store, reader, whole } = await openStore(basics);
  const start = await chooseSession({ store: store ?? reader, whole }, options, basics);

  const events = new AgentEvents(log);
  if (options.onEvent !== undefined) events.listen(options.onEvent);
  const memory = options.skipMemory ? undefined : await openCurated(basics);
  let isStarting = true;
  const manager = await openProvider(basics, start, (text) => {
    // The manager logs it as well.
    if (isStarting) basics.warnings.push(text);
    else events.emit({ type: "notice", level: "warn", cause: "provider-trouble", text });
  });
  if (manager !== undefined) cleanup.defer(() => basics.person.provider.deactivate(manager));
  const { selected, engine } = await openEngine({
    ...basics,
    model,
    summaries: sideModels.summaries,
    store,
    sessionId: start.id,
    given: options.contextEngine,
  });
  const skills = await basics.person.skills({ platform: basics.platform });
  const session = makeSession(basics, start, { store, model, engine, manager, memory, skills, events });
  isStarting = false;

  const shared = {
    ...basics,
    session,
    store,
    model,
    manager,
    memory,
    skills,
    todo: new TodoStore(),
    events,
    waiting: { turn: undefined },
  };
  const tools = await openTools({ ...shared, selected, recapModel: sideModels.sessionSearch, createAgent });
  cleanup.defer(() => tools.close());
  await session.tellStart();
  if (whole !== undefined && !whole.readOnly && options.delegatedBy === undefined)
    void maintainSessions(
      whole,
      { ...config.sessions, turnDays: config.gateway.recallTraceDays },
      sessionFiles(home),
    ).then(({ problems }) => {
      for (const problem of problems) log.warn(`Tidying up sessions: ${problem}`);
    });

  const loop = {
    ...shared,
    engine,
    tools: tools.table,
    reviewSchedule: new ReviewSchedule({
      memoryInterval: config.memory.nudgeInterval,
      skillInterval: config.skills.creationNudgeInterval,
    }),
    hooks: options.hooks ?? {},
    waitForRetry: options.waitForRetry,
    // The reference has no word for programs, and readers take any.
    closeReason: options.administrator || basics.platform === "cli" ? "cli_close" : "agent_close",
  };
  const { display } = config;
  const notifications =
    display.platforms[basics.platform]?.memoryNotifications ?? display.memoryNotifications;
  const reviewer =
    options.review && !options.skipMemory
      ? new Reviewer({ ...loop, notifications, countersStore: store && whole })
      : undefined;
  const timeoutMs = config.auxiliary.titleGeneration.timeout * 1000;
  const titles =
    store === undefined || !options.titles
      ? undefined
      : new SessionTitles({ store, model: sideModels.title, timeoutMs, events, log });
  // A home of its own is closed by the agent; the caller's memory closes the agent first.
  const guest = { [Symbol.asyncDispose]: () => agent.close() };
  if (options.memory !== undefined) cleanup.defer(options.memory.layers.memory.closeFirst(guest));
  const owned = cleanup.move();
  const agent: Agent = new Agent({
    ...loop,
    engineCommands: selected.commands,
    startReview:
      reviewer &&
      ((answered, scope) =>
        reviewer.start(scope, (signal) =>
          forkForReview(loop, { answered, scope, tools: tools.reviewTools, signal }),
        )),
    mirrorWrite: (write, source) => mirrorWrite(shared, write, source),
    background: { titles, reviewer },
    close: () => owned.disposeAsync(),
  });
  return agent;
}

/** Known before any layer is opened. */
type Basics = Pick<AgentParts, "home" | "platform" | "config" | "env" | "user" | "log" | "clock" | "warn"> & {
  readonly person: Person;
  readonly options: AgentOptions;
  readonly maxTurns: number;
  /** Messages of the caller, checked. */
  readonly history: readonly Message[];
  readonly prefill: readonly Message[];
  readonly warnings: string[];
};

async function openBasics(options: AgentOptions, cleanup: AsyncDisposableStack): Promise<Basics> {
  const { log = silentLogger, memory } = options;
  const given = memory?.layers;
  const home = given?.memory.home ?? resolve(options.home ?? "");
  const clock = options.clock ?? given?.memory.clock ?? systemClock;
  const nowSeconds = clock.now().getTime() / 1000;
  const history = givenMessages("history", options.history ?? [], nowSeconds);
  const prefill = givenMessages("prefillMessages", options.prefillMessages ?? [], nowSeconds);
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
    log.warn(text);
  };
  const opened =
    given?.memory ??
    openHome({ home: options.home ?? "", log, clock, env: options.env, config: options.config });
  if (given === undefined) cleanup.use(opened); // the caller's memory stays open
  const person = bindPerson(options, opened);
  ensureHome(home);
  if (options.env === undefined) useEnvFile(home);
  const env = options.env ?? process.env;
  const config = options.config ?? (await opened.config());
  for (const { key, message } of mcpServerRemarks(config)) warn(`${key} in config.yaml ${message}`);
  const { user } = person;
  const platform =
    options.platform ??
    user?.platform ??
    (env.HERMES_SESSION_SOURCE || (options.administrator ? "cli" : LIBRARY));
  const maxTurns = options.maxTurns ?? config.agent.maxTurns;
  const who = { platform, person, user };
  return { ...who, options, home, config, env, maxTurns, history, prefill, log, clock, warnings, warn };
}

/** Where the program shows the answers is unknown, so the prompt gives no hint about it. */
const LIBRARY = "library";

type SessionLayers = Pick<
  AgentParts,
  "store" | "model" | "engine" | "manager" | "events" | "memory" | "skills"
>;

function makeSession(basics: Basics, start: StartingSession, layers: SessionLayers): Session {
  const { options, home, config, env } = basics;
  const { cwd, delegatedBy } = options;
  const prompt = new SessionPrompt({
    ...basics,
    ...layers,
    profile: basics.user === undefined ? profileOf(home, env) : undefined,
    platformHint: options.platformHint,
    directory: contextDirectory({ session: cwd, env, launch: process.cwd(), userHome: homedir() }),
    skipContextFiles: !options.contextFiles,
    // A child gets its whole task from its parent, which has the identity.
    loadSoulIdentity: delegatedBy === undefined,
    identity: options.identity,
    systemMessage: options.instructions,
    passSessionId: options.passSessionId ?? false,
  });
  const row = {
    cwd: options.contextFiles ? (cwd ?? process.cwd()) : cwd,
    maxTurns: basics.maxTurns,
    maxOutputTokens: config.agent.maxOutputTokens,
    delegatedFrom: delegatedBy?.sessionId,
  };
  const ephemeral = options.ephemeralSystemPrompt;
  return new Session(
    { ...basics, ...layers, holder: newHolder(), row, ephemeral, prompt },
    {
      id: start.id,
      // A chat that `memory.context` has begun has a session, and nothing was said in it yet.
      messages: start.messages?.length ? start.messages : basics.history,
      parentId: start.parentId ?? delegatedBy?.sessionId,
      hasRow: start.messages !== undefined,
    },
  );
}

// The model.

/** The model object of the caller, or the one that options, environment and config choose. */
async function chooseMainModel({ options, config, env, log }: Basics): Promise<MainModel> {
  const given = options.model;
  if (given !== undefined) return { model: isChatModel(given) ? given : await fromSdkModel(given, { log }) };
  const chosen = chooseModel({ flags: options.selection, env, config });
  if (!chosen.ok)
    throw new HermesError(`model-${chosen.error.kind.replaceAll("_", "-")}`, chosen.error.message, {
      hint: chosen.error.hint,
    });
  return { model: await openModel(chosen.value, { log }), chosen: chosen.value };
}

/** `hermes chat` shows where the figure comes from. */
function warnOfGuess({ options, warn }: Basics, { identity, window }: ModelInUse): void {
  if (options.administrator || options.delegatedBy !== undefined) return;
  warn(
    `The window of '${identity.model}' is not known; ${groupThousands(window.tokens)} tokens are assumed. Pass contextLength, or set model.context_length.`,
  );
}

function isChatModel(model: ChatModel | object): model is ChatModel {
  return isRecord(model) && "identity" in model && typeof model.stream === "function";
}

// The person the agent works for, and their layers: session database, curated memory, external memory.

/**
 * The person that `memory` or `user` names, the owner, or the administrator. Throws `bad-user-id` for a user without a value, and
 * `user-mismatch` or `bad-option` where two options disagree.
 */
function bindPerson(options: AgentOptions, home: Home): Person {
  const { memory, store } = options;
  const asUser = "user" in options ? home.user(keyOf(options.user)) : undefined;
  const person = memory?.layers ?? asUser ?? (options.administrator ? home.administrator : home.owner);
  if (asUser !== undefined && asUser !== person) throw mismatch("user", asUser.user, person);
  if (options.home !== undefined && resolve(options.home) !== home.home)
    throw badOption(
      `The memory belongs to ${home.home}, and home is ${resolve(options.home)}.`,
      "Leave home out: the memory has its own.",
    );
  if (store !== undefined && store !== null && !(isRecord(store) && typeof store.location === "string"))
    throw badOption(
      "The option store is no session store.",
      "Pass what openSessionStore gives, or null to store nothing.",
    );
  if (store && !("forUser" in store) && !isDeepStrictEqual(store.scope, person.scope))
    throw mismatch("store", store.user, person);
  return person;
}

function mismatch(option: string, other: MemoryUser | undefined, person: Person): HermesError {
  const { administrator } = person.memory;
  const shown = (who: MemoryUser | undefined): string =>
    who === undefined ? "the owner of the home" : `'${who.userId}' on ${who.platform}`;
  return new HermesError(
    "user-mismatch",
    `The agent works for ${person === administrator ? "the administrator" : shown(person.user)}, and the option ${option} names ${shown(other)}.`,
    { hint: `Leave ${option} out, or pass the same person's.` },
  );
}

/** `home.user` refuses values of wrong types that an untyped caller passed. */
function keyOf(given: AgentOptions["user"]): Parameters<Home["user"]>[0] {
  const user: Readonly<Record<string, unknown>> = isRecord(given) ? given : {};
  if ("userId" in user)
    throw badOption("The option user has no field 'userId'.", "Pass user: { platform, id }.");
  return { platform: user.platform, id: user.id } as Parameters<Home["user"]>[0];
}

type OpenedStore = {
  /** Undefined: the agent works and stores nothing. */
  readonly store: SessionStore | undefined;
  /** For resuming a session, where the database can only be read. */
  readonly reader?: SessionStore;
  /** With the sessions of all users, for maintenance and counters. Undefined where the caller's store is bound to one user. */
  readonly whole?: HomeStore;
};

/** The home closes the stores that are opened here. */
async function openStore({ options, person, warn }: Basics): Promise<OpenedStore> {
  const { store: given } = options;
  if (given === null) return { store: undefined };
  if (given !== undefined) {
    if (!("forUser" in given)) return { store: given };
    const isForAll = person === person.memory.administrator;
    return { store: isForAll ? given : given.forUser(person.user ?? WITHOUT_USER), whole: given };
  }
  const everyone = person.memory.administrator;
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
    return { store: undefined, reader, whole };
  }
}

async function openCurated({ person, warn }: Basics): Promise<MemoryStore | undefined> {
  const store = await person.curated();
  for (const warning of store?.warnings ?? []) warn(warning);
  return store;
}

async function openProvider(
  { options, platform, person, home, env, log, clock, warn }: Basics,
  session: StartingSession,
  onTrouble: (text: string) => void,
): Promise<MemoryManager | undefined> {
  const { provider, chat = {} } = options;
  if (options.skipMemory || provider === false) return undefined;
  const activation = await person.provider.activate({
    provider,
    sessionId: session.id,
    log,
    clock,
    onTrouble,
    options: {
      platform,
      agent_context: "primary",
      agent_workspace: "hermes",
      // Providers get these as an object of their own and may look at its keys.
      ...withoutUndefined({
        session_title: session.title ?? undefined,
        user_name: chat.userName,
        user_id_alt: chat.userIdAlt,
        chat_id: chat.id ?? options.chatId,
        chat_name: chat.name,
        chat_type: chat.type,
        thread_id: chat.threadId,
        gateway_session_key: chat.gatewaySessionKey,
        parent_session_id: session.parentId,
      }),
      agent_identity: profileOf(home, env).name,
    },
  });
  if (activation.kind === "unavailable")
    warn(`The memory provider '${activation.name}' is not used: ${activation.reason}`);
  return activation.kind === "active" ? activation.manager : undefined;
}

function profileOf(
  home: string,
  env: AgentOptions["env"] = {},
): { readonly name: string; readonly root: string } {
  const root = rootOf(home, { env, platform: process.platform, userHome: homedir() });
  return { name: root === home ? "default" : basename(home), root };
}
