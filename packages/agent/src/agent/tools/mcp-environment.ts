// What a program that the agent starts learns about our environment: where things are, and none of the keys in it.

const HANDED_ON = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER"];
/** Programs do not start without these there. */
const HANDED_ON_WINDOWS = [
  ...[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
  ],
  ...["SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"],
];

/** What config says counts before what we have. */
export function serverEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>>,
  platform: string = process.platform,
): Record<string, string> {
  const names = platform === "win32" ? [...HANDED_ON, ...HANDED_ON_WINDOWS] : HANDED_ON;
  const isHandedOn = (name: string): boolean =>
    names.includes(platform === "win32" ? name.toUpperCase() : name);
  const kept = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value !== undefined && isHandedOn(name) ? [[name, value]] : [],
  );
  return { ...Object.fromEntries(kept), ...configured };
}
