// `hermes model set`: another model for the conversations that start from now on.
import type { CommandBody, CommandContext, CommandInput, CommandOutcome } from "../command.ts";
import { CommandFailure } from "../command.ts";
import { printable } from "../printing.ts";
import { type ModelChange, planChange } from "./change.ts";
import {
  choiceFailure,
  identityJson,
  type ModelSources,
  modelSources,
  modelText,
  overridingNotes,
  resolveSettings,
} from "./resolution.ts";
import { saveSettings } from "./save.ts";
import type { WantedModel } from "./settings-plan.ts";

export const set: CommandBody = async (input, context) => {
  const wanted = { ...wantedFlags(input), model: (input.args.model ?? "").trim() };
  if (wanted.model === "") throw new CommandFailure("The model's name is empty.", { exitCode: 2 });
  const sources = await modelSources(context);
  const change = planChange(sources, wanted);
  if (!change.ok) throw choiceFailure(change.error, 2);
  if (change.value.losesKey && !(await mayDropKey(input, context)))
    return {
      json: { success: false, kind: "cancelled" },
      lines: ["Cancelled. Nothing was changed."],
      exitCode: 1,
    };
  return saved(sources, wanted, change.value);
};

/** What the flags say about the model; blank ones say nothing. */
export function wantedFlags({ flags }: Pick<CommandInput, "flags">): Omit<WantedModel, "model"> {
  const text = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
  };
  const length = flags["context-length"];
  return {
    provider: text("provider"),
    baseUrl: text("base-url"),
    apiMode: text("api-mode"),
    contextLength: typeof length === "number" ? length : undefined,
  };
}

/** A key that stayed in config.yaml would be sent to the new server. Nobody's key is thrown away unasked. */
export async function mayDropKey(
  { flags }: Pick<CommandInput, "flags">,
  { io, isJson }: CommandContext,
): Promise<boolean> {
  if (flags.yes === true) return true;
  const why =
    "model.api_key in config.yaml is the key of the server that was set before; it has to be removed.";
  if (!io.isInteractive || isJson)
    throw new CommandFailure(`Nothing was changed. ${why}`, {
      hint: "Keep a copy if you need it, then pass --yes.",
      details: { kind: "unconfirmed", removes: ["model.api_key"] },
    });
  io.note(`${why}\n`);
  return io.confirm("Remove it?", { short: true });
}

async function saved(
  sources: ModelSources,
  wanted: WantedModel,
  change: ModelChange,
): Promise<CommandOutcome> {
  const { plan, resolved } = change;
  const { path, written, removed } = await saveSettings(sources.home, plan, sources.config.raw.model);
  const isChanged = written.length + removed.length > 0;
  const { identity } = resolved;
  return {
    json: {
      success: true,
      ...identityJson(identity),
      changed: isChanged,
      written,
      removed,
      has_key: resolved.hasKey,
      path,
    },
    lines: [`${isChanged ? "The model is now" : "It was already"} ${modelText(identity)}.`],
    notes: [
      ...(removed.length === 0
        ? []
        : [`Removed, because it was about another model: ${removed.join(", ")}.`]),
      ...(resolved.hasKey ? [] : [resolved.problem.message, resolved.problem.hint].map(printable)),
      ...elsewhereNotes(sources, wanted, identity.provider),
      ...overridingNotes(sources.env),
      ...(isChanged ? ["A conversation that is running keeps its model. 'hermes model test' tries it."] : []),
    ],
  };
}

/** `model set claude-...` while a server of one's own is set: probably meant, possibly not. */
function elsewhereNotes(sources: ModelSources, wanted: WantedModel, provider: string): string[] {
  if (wanted.provider !== undefined || wanted.baseUrl !== undefined) return [];
  const blank = {
    ...sources.config.model,
    default: wanted.model,
    provider: "",
    baseUrl: "",
    apiKey: "",
    apiMode: "",
  };
  const alone = resolveSettings({ ...sources, env: {} }, blank); // by its name alone, whatever keys there are
  if (!alone.ok || alone.value.identity.provider === provider) return [];
  const other = alone.value.identity.provider;
  return [printable(`It is still asked of ${provider}. For ${other}, add --provider ${other}.`)];
}
