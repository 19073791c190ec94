// `hermes hook` when it comes through the command line, for example after `-p work`. Clients start hook/main.ts instead.
import { DEFAULT_PROFILE } from "@hermes-memory/core/internal/home";
import type { CommandBody } from "../command.ts";
import { runHook } from "./run-hook.ts";
import { systemHookProcess } from "./system-hook-process.ts";

export const hook: CommandBody = async ({ args: { client = "", event = "" }, flags }, { home }) => {
  const profile = home.profile === DEFAULT_PROFILE ? DEFAULT_PROFILE : undefined;
  const place = typeof flags.home === "string" ? { home: flags.home } : { home: home.home, profile };
  const text = await runHook({ client, event, ...place }, systemHookProcess());
  return { json: undefined, lines: text === "" ? [] : [text] };
};
