// Whose place of the tree a `viking://` URI names. A server without keys takes every caller for an administrator, and so does a root key:
// it shows each user the memories of all others. What is not this user's is left out here.

export type Viewer = {
  /** The tenant user. */
  readonly user: string;
  /** A user of a gateway, who must not see what cannot be assigned to a user. */
  readonly isApart: boolean;
};

/** Folders that stand for those of the caller where a URI has them in place of a user. */
const OWN_PARTS = ["memories", "skills", "resources", "peers", "agent", "sessions", "instructions"];

function segmentsOf(uri: string): readonly string[] {
  return uri
    .replace(/^viking:/i, "")
    .split(/[\\/]+/)
    .filter((segment) => segment !== "");
}

export function isVisibleTo({ user, isApart }: Viewer, uri: string): boolean {
  const segments = segmentsOf(uri);
  const [scope, second] = segments;
  if (segments.some((segment) => segment === "." || segment === "..")) return false;
  if (scope === "resources" || scope === "~") return true;
  const isNamedPart = second !== undefined && OWN_PARTS.includes(second);
  if (scope === "user" && (second !== undefined || isApart)) return second === user || isNamedPart;
  if (!isApart) return true;
  return (scope === "session" && second === user) || (scope === "agent" && isNamedPart);
}

/** The root and its folders: they can be listed by everyone. */
export function isContainer(uri: string): boolean {
  return segmentsOf(uri).length <= 1;
}

/** Undefined: the URI of the session names no user, because the server keeps sessions for the whole account. */
export function ownerOfSession(uri: string): string | undefined {
  const [scope, second, third] = segmentsOf(uri);
  if (third === undefined) return undefined;
  return scope === "session" || (scope === "user" && third === "sessions") ? second : undefined;
}
