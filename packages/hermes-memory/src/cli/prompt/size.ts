// `hermes prompt-size`: what every request of a session begins with, and what each part of it costs.
import { homedir } from "node:os";
import { resolve } from "node:path";
import { estimateText } from "@hermes-memory/core/context";
import { codePointLength, groupThousands } from "@hermes-memory/core/lib";
import type { PartLabel, PromptFile, PromptTier } from "@hermes-memory/core/prompt";
import type { CommandBody, Paint } from "../command.ts";
import { oneLine, printable } from "../printing.ts";
import { lookAtPrompt, type PromptLook } from "./look.ts";

export const promptSize: CommandBody = async ({ flags }, { home: selected, io, memory }) => {
  const config = await memory.config();
  const platform = typeof flags.platform === "string" ? flags.platform : "cli";
  const look = await lookAtPrompt(memory, {
    profile: { name: selected.profile, root: resolve(selected.root) },
    platform,
    env: io.env,
    launch: launchDirectory(memory.home),
    userHome: homedir(),
    now: new Date(),
  });
  const { provider } = config.memory;
  const warnings = [
    ...look.warnings,
    ...(provider === ""
      ? []
      : [`What '${provider}' adds is not counted: it is asked when a session starts.`]),
  ];
  const model = config.model.default;
  return {
    json: { platform, model: model || null, ...toJson(look), warnings },
    lines: [
      row("platform", oneLine(platform)),
      row("model", model === "" ? "none set" : oneLine(model)),
      row("directory", printable(look.directory)),
      "",
      ...table(look, io.paint),
      "",
      row("tools", toolsText(look)),
      ...look.files.map((file) => row("file", fileText(file, io.paint))),
    ],
    notes: warnings.map((warning) => `warning: ${printable(warning)}`),
  };
};

type Size = { readonly chars: number; readonly bytes: number; readonly tokens: number };

function sizeOf(text: string): Size {
  return { chars: codePointLength(text), bytes: Buffer.byteLength(text), tokens: estimateText(text) };
}

function toJson(look: PromptLook): object {
  const { prompt, directory, files, blockedEntries } = look;
  return {
    directory,
    hash: prompt.hash,
    system_prompt: sizeOf(prompt.text),
    skills_index: sizeOf(partText(prompt.tiers, "skills_index")),
    memory: sizeOf(partText(prompt.tiers, "memory")),
    user_profile: sizeOf(partText(prompt.tiers, "user_profile")),
    tools: { count: look.tools.length, ...toolsSize(look) },
    sections: prompt.tiers.map(({ name, text, parts }) => ({
      label: name,
      ...sizeOf(text),
      parts: parts.map((part) => ({ label: part.label, ...sizeOf(part.text) })),
    })),
    files,
    blocked_entries: blockedEntries,
  };
}

function partText(tiers: readonly PromptTier[], label: PartLabel): string {
  return tiers.flatMap(({ parts }) => parts).find((part) => part.label === label)?.text ?? "";
}

/** As they are sent along with every request. */
function toolsSize({ tools }: PromptLook): { readonly json_bytes: number; readonly tokens: number } {
  if (tools.length === 0) return { json_bytes: 0, tokens: 0 };
  const json = JSON.stringify(tools.map((schema) => ({ type: "function", function: schema })));
  return { json_bytes: Buffer.byteLength(json), tokens: estimateText(json) };
}

function table({ prompt }: PromptLook, paint: Paint): string[] {
  return [
    paint("dim", columns("", "chars", "bytes", "tokens")),
    ...prompt.tiers.flatMap(({ name, text, parts }) => [
      measured(name, text),
      ...parts.map((part) => paint("dim", measured(`  ${part.label}`, part.text))),
    ]),
    paint("bold", measured("system prompt", prompt.text)),
  ];
}

function measured(label: string, text: string): string {
  const { chars, bytes, tokens } = sizeOf(text);
  return columns(label, groupThousands(chars), groupThousands(bytes), groupThousands(tokens));
}

function columns(label: string, ...figures: readonly string[]): string {
  return label.padEnd(18) + figures.map((figure) => figure.padStart(9)).join("");
}

function toolsText(look: PromptLook): string {
  const { json_bytes: bytes, tokens } = toolsSize(look);
  const names = look.tools.map(({ name }) => name).join(", ");
  return names === "" ? "none" : `${names}; ${groupThousands(bytes)} bytes, ${groupThousands(tokens)} tokens`;
}

function fileText({ path, state, chars, ids }: PromptFile, paint: Paint): string {
  const size = `${groupThousands(chars)} characters`;
  switch (state) {
    case "loaded":
      return `${printable(path)}, ${size}`;
    case "cut":
      return `${printable(path)}, ${size}, ${paint("yellow", "cut")}`;
    case "blocked":
      return `${printable(path)}, ${size}, ${paint("red", `blocked: ${ids.join(", ")}`)}`;
    default:
      return state satisfies never;
  }
}

/** The directory a program was started in may be gone by now. */
function launchDirectory(fallback: string): string {
  try {
    return process.cwd();
  } catch {
    return fallback;
  }
}

function row(name: string, value: string): string {
  return `${name.padEnd(10)} ${value}`;
}
