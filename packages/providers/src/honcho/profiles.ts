// The blocks of several profiles in Honcho's configuration: which file a profile reads, and giving a profile its own block.
import { existsSync } from "node:fs";
import { environmentOf } from "@hermes-memory/core/internal/config";
import { DEFAULT_PROFILE, rootOf, systemHomeContext } from "@hermes-memory/core/internal/home";
import { listProfiles } from "@hermes-memory/core/internal/profiles";
import {
  editHonchoFile,
  type HonchoFile,
  type HonchoPlace,
  hostBlock,
  hostKeyOf,
  hostKeyOfProfile,
  profileOf,
  readHonchoFile,
  renamedPin,
  type Values,
  withHostValues,
  writtenPath,
} from "./config-file.ts";

export type ProfilePlace = HonchoPlace & { readonly profile: string };

/** HERMES_HONCHO_HOST names the host of one process, not of every profile. */
function placeOf(home: string, userHome: string | undefined): HonchoPlace {
  return { home, userHome, env: { ...environmentOf(home), HERMES_HONCHO_HOST: undefined } };
}

export function profilePlaces({ home, userHome }: HonchoPlace): readonly ProfilePlace[] {
  const context = systemHomeContext();
  const root = rootOf(home, { ...context, userHome: userHome ?? context.userHome });
  return listProfiles(root).map(({ name, home: each }) => ({ ...placeOf(each, userHome), profile: name }));
}

/** All settings of another block, the same workspace, and a name of its own. */
function clonedBlock({ host, root, hostKey }: HonchoFile, profile: string): Values {
  return {
    ...renamedPin(host),
    aiPeer: profile === DEFAULT_PROFILE ? host.aiPeer : profile,
    workspace: host.workspace ?? root.workspace ?? hostKey,
    enabled: true,
  };
}

function ofDefault({ root, ...file }: HonchoFile): HonchoFile {
  const hostKey = hostKeyOfProfile(DEFAULT_PROFILE);
  return { ...file, root, hostKey, host: hostBlock(root, hostKey) };
}

/** Switches a profile on; one without a block gets that of the default profile. Returns whether it was new. */
export function enableProfile(place: HonchoPlace): boolean {
  const isNew = Object.keys(readHonchoFile(place).host).length === 0;
  editHonchoFile(place, (file) =>
    withHostValues(
      file.root,
      hostKeyOf(place),
      isNew ? clonedBlock(ofDefault(file), profileOf(place.home)) : { enabled: true },
    ),
  );
  return isNew;
}

/** Gives every profile without a block one, in the file that it reads. Returns their names. */
export function syncProfiles(place: HonchoPlace): readonly string[] {
  const places = profilePlaces(place);
  const made: string[] = [];
  for (const each of places) {
    if (Object.keys(readHonchoFile(each).host).length > 0) continue;
    const standard = places.find(({ profile }) => profile === DEFAULT_PROFILE) ?? each;
    editHonchoFile(existsSync(writtenPath(each.home)) ? each : standard, (file) =>
      withHostValues(file.root, hostKeyOfProfile(each.profile), clonedBlock(ofDefault(file), each.profile)),
    );
    made.push(each.profile);
  }
  return made;
}

/** For a profile that was made as a copy of another: a file of its own with the server and the settings of the other. */
export function cloneSettings(from: string, to: string, userHome?: string): string | undefined {
  const source = readHonchoFile(placeOf(from, userHome));
  if (!source.isUsed) return undefined; // everything is in the environment
  const profile = profileOf(to);
  const hosts = { [hostKeyOfProfile(profile)]: clonedBlock(source, profile) };
  const path = editHonchoFile(placeOf(to, userHome), () => ({ ...source.root, hosts }));
  return `Honcho's settings were copied to ${path}; the agent is called '${profile}' there.`;
}
