// Who calls the fake OpenViking, which URIs that caller may name, and the errors of the server.
import type { IncomingHttpHeaders } from "node:http";
import type { FakeReply } from "./fake-server.ts";
import { ROOT } from "./openviking-tree.ts";

/** `v03`: servers 0.3.x. `v04`: servers from 0.4.1 on. */
export type VikingProfile = "v03" | "v04";

export type Tenant = { readonly account: string; readonly user: string; readonly role: "user" | "root" };

export type Caller = Tenant & {
  /** Only the folder of this agent (v03) or peer (v04) is seen; undefined: all of them. */
  readonly view: string | undefined;
};

const STATUS = {
  INVALID_ARGUMENT: 400,
  INVALID_URI: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  FAILED_PRECONDITION: 412,
};

export class VikingError extends Error {
  readonly code: keyof typeof STATUS;
  readonly details: object | undefined;

  constructor(code: keyof typeof STATUS, message: string, details?: object) {
    super(message);
    this.code = code;
    this.details = details;
  }

  reply(): FakeReply {
    const { code, message, details } = this;
    const error = { code, message, ...(details === undefined ? {} : { details }) };
    return { status: STATUS[code], body: { status: "error", result: null, error } };
  }
}

/** The key of a request, from either of its two headers. */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  return header(headers, "x-api-key") ?? headers.authorization?.replace(/^Bearer /, "");
}

/** An empty header counts as absent. */
function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The caller by key and headers. `tenant`: whose key it is; undefined without authentication, which makes everyone an administrator. */
export function callerOf(
  headers: IncomingHttpHeaders,
  profile: VikingProfile,
  tenant: Tenant | undefined,
): Caller {
  const account = header(headers, "x-openviking-account");
  const user = header(headers, "x-openviking-user");
  const view = header(headers, profile === "v03" ? "x-openviking-agent" : "x-openviking-actor-peer");
  if (tenant === undefined)
    return { account: account ?? "default", user: user ?? "default", role: "root", view };
  if (profile === "v04") {
    if (tenant.role === "root")
      throw new VikingError("PERMISSION_DENIED", "A root key cannot use data APIs in api_key mode");
    return { ...tenant, view };
  }
  if (tenant.role === "root") {
    if (account === undefined || user === undefined)
      throw new VikingError(
        "INVALID_ARGUMENT",
        "A root key needs the headers X-OpenViking-Account and X-OpenViking-User",
      );
    return { account, user, role: "root", view };
  }
  if ((account ?? tenant.account) !== tenant.account || (user ?? tenant.user) !== tenant.user)
    throw new VikingError("PERMISSION_DENIED", "The tenant headers do not match the tenant of the key");
  return { ...tenant, view };
}

const SCOPES = ["resources", "user", "agent", "session"];
const PARTS_OF_A_USER = ["memories", "skills", "resources", "peers"];

/** The URI in full, without a trailing slash. Refuses places that the profile does not know and, unless a root asks, those of another user. */
export function resolveUri(given: string, caller: Caller, profile: VikingProfile): string {
  if (!given.startsWith(ROOT)) throw new VikingError("INVALID_URI", `Not a viking:// URI: ${given}`);
  const segments = given.slice(ROOT.length).replace(/\/+$/, "").split("/");
  if (segments.length === 1 && segments[0] === "") return ROOT;
  if (segments.some((segment) => segment === "" || segment === "." || segment === ".."))
    throw new VikingError("INVALID_URI", `The URI has an unsafe segment: ${given}`);
  const [scope, second] = segments;
  if (scope === "~" && profile === "v04")
    return [`viking://user/${caller.user}`, ...segments.slice(1)].join("/");
  if (!SCOPES.includes(scope ?? "")) throw new VikingError("INVALID_URI", `Unknown scope in ${given}`);
  if (scope === "user" && second !== undefined) {
    if (PARTS_OF_A_USER.includes(second)) {
      if (profile === "v04") throw new VikingError("INVALID_URI", `The URI names no user: ${given}`);
      return [`viking://user/${caller.user}`, ...segments.slice(1)].join("/");
    }
    if (second !== caller.user && caller.role !== "root")
      throw new VikingError("PERMISSION_DENIED", `Access denied for ${given}`);
  }
  return ROOT + segments.join("/");
}

/** Whether a place is the caller's or everybody's (of a root: anyone's), and not below another agent or peer than the one asked for. */
export function isVisible(uri: string, caller: Caller, profile: VikingProfile): boolean {
  const [scope, second, third, fourth] = uri.slice(ROOT.length).split("/");
  if (scope !== "user" && scope !== "session") return true;
  if (second !== undefined && second !== caller.user) return caller.role === "root";
  const isOfView =
    scope === "user" && third === (profile === "v03" ? "agent" : "peers") && fourth !== undefined;
  return !isOfView || caller.view === undefined || fourth === caller.view;
}

/** Scopes and the folder of the caller exist before anything is in them. */
export function isAlwaysThere(uri: string, caller: Caller): boolean {
  return SCOPES.some((scope) => uri === ROOT + scope) || uri === `viking://user/${caller.user}`;
}
