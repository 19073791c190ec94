// The model of a conversation: chosen by flags, environment and config, or handed in as an object.
import type { HermesConfig } from "@hermes-memory/core/config";
import { err, HermesError, ok, type Result } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import {
  auxiliaryModel,
  type ChatModel,
  chooseModel,
  fromSdkModel,
  type MainModel,
  type ModelIdentity,
  type ModelSelection,
  openModel,
  resolveContextWindow,
  TokenCalibration,
} from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
import type { AgentOptions } from "../options.ts";
import type { SessionProblem } from "../surface.ts";

type Setting = {
  readonly home: string;
  readonly config: HermesConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
};

export async function openMainModel(
  options: AgentOptions,
  { config, env, log }: Setting,
): Promise<MainModel> {
  const given = options.model;
  if (given !== undefined) return { model: isChatModel(given) ? given : await fromSdkModel(given, { log }) };
  const chosen = chooseModel({ flags: options.selection, env, config });
  if (!chosen.ok)
    throw new HermesError(`model-${chosen.error.kind.replaceAll("_", "-")}`, chosen.error.message, {
      hint: chosen.error.hint,
    });
  return { model: await openModel(chosen.value, { log }), chosen: chosen.value };
}

/** Another model from the next turn on. The prompt is built again, with the memory the session began with. */
export async function switchModel(
  core: AgentCore,
  selection: ModelSelection,
): Promise<Result<ModelIdentity, SessionProblem>> {
  const { config, env, log, home, engine, prompt, totals, store } = core.parts;
  // A name alone means the server that is in use, whatever config says: the conversation must not go elsewhere by accident.
  const wanted = {
    model: selection.model ?? core.model.identity.model,
    provider: selection.provider ?? "",
    baseUrl: selection.baseUrl ?? "",
    apiKey: selection.apiKey ?? "",
    ...(selection.apiMode === undefined ? {} : { apiMode: selection.apiMode }),
  };
  const found = await auxiliaryModel(
    wanted,
    { model: core.model, chosen: core.chosen },
    { env, config, log },
  );
  if (!found.ok) return err({ kind: "refused", message: `${found.error.message} ${found.error.hint}` });
  core.model = found.value.model;
  core.chosen = found.value.chosen;
  core.calibration = TokenCalibration.open(home, core.model.identity);
  core.lastSent = undefined;
  core.mostTaken = 0;
  core.windowBefore = undefined;
  core.withoutReasoningIn = undefined;
  const { model, provider, baseUrl } = core.model.identity;
  const apiKey = core.chosen?.apiKey ?? "";
  core.window = await resolveContextWindow({ model, provider, baseUrl, apiKey }, { home, config });
  engine.updateModel?.({ model, contextLength: core.window.tokens, provider, baseUrl });
  prompt.dropKeepingMemory();
  totals.forgetPrices();
  await store?.updateSessionModel(core.sessionId, model).catch((cause: unknown) => {
    log.warn("The new model could not be noted in the session", { cause });
  });
  return ok(core.model.identity);
}

function isChatModel(model: ChatModel | object): model is ChatModel {
  return "identity" in model && "stream" in model && typeof model.stream === "function";
}
