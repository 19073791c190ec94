// `hermes profile`: several homes under one root. These commands need only the root, so they work when the active profile was deleted.
import { basename, dirname, resolve } from "node:path";
import { DEFAULT_PROFILE, profileHome } from "@hermes-memory/core/internal/home";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { createProfile, listProfiles, useProfile } from "@hermes-memory/core/internal/profiles";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandSpec,
  command,
  flag,
  unwrap,
  usageFailure,
} from "./command.ts";

const list: CommandBody = (_input, { home }) => {
  const profiles = listProfiles(home.root);
  const active = profiles.find((profile) => profile.active)?.name;
  return {
    json: {
      root: resolve(home.root),
      active: active ?? null,
      in_use: home.profile,
      profiles: profiles.map((profile) => ({
        name: profile.name,
        home: resolve(profile.home),
        active: profile.active,
        has_memory: profile.hasMemory,
      })),
    },
    notes:
      active === undefined || active === home.profile
        ? []
        : [`In use here is '${home.profile}' (${resolve(home.home)}), by --profile or HERMES_HOME.`],
  };
};

const create: CommandBody = async ({ args, flags }, { home }) => {
  const isClone = flags.clone === true;
  const isCloneAll = flags["clone-all"] === true;
  if (isClone && isCloneAll) throw usageFailure("Give either --clone or --clone-all, not both.");
  if (flags.from !== undefined && !isClone && !isCloneAll) {
    throw usageFailure("--from names the profile to copy, so it needs --clone or --clone-all.");
  }
  const inUse = home.profile === "custom" ? DEFAULT_PROFILE : home.profile;
  const from = typeof flags.from === "string" ? flags.from : inUse;
  const clone = isCloneAll ? "all" : isClone ? "config" : undefined;
  const created = unwrap(
    createProfile(home.root, args.name ?? "", { clone, from: clone === undefined ? undefined : from }),
  );
  const path = resolve(created.home);
  return {
    json: {
      success: true,
      message: `Created profile '${created.name}'.`,
      name: created.name,
      home: path,
      copied: created.copied,
      from: clone === undefined ? undefined : from,
    },
    notes: [
      ...(clone === undefined
        ? []
        : await clonedSettings(profileHome(home.root, from.trim().toLowerCase()), path)),
      `Work in it with 'hermes -p ${created.name} ...', or stay in it: hermes profile use ${created.name}`,
    ],
  };
};

/** A provider may have settings that name the profile, such as Honcho's block for it. The profile exists whether they can be copied or not. */
async function clonedSettings(from: string, to: string): Promise<readonly string[]> {
  const { ifUsable, openHome } = await import("@hermes-memory/core/internal/memory");
  const { activeProviderName } = await import("@hermes-memory/core/internal/providers");
  const { cloneProviderSettings } = await import("@hermes-memory/providers/internal");
  const config = await ifUsable(openHome({ home: to }).memoryConfig());
  const name = config === undefined ? "" : activeProviderName(config.provider);
  try {
    const said = await cloneProviderSettings(name, from, to);
    return said === undefined ? [] : [said];
  } catch (cause) {
    return [`The settings of '${name}' were not copied: ${describeCause(cause)}`];
  }
}

const use: CommandBody = ({ args }, { home, io }) => {
  const { name, home: chosen } = unwrap(useProfile(home.root, args.name ?? ""));
  const path = resolve(chosen);
  // HERMES_HOME overrides the active profile when it names a home below `profiles/`.
  const fixed = resolve(io.env.HERMES_HOME?.trim() || home.root);
  const isOverridden = basename(dirname(fixed)) === "profiles" && fixed !== path;
  return {
    json: { success: true, message: `The active profile is now '${name}'.`, name, home: path },
    notes: isOverridden
      ? [`In this shell HERMES_HOME (${fixed}) decides instead. Unset it to follow the profile.`]
      : [],
  };
};

const path: CommandBody = ({ args }, context) => {
  const found = args.name === undefined ? context.home.home : homeOf(args.name, context);
  return { json: { path: resolve(found) } };
};

function homeOf(name: string, { home }: CommandContext): string {
  const asked = name.trim().toLowerCase();
  const found = listProfiles(home.root).find((profile) => profile.name === asked);
  if (found) return found.home;
  const message = `There is no profile '${name}'. List them with 'hermes profile list'.`;
  throw new CommandFailure(message, { details: { kind: "missing-profile", name } });
}

const name = "letters, digits, '-' and '_'; 'default' is the root home";

export const profileCommands: readonly CommandSpec[] = [
  command("profile list", "list the profiles, the active one marked", {
    examples: ["hermes profile list", "hermes profile list --json"],
    worksWithoutProfile: true,
    load: async () => list,
  }),
  command("profile create <name>", "make a new profile, empty or as a copy", {
    args: { name },
    flags: {
      clone: flag.on("copy settings, curated memory and skills"),
      "clone-all": flag.on("copy everything but history"),
      from: flag.text("profile", "copy this profile (default: the one in use)"),
    },
    examples: ["hermes profile create work", "hermes profile create trial --clone --from work"],
    worksWithoutProfile: true,
    load: async () => create,
  }),
  command("profile use <name>", "make a profile the active one", {
    args: { name },
    examples: ["hermes profile use work", "hermes profile use default"],
    worksWithoutProfile: true,
    load: async () => use,
  }),
  command("profile path [name]", "print the home of a profile", {
    args: { name },
    examples: ["hermes profile path", 'cd "$(hermes profile path work)"'],
    load: async () => path,
  }),
];
