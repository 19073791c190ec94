// /model and /provider: who answers, and who remembers beside us. No key is shown or taken here.
import { groupThousands } from "@hermes-memory/core/lib";
import {
  type ContextWindow,
  type ModelIdentity,
  safeAddress,
  type WindowSource,
} from "../../models/index.ts";
import type { AgentSurface } from "../surface.ts";
import type { SlashCommand } from "./command.ts";
import { row } from "./format.ts";
import { takeOptions } from "./parse.ts";
import { failed, problemReply, told, wrongUsage } from "./reply.ts";

export const modelCommand: SlashCommand = {
  name: "model",
  group: "model",
  summary: "show the model, or go on with another one",
  usage: "[--provider name] [--base-url address] [model]",
  words: ["--provider", "--base-url"],
  needsIdle: "with_arguments",
  async run({ agent, args }) {
    if (args === "") return told(modelLines(agent), modelJson(agent));
    const options = readOptions(args);
    if ("unusable" in options)
      return failed(
        "usage",
        `'${options.unusable}' cannot be used here, or lacks its value.`,
        "Usage: /model [--provider name] [--base-url address] [model]. Keys are set with 'hermes setup'.",
      );
    if (/\s/.test(options.rest)) return wrongUsage(modelCommand);
    const { provider, "base-url": baseUrl } = options.values;
    const outcome = await agent.switchModel({
      ...(options.rest === "" ? {} : { model: options.rest }),
      ...(provider === undefined ? {} : { provider }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
    });
    if (!outcome.ok) return problemReply(outcome.error);
    return told(
      [
        `Now with ${outcome.value.model} (${outcome.value.provider}, ${addressText(outcome.value.baseUrl)}), from here on in this chat.`,
        "'hermes model set' makes it the model of every new one.",
      ],
      modelJson(agent, outcome.value),
    );
  },
};

export const providerCommand: SlashCommand = {
  name: "provider",
  group: "model",
  summary: "show who serves the model, and which external memory is in use",
  usage: "",
  async run({ agent, args }) {
    if (args !== "") return wrongUsage(providerCommand);
    const { memory } = await agent.status();
    const { provider, apiMode, baseUrl } = agent.model;
    return told(
      [
        row("Model", `${provider}, ${apiMode}, ${addressText(baseUrl)}`),
        row("Memory", memory.provider ?? "built-in files only; 'hermes memory setup' adds a provider"),
      ],
      {
        model_provider: provider,
        api_mode: apiMode,
        base_url: safeAddress(baseUrl),
        memory_provider: memory.provider,
      },
    );
  },
};

/** Where a window's figure comes from, for people. */
export function windowText({ tokens, source, server, isProvisional }: ContextWindow): string {
  const from =
    source === "server" && server !== undefined ? `told by the server, ${server}` : SOURCES[source];
  return `${groupThousands(tokens)} tokens (${from}${isProvisional ? ", may change" : ""})`;
}

const SOURCES: Readonly<Record<WindowSource, string>> = {
  config: "from config",
  custom_provider: "from config",
  server: "told by the server",
  cache: "seen before",
  table: "known for this model",
  catalogue: "known for this model",
  default: "a guess: nobody knows this model",
};

/** The model behind the options, or in front of them. */
function readOptions(args: string): ReturnType<typeof takeOptions> {
  const names = ["provider", "base-url"];
  const inFront = /^(?!-)(\S+)\s+(--?[a-z].*)$/is.exec(args);
  if (inFront === null) return takeOptions(args, names);
  const [, model = "", flags = ""] = inFront;
  const options = takeOptions(flags, names);
  return "unusable" in options
    ? options
    : { ...options, rest: [model, options.rest].filter((word) => word !== "").join(" ") };
}

function modelLines(agent: AgentSurface): string[] {
  const { model, provider, apiMode, baseUrl } = agent.model;
  return [
    row("Model", model),
    row("Provider", `${provider}, ${apiMode}, ${addressText(baseUrl)}`),
    row("Window", windowText(agent.window)),
    "'/model <name>' goes on with another one; 'hermes model list' shows what there is.",
  ];
}

function modelJson(agent: AgentSurface, identity: ModelIdentity = agent.model): object {
  const { model, provider, apiMode, baseUrl } = identity;
  return {
    model,
    provider,
    api_mode: apiMode,
    base_url: safeAddress(baseUrl),
    context_length: agent.window.tokens,
    context_source: agent.window.source,
  };
}

function addressText(baseUrl: string): string {
  return baseUrl === "" ? "the vendor's own address" : safeAddress(baseUrl);
}
