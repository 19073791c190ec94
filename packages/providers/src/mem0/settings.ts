// Settings of Mem0: `<home>/mem0.json` over the environment over defaults. Also who a memory belongs to at Mem0.
import { sha256 } from "@hermes-memory/core/internal/lib";
import { type IdRules, safeId } from "../kit/networked/identity.ts";
import {
  COMMON,
  choice,
  flag,
  MODE,
  number,
  type SettingsTable,
  settingsTable,
  text,
  type ValuesOf,
} from "../kit/networked/settings.ts";

const CLOUD_URL = "https://api.mem0.ai";

const ROWS = {
  /** `platform`: API v3 of the Mem0 Platform. `oss`: the server that people host themselves. */
  edition: choice("api", ["platform", "oss"], {
    description: "Which Mem0: the Mem0 Platform, or a server that you host yourself (oss)",
  }),
  /** As configured; "" for the Mem0 Platform. */
  host: text("host", {
    description: "Address of the server; empty for the Mem0 Platform",
    env: "MEM0_HOST",
  }),
  apiKey: text("api_key", {
    description: "Mem0 API key (any word for a server of yours that wants none)",
    secret: true,
    required: true,
    env_var: "MEM0_API_KEY",
    url: "https://app.mem0.ai",
  }),
  userId: text("user_id", {
    description: "Id of the user at Mem0",
    default: "hermes-user",
    env: "MEM0_USER_ID",
  }),
  agentId: text("agent_id", {
    description: "Id of the agent at Mem0",
    default: "hermes",
    env: "MEM0_AGENT_ID",
  }),
  /** Whether recall before a turn asks for reranking. */
  isReranking: flag("rerank", true, {
    description: "Rerank what is recalled before a turn (Mem0 Platform only)",
  }),
  readScope: choice("read_scope", ["user", "user_or_agent"], {
    description: "Whose memories are found: those of the user, or also those of the agent",
  }),
  timeoutS: number(
    "timeout",
    { standard: 30, min: 1, max: 300 },
    { description: "Longest wait for one request, in seconds" },
  ),
  mode: MODE,
  ...COMMON,
};

export type Mem0Settings = ValuesOf<typeof ROWS>;

const TABLE = settingsTable("mem0.json", ROWS, { wins: "file" });

export const MEM0_SETTINGS: SettingsTable<Mem0Settings> = {
  ...TABLE,
  remarks: (place) => {
    const { readScope, userScope } = TABLE.read(place);
    const shared =
      "'read_scope: user_or_agent' in mem0.json has no effect with 'user_scope: id', because all users then share the agent's memories.";
    return [
      ...TABLE.remarks(place),
      ...(readScope === "user_or_agent" && userScope === "id" ? [shared] : []),
    ];
  },
};

export function missingSetting({ apiKey, edition, host }: Mem0Settings): string | undefined {
  if (host !== "" && !/^https?:$/.test(URL.parse(host)?.protocol ?? ""))
    return "The host of Mem0 is not an address that begins with http:// or https://. Correct it with 'hermes memory setup mem0'.";
  if (edition === "oss" && host === "")
    return "A self-hosted Mem0 (api: oss) needs its address. Set host with 'hermes memory setup mem0', or MEM0_HOST.";
  return edition === "platform" && apiKey === ""
    ? "Mem0 needs an API key. Set it with 'hermes memory setup mem0', or MEM0_API_KEY."
    : undefined;
}

export function baseUrlOf({ host }: Mem0Settings): string {
  return host === "" ? CLOUD_URL : host;
}

/** A server that people host themselves takes an API key or a JWT. */
export function authHeaders({ apiKey, edition }: Mem0Settings): Readonly<Record<string, string>> {
  if (edition === "platform") return { authorization: `Token ${apiKey}` };
  if (apiKey === "") return {};
  const isJwt = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(apiKey);
  return isJwt ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
}

// ---- Whose a memory is ----

export type Owner = {
  readonly userId: string;
  readonly agentId: string;
  /** No other user's memories have this agent id. */
  readonly isAgentOwn: boolean;
};

/** Mem0 refuses blanks in ids; nothing is known about other characters, so phone numbers and addresses stay as they are. */
const ID_RULES: IdRules = { foreign: /[\s\p{C}]/u, replacement: "-", maxChars: 128 };

/** `user` as in `ConnectionContext`. No user of a gateway gets the owner's ids, whatever name they have chosen. */
export function ownerOf({ userId, agentId, userScope }: Mem0Settings, user: string | undefined): Owner {
  const isAgentOwn = userScope !== "id";
  if (user === undefined) return { userId, agentId, isAgentOwn };
  const id = safeId(user, ID_RULES);
  if (userScope === "id") {
    const own = id === userId ? `${id}-${sha256(user).slice(0, 12)}` : id;
    return { userId: own, agentId, isAgentOwn };
  }
  return { userId: `${userId}:${id}`, agentId: `${agentId}:${id}`, isAgentOwn };
}
