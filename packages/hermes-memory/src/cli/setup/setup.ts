// `hermes setup`: where the model runs, its key, its name; then all of it is saved, and the model tried. Until it is saved,
// leaving changes nothing.

import { parseBaseUrl } from "@hermes-memory/agent/models";
import { envFilePath, setEnvValue } from "@hermes-memory/core/config";
import {
  Cancelled,
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  type Terminal,
} from "../command.ts";
import { serverToAsk } from "../model/asked-models.ts";
import { type ModelChange, planChange } from "../model/change.ts";
import {
  choiceFailure,
  type ModelSources,
  modelSources,
  overridingNotes,
  resolveModel,
} from "../model/resolution.ts";
import { saveSettings } from "../model/save.ts";
import { mayDropKey } from "../model/set.ts";
import type { WantedModel } from "../model/settings-plan.ts";
import { type KeyAnswer, settleKey } from "./key.ts";
import { settleModel } from "./model-name.ts";
import { type SetupOrder, setupOrder } from "./order.ts";
import { type SavedSetup, setupOutcome } from "./outcome.ts";
import { askPlace, type Place, placeFromFlags, refuseToChoose } from "./place.ts";
import { settleTest } from "./try-it.ts";

export const setup: CommandBody = async (input, context) => {
  try {
    return await runSetup(setupOrder(input), input, context);
  } catch (cause) {
    if (!(cause instanceof Cancelled)) throw cause;
    return cancelled(cause.by);
  } finally {
    context.io.endWithoutWaiting();
  }
};

async function runSetup(
  order: SetupOrder,
  input: CommandInput,
  context: CommandContext,
): Promise<CommandOutcome> {
  const { io, isJson } = context;
  const sources = await modelSources(context); // a broken config.yaml ends it here, before anybody has answered anything
  const mayAsk = io.isInteractive && !isJson && !order.isYes;
  const place = await settlePlace(order, sources, { mayAsk, io });
  if (place.kind === "nothing")
    return { json: { success: true, changed: false }, lines: ["Nothing was changed."] };

  const key = await settleKey(place, { order, sources, mayAsk, io });
  const wanted = await settleWanted(place, key, { order, sources, mayAsk, io });
  const change = planChange(withKey(sources, key), wanted);
  if (!change.ok) throw choiceFailure(change.error, 2);
  if (change.value.losesKey && !(await mayDropKey(input, context))) return cancelled("end");
  const saved = await save(sources, key, change.value);
  const test = await settleTest(order, { saved, context, mayAsk });
  return setupOutcome(saved, test, io);
}

type Asking = { readonly mayAsk: boolean; readonly io: Terminal };

async function settlePlace(order: SetupOrder, sources: ModelSources, { mayAsk, io }: Asking): Promise<Place> {
  const told = await placeFromFlags(order, sources);
  if (told === undefined && !mayAsk) return refuseToChoose(sources);
  const present = resolveModel(sources);
  const place = told ?? (await askPlace(sources, present.ok ? present.value.identity : undefined, io));
  if (place.kind !== "address" || isUsable(place.baseUrl)) return place;
  if (!mayAsk)
    throw new CommandFailure("The address of the server is missing or cannot be read.", {
      exitCode: 2,
      hint: "Give it as --base-url http://127.0.0.1:9000/v1.",
      details: { kind: "bad_address" },
    });
  return { kind: "address", baseUrl: await askAddress(io) };
}

async function askAddress(io: Terminal): Promise<string> {
  for (;;) {
    const baseUrl = (await io.ask("Address of the server, such as http://127.0.0.1:9000/v1: ")).trim();
    if (isUsable(baseUrl)) return baseUrl;
    io.note("That is no address. It starts with http:// or https://.\n");
  }
}

function isUsable(baseUrl: string): boolean {
  return parseBaseUrl(baseUrl) !== undefined;
}

async function settleWanted(
  place: Exclude<Place, { kind: "nothing" }>,
  key: KeyAnswer,
  { order, sources, mayAsk, io }: Asking & { readonly order: SetupOrder; readonly sources: ModelSources },
): Promise<WantedModel> {
  const server = serverOf(place, order);
  const question = { given: order.model, current: currentModel(sources, server), mayAsk };
  const model = await settleModel({ ...question, ...(await listedModels(place, key, order, sources)) }, io);
  return {
    ...server,
    model,
    apiMode: order.apiMode,
    contextLength: order.contextLength,
    apiKey: key.kind === "config" ? key.value : undefined,
  };
}

type Server = Pick<WantedModel, "provider" | "baseUrl">;

function serverOf(place: Exclude<Place, { kind: "nothing" }>, order: SetupOrder): Server {
  switch (place.kind) {
    case "local":
      return { provider: place.server.kind, baseUrl: place.server.baseUrl };
    case "vendor":
      return { provider: place.vendor.name, baseUrl: order.baseUrl };
    case "address":
      return { provider: "custom", baseUrl: place.baseUrl };
    default:
      return place satisfies never;
  }
}

/** A name is worth offering again only for the server it belongs to. */
function currentModel({ config: { model } }: ModelSources, { provider, baseUrl }: Server): string {
  const isSame =
    model.provider.toLowerCase() === provider && (baseUrl === undefined || baseUrl === model.baseUrl);
  return isSame ? model.default : "";
}

type Listed = { readonly listed: readonly string[]; readonly isComplete: boolean };

async function listedModels(
  place: Exclude<Place, { kind: "nothing" }>,
  key: KeyAnswer,
  order: SetupOrder,
  sources: ModelSources,
): Promise<Listed> {
  if (order.model !== undefined) return { listed: [], isComplete: false };
  if (place.kind === "local") return { listed: place.server.models, isComplete: true };
  const known = place.kind === "vendor" ? place.vendor.models : [];
  const isVendors = place.kind === "vendor" && !place.vendor.isOwn && order.baseUrl === undefined;
  if (isVendors) return { listed: known, isComplete: false };
  const apiKey = key.kind === "config" ? key.value : undefined;
  const told = await serverToAsk(withKey(sources, key), { ...serverOf(place, order), apiKey })?.ask();
  return { listed: told ?? known, isComplete: told !== undefined };
}

/** The key as it will be found once it is saved. */
function withKey(sources: ModelSources, key: KeyAnswer): ModelSources {
  return key.kind === "variable"
    ? { ...sources, env: { ...sources.env, [key.variable]: key.value } }
    : sources;
}

/** The key first: settings that lead to a server nobody has the key for would be of no use. */
async function save(sources: ModelSources, key: KeyAnswer, change: ModelChange): Promise<SavedSetup> {
  const { home, config } = sources;
  const path = envFilePath(home);
  if (key.kind === "variable") {
    const outcome = setEnvValue(path, key.variable, key.value);
    if (!outcome.ok) {
      const { message, kind } = outcome.error;
      throw new CommandFailure(message, { hint: "Nothing was changed.", details: { kind, path } });
    }
  }
  const settings = await saveSettings(home, change.plan, config.raw.model);
  return {
    settings,
    resolved: change.resolved,
    ...(key.kind === "variable" ? { variable: { name: key.variable, path } } : {}),
    notes: [...(key.note === undefined ? [] : [key.note]), ...overridingNotes(sources.env)],
  };
}

function cancelled(by: Cancelled["by"]): CommandOutcome {
  const kind = by === "interrupt" ? "interrupted" : "cancelled";
  return {
    json: { success: false, kind },
    lines: ["Cancelled. No setting was changed."],
    exitCode: by === "interrupt" ? 130 : 1,
  };
}
