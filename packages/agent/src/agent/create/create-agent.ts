// Puts an agent together from a home: config, model, database, memory, provider, engine, tools. Without a model there is no
// agent; everything else may be missing, and then the user is told.
import { homedir } from "node:os";
import { resolve } from "node:path";
import { mcpServerRemarks, useEnvFile } from "@hermes-memory/core/config";
import { ensureHome, sessionFiles } from "@hermes-memory/core/home";
import { systemClock } from "@hermes-memory/core/lib";
import { silentLogger } from "@hermes-memory/core/lib/logger";
import { openMemory } from "@hermes-memory/core/memory";
import { contextDirectory } from "@hermes-memory/core/prompt";
import { maintainSessions, newHolder } from "@hermes-memory/core/sessions";
import { buildSkillsIndex } from "@hermes-memory/core/skills";
import { ToolTable } from "@hermes-memory/core/tools";
import { TokenCalibration } from "../../models/index.ts";
import { Agent } from "../agent.ts";
import { AgentCore } from "../core.ts";
import { Nudges } from "../nudges.ts";
import type { AgentOptions } from "../options.ts";
import { Reviewer } from "../review/reviewer.ts";
import { PromptKeeper } from "../session/prompt-keeper.ts";
import { Totals } from "../session/totals.ts";
import { givenMessages, Transcript } from "../session/transcript.ts";

import { TodoStore } from "../tools/todo.ts";
import { titleAfterTurn } from "./after-turn.ts";
import { openAuxiliaries } from "./auxiliaries.ts";
import { GuardedEngine } from "./guarded-engine.ts";
import { openEngine } from "./open-engine.ts";
import { activate, bindPerson, openCurated, openStore, profileOf } from "./open-layers.ts";
import { openMainModel, switchModel } from "./open-model.ts";
import { chooseSession } from "./open-session.ts";
import { openTools } from "./open-tools.ts";
import { childSpawner } from "./spawn-child.ts";

/**
 * Rejects with a `HermesError` when there is no model to talk to, the config cannot be read, the session to resume is not there, or
 * the options name no user or two.
 */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  const home = resolve(options.home);
  const { log = silentLogger, clock = systemClock } = options;
  const nowSeconds = clock.now().getTime() / 1000;
  const history = givenMessages("history", options.history ?? [], nowSeconds);
  const prefill = givenMessages("prefillMessages", options.prefillMessages ?? [], nowSeconds);
  const warnings: string[] = [];
  const warn = (text: string): void => {
    warnings.push(text);
    log.warn(text);
  };
  ensureHome(home);
  if (options.env === undefined) useEnvFile(home);
  const env = options.env ?? process.env;
  await using cleanup = new AsyncDisposableStack(); // what is open when something below fails is closed again
  const opened = cleanup.use(
    openMemory({
      home,
      log,
      clock,
      env,
      ...(options.config === undefined ? {} : { config: options.config }),
    }),
  );
  const config = await opened.config();
  for (const { key, message } of mcpServerRemarks(config)) warn(`${key} in config.yaml ${message}`);
  const binding = bindPerson(options, opened, env.HERMES_SESSION_SOURCE || "cli");
  const { platform, person } = binding;
  const { user } = person;
  const main = await openMainModel(options, { home, config, env, log });
  const auxiliaries = await openAuxiliaries(main, { home, config, env, log, warn, live: () => core });

  const { store, reader, whole } = await openStore(options, person, warn);
  const session = await chooseSession({ store: store ?? reader, whole }, options, { ...binding, clock });

  const memory = options.skipMemory ? undefined : await openCurated(person, warn);
  // Until there is somebody who listens. The manager has put it into the log, and tells of it once.
  let tellTrouble = (text: string): void => void warnings.push(text);
  const activation = await activate(options, binding, {
    sessionId: session.id,
    title: session.title,
    parentId: session.parentId,
    env,
    log,
    clock,
    onTrouble: (text) => tellTrouble(text),
  });
  const manager = activation.kind === "active" ? activation.manager : undefined;
  if (activation.kind === "unavailable")
    warn(`The memory provider '${activation.name}' is not used: ${activation.reason}`);

  const selected = await openEngine({
    home,
    config,
    main,
    auxiliaries,
    store,
    sessionId: session.id,
    user,
    tokenFactor: () => core.tokenFactor,
    log,
    warn,
  });
  const engine = selected.source === "plugin" ? new GuardedEngine(selected.engine, log) : selected.engine;
  const skills = await person.skills({ platform });
  const transcript = new Transcript(session.id, store, (cause) => core.noteStoreTrouble(cause));
  transcript.adopt(session.id, session.messages ?? history);
  const todo = new TodoStore();
  const prompt = new PromptKeeper({
    home,
    config,
    env,
    clock,
    log,
    profile: profileOf(home, env),
    platform,
    platformHint: options.platformHint,
    directory: contextDirectory({ session: options.cwd, env, launch: process.cwd(), userHome: homedir() }),
    skipContextFiles: options.skipContextFiles ?? false,
    systemMessage: options.systemMessage,
    passSessionId: options.passSessionId ?? false,
    memory,
    manager,
    store,
    tools: () => core.table.names,
    skillsIndex: () =>
      buildSkillsIndex(skills, {
        available: {
          tools: core.table.names,
          toolsets: core.table.tools.map(({ policy }) => policy.toolset),
        },
      }),
    model: () => core.model.identity,
    warn: (cause, text) => core.notice("warn", cause, text),
  });
  const core = new AgentCore(
    {
      home,
      config,
      env,
      clock,
      log,
      platform,
      person,
      user,
      cwd: options.cwd ?? process.cwd(),
      maxTurns: options.maxTurns ?? config.agent.maxTurns,
      delegateFrom: options.delegatedBy?.sessionId,
      ephemeral: options.ephemeralSystemPrompt,
      prefill,
      holder: newHolder(),
      waitForRetry: options.waitForRetry,
      hooks: options.hooks ?? {},
      store,
      wholeStore: store && whole,
      memory,
      manager,
      engine,
      todo,
      transcript,
      prompt,
      totals: new Totals(config.models.prices),
      nudges: new Nudges({
        memoryInterval: config.memory.nudgeInterval,
        skillInterval: config.skills.creationNudgeInterval,
      }),
    },
    {
      model: main.model,
      window: selected.window,
      table: new ToolTable([]),
      calibration: TokenCalibration.open(home, main.model.identity),
    },
  );
  core.chosen = main.chosen;
  core.parentSessionId = session.parentId ?? options.delegatedBy?.sessionId;
  if (session.messages !== undefined) core.noteRow(session.id);
  if (options.onEvent !== undefined) core.listen(options.onEvent);
  tellTrouble = (text) => core.emit({ type: "notice", level: "warn", cause: "provider-trouble", text });
  const spawn = childSpawner(core, options, createAgent);
  const tools = await openTools(core, options, { selected, auxiliaries, skills, spawn, warn });
  cleanup.defer(() => tools.close());
  core.table = tools.table;
  await startEngine(core);
  if (whole !== undefined && !whole.readOnly && options.delegatedBy === undefined)
    void maintainSessions(whole, config.sessions, sessionFiles(home)).then(({ problems }) => {
      for (const problem of problems) log.warn(`Tidying up sessions: ${problem}`);
    });
  const owned = cleanup.move();
  const closing = new AbortController();
  const reviewer = new Reviewer(core, tools.reviewTools);
  if (options.review ?? !options.skipMemory) core.startReview = (turn, due) => reviewer.start(turn, due);
  return new Agent(core, {
    warnings,
    engineCommands: selected.commands,
    skills,
    openModel: (selection) => switchModel(core, selection),
    afterTurn: async (result) => {
      if (options.titles !== false) await titleAfterTurn(core, auxiliaries.title, result, closing.signal);
      await reviewer.idle;
    },
    stopBackground: async () => {
      closing.abort();
      await reviewer.stop();
    },
    close: () => owned.disposeAsync(),
  });
}

async function startEngine(core: AgentCore): Promise<void> {
  const { engine, home, platform, log } = core.parts;
  try {
    await engine.onSessionStart?.(core.sessionId, {
      hermesHome: home,
      platform,
      model: core.model.identity.model,
      contextLength: core.window.tokens,
    });
  } catch (cause) {
    log.warn("The context engine failed at the start of the session", { cause });
  }
}
