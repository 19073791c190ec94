// Which model does a task besides the conversation: the conversation's own, or the one that config names.
import type { AuxiliaryModel, HermesConfig } from "@hermes-memory/core/internal/config";
import { ok, type Result, type TextModel } from "@hermes-memory/core/internal/lib";
import { type OpenModelOptions, openModel } from "../access/open-model.ts";
import { type ChatModel, toTextModel } from "../chat.ts";
import { type ChosenModel, chooseModel, type ModelChoiceError } from "./choose-model.ts";
import { vendorOf, withProviderInFront } from "./providers.ts";

/** The model that the conversation uses. */
export type MainModel = {
  readonly model: ChatModel;
  /** Absent for a model object that a program passed in. */
  readonly chosen?: ChosenModel | undefined;
};

export type AuxiliarySources = OpenModelOptions & {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Pick<HermesConfig, "model" | "models">;
};

/** A section of config `auxiliary`. */
export type AuxiliaryTask = Pick<AuxiliaryModel, "provider" | "model" | "baseUrl" | "apiKey"> & {
  readonly apiMode?: string;
  readonly extraBody?: AuxiliaryModel["extraBody"];
};

/** The main model, unless config names another one for the task. Never a model that neither the user nor config named. */
export async function auxiliaryModel(
  task: AuxiliaryTask,
  main: MainModel,
  sources: AuxiliarySources,
): Promise<Result<MainModel, ModelChoiceError>> {
  const { env, config, log, fetch } = sources;
  const { chosen } = main;
  const wanted = wantedModel(task, main);
  const extraBody = { ...sources.extraBody, ...task.extraBody };
  // Extra keys cannot be added to a model object that a program passed in.
  if (wanted === "main" && (chosen === undefined || Object.keys(extraBody).length === 0)) return ok(main);
  const found =
    wanted === "other" || chosen === undefined
      ? chooseModel({ flags: task, env, config })
      : ok(wanted === "main" ? chosen : { ...chosen, model: withoutFront(task.model.trim(), chosen) });
  return openChosen(found, { extraBody, log, fetch });
}

/** A model's name alone means the main model's server, unless it is clearly another vendor's. Provider `main` always means that server. */
function wantedModel(task: AuxiliaryTask, { chosen }: MainModel): "main" | "same server" | "other" {
  const provider = task.provider.trim().toLowerCase();
  const model = task.model.trim();
  if (provider === "main") return model === "" || chosen === undefined ? "main" : "same server";
  const isOpen = (provider === "" || provider === "auto") && task.baseUrl.trim() === "";
  if (isOpen && model === "") return "main";
  if (!isOpen || chosen === undefined) return "other";
  const front = withProviderInFront(model);
  const isGateway = chosen.provider === "openrouter" && front?.separator !== ":";
  const vendor = isGateway ? undefined : (front?.provider ?? vendorOf(model));
  return vendor === undefined || vendor.name === chosen.provider ? "same server" : "other";
}

function withoutFront(model: string, { provider }: ChosenModel): string {
  const front = withProviderInFront(model);
  return front?.provider.name === provider && provider !== "openrouter" ? front.model : model;
}

/** The model config names for the curator, or else the one of conversations. Without one the curator works by fixed rules. */
export async function curatorModel(
  config: HermesConfig,
  env: AuxiliarySources["env"],
): Promise<Result<TextModel, ModelChoiceError>> {
  const task = curatorTask(config);
  const isNamed =
    task.model !== "" || task.baseUrl !== "" || !["", "auto"].includes(task.provider.toLowerCase());
  const main = chooseModel({ env, config });
  if (!main.ok && !isNamed) return main;
  const found = main.ok
    ? await auxiliaryModel(task, { model: await openModel(main.value), chosen: main.value }, { env, config })
    : await openChosen(chooseModel({ flags: task, env, config }), { extraBody: task.extraBody });
  const timeoutMs = config.auxiliary.curator.timeout * 1000;
  return found.ok ? ok(toTextModel(found.value.model, { timeoutMs })) : found;
}

async function openChosen(
  chosen: Result<ChosenModel, ModelChoiceError>,
  options: OpenModelOptions,
): Promise<Result<MainModel, ModelChoiceError>> {
  return chosen.ok ? ok({ model: await openModel(chosen.value, options), chosen: chosen.value }) : chosen;
}

/** Older config files name the model in `curator.auxiliary`. */
function curatorTask({ auxiliary, raw }: HermesConfig): AuxiliaryTask {
  const { curator } = auxiliary;
  const isSet = curator.model !== "" || !["", "auto"].includes(curator.provider.toLowerCase());
  const section = raw.curator as { readonly auxiliary?: unknown } | null | undefined;
  const old = section?.auxiliary as Readonly<Record<string, unknown>> | null | undefined;
  if (isSet || typeof old !== "object" || old === null) return curator;
  const { provider, model } = old;
  if (typeof provider !== "string" || typeof model !== "string" || provider === "auto") return curator;
  return { ...curator, provider, model };
}
