// `hermes hook` when it comes through the command line, for example after `-p work`. Clients start hook/main.ts instead.
import { DEFAULT_PROFILE } from "@hermes-memory/core/internal/home";
import type { CommandBody } from "../command.ts";
import { runHook } from "./run-hook.ts";
import { systemHookProcess } from "./system-hook-process.ts";

export const hook: CommandBody = async ({ args: { client = "", event = "" } }, { home }) => {
  const profile = home.profile === DEFAULT_PROFILE ? DEFAULT_PROFILE : undefined;
  const text = await runHook({ client, event, home: home.home, profile }, systemHookProcess());
  return { json: undefined, lines: text === "" ? [] : [text] };
};
