// The curator's model: the one named for it in config, else the one conversations use. Without one it works by rules alone.

import {
  type AuxiliaryTask,
  auxiliaryModel,
  chooseModel,
  openModel,
  toTextModel,
} from "@hermes-memory/agent/models";
import type { HermesConfig } from "@hermes-memory/core/config";
import type { TextModel } from "@hermes-memory/core/lib";
import type { Environment } from "../model/resolution.ts";

export type CuratorModel =
  | { readonly kind: "model"; readonly model: TextModel; readonly name: string }
  | { readonly kind: "none"; readonly reason: string };

export async function curatorModel(config: HermesConfig, env: Environment): Promise<CuratorModel> {
  const task = taskOf(config);
  const isNamed =
    task.model !== "" || task.baseUrl !== "" || !["", "auto"].includes(task.provider.toLowerCase());
  const main = chooseModel({ env, config });
  if (!main.ok && !isNamed) return { kind: "none", reason: main.error.message };
  const found = main.ok
    ? await auxiliaryModel(task, { model: await openModel(main.value), chosen: main.value }, { env, config })
    : await alone(task, config, env);
  if (!found.ok) return { kind: "none", reason: found.error.message };
  const timeoutMs = config.auxiliary.curator.timeout * 1000;
  const { model } = found.value;
  return { kind: "model", model: toTextModel(model, { timeoutMs }), name: model.identity.model };
}

async function alone(task: AuxiliaryTask, config: HermesConfig, env: Environment) {
  const chosen = chooseModel({ flags: task, env, config });
  if (!chosen.ok) return chosen;
  const model = await openModel(chosen.value, task.extraBody ? { extraBody: task.extraBody } : {});
  return { ok: true as const, value: { model, chosen: chosen.value } };
}

/** `curator.auxiliary` is where older files name it. */
function taskOf({ auxiliary, raw }: HermesConfig): AuxiliaryTask {
  const { curator } = auxiliary;
  const isSet = curator.model !== "" || !["", "auto"].includes(curator.provider.toLowerCase());
  const section = raw.curator as { readonly auxiliary?: unknown } | null | undefined;
  const old = section?.auxiliary as Readonly<Record<string, unknown>> | null | undefined;
  if (isSet || typeof old !== "object" || old === null) return curator;
  const { provider, model } = old;
  if (typeof provider !== "string" || typeof model !== "string" || provider === "auto") return curator;
  return { ...curator, provider, model };
}
