// The blocks of several profiles in Honcho's configuration: which file a profile reads, and giving a profile its own block.
import { existsSync } from "node:fs";
import { DEFAULT_PROFILE, rootOf } from "../../../home.ts";
import { listProfiles } from "../../../profiles.ts";
import {
  editHonchoFile,
  type HonchoPlace,
  hostBlock,
  hostKeyOf,
  hostKeyOfProfile,
  profileOf,
  readHonchoFile,
  type Values,
  withHostValues,
  writtenPath,
} from "./config-file.ts";

/** What a new profile takes over from the default one. */
const CLONED_KEYS = [
  "recallMode",
  "writeFrequency",
  "sessionStrategy",
  "sessionPeerPrefix",
  "contextTokens",
  "dialecticReasoningLevel",
  "dialecticDynamic",
  "dialecticMaxChars",
  "messageMaxChars",
  "dialecticMaxInputChars",
  "saveMessages",
  "observation",
  "pinUserPeer",
  "userPeerAliases",
  "runtimePeerPrefix",
  "peerName",
] as const;

export type ProfilePlace = HonchoPlace & { readonly profile: string };

export function profilePlaces(place: HonchoPlace): readonly ProfilePlace[] {
  const userHome = place.userHome ?? "";
  const root = rootOf(place.home, { env: place.env, platform: process.platform, userHome });
  return listProfiles(root).map(({ name, home }) => ({ ...withoutHost(place), home, profile: name }));
}

/** HERMES_HONCHO_HOST names the host of one process, not of every profile. */
function withoutHost(place: HonchoPlace): HonchoPlace {
  return { ...place, env: { ...place.env, HERMES_HONCHO_HOST: undefined } };
}

/** The block for a profile that has none: the settings of the default profile, its own name, the same workspace. */
function clonedBlock(root: Values, profile: string): Values {
  const standard = hostBlock(root, hostKeyOfProfile(DEFAULT_PROFILE));
  const pin = standard.pinUserPeer ?? standard.pinPeerName;
  const known: Values = { ...standard, ...(pin === undefined ? {} : { pinUserPeer: pin }) };
  const cloned = CLONED_KEYS.filter((key) => known[key] !== undefined).map((key) => [key, known[key]]);
  return {
    ...Object.fromEntries(cloned),
    ...(profile === DEFAULT_PROFILE ? {} : { aiPeer: profile }),
    workspace: standard.workspace ?? root.workspace ?? hostKeyOfProfile(DEFAULT_PROFILE),
    enabled: true,
  };
}

/** Switches a profile on; one without a block gets that of the default profile. Returns whether it was new. */
export function enableProfile(place: HonchoPlace): boolean {
  const hostKey = hostKeyOf(place);
  const isNew = Object.keys(readHonchoFile(place).host).length === 0;
  editHonchoFile(place, ({ root }) =>
    withHostValues(root, hostKey, isNew ? clonedBlock(root, profileOf(place.home)) : { enabled: true }),
  );
  return isNew;
}

/** Gives every profile without a block one, in the file that it reads. Returns their names. */
export function syncProfiles(place: HonchoPlace): readonly string[] {
  const places = profilePlaces(place);
  const standard = places.find(({ profile }) => profile === DEFAULT_PROFILE) ?? withoutHost(place);
  const made: string[] = [];
  for (const each of places) {
    const hostKey = hostKeyOfProfile(each.profile);
    if (Object.keys(readHonchoFile(each).host).length > 0) continue;
    const target = existsSync(writtenPath(each.home)) ? each : standard;
    editHonchoFile(target, ({ root }) => withHostValues(root, hostKey, clonedBlock(root, each.profile)));
    made.push(each.profile);
  }
  return made;
}
