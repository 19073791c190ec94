// Specs of the `hermes token` commands. Each body is loaded when its command runs.
import type { CommandSpec } from "../command.ts";

export const tokenCommands: readonly CommandSpec[] = [
  {
    name: "token create",
    summary: "make a token for a program that uses the gateway; it is printed this once",
    flags: {
      name: { kind: "text", placeholder: "name", summary: "what to call it, such as open-webui" },
      owner: { kind: "boolean", summary: "for your own memory and sessions (default)" },
      user: {
        kind: "text",
        placeholder: "platform:id",
        summary: "for one user, whatever a request says",
      },
      "names-users": {
        kind: "boolean",
        summary: "for a program that names its user in each request; needs --platform",
      },
      platform: { kind: "text", placeholder: "name", summary: "the platform of the program's users" },
      admin: { kind: "boolean", summary: "sees and acts for everybody" },
      expires: {
        kind: "text",
        placeholder: "time",
        summary: "when it stops working: after 12h, 30d or 52w, or at a date such as 2027-01-31",
      },
      models: {
        kind: "text",
        placeholder: "names",
        summary: "the only models it may use, with commas; 'gpt-*' for a beginning, 'hermes' for config's",
      },
      "requests-per-day": { kind: "integer", minimum: 1, summary: "most model requests per day (UTC)" },
      "tokens-per-day": { kind: "integer", minimum: 1, summary: "most tokens per day (UTC)" },
      "cost-per-day": {
        kind: "text",
        placeholder: "dollars",
        summary: "most US dollars per day (UTC), by the prices that are known",
      },
      "max-users": {
        kind: "integer",
        minimum: 0,
        summary: "most users that it may name, 0 for any number (default: gateway.max_users)",
      },
    },
    examples: [
      "hermes token create --name laptop",
      "hermes token create --name open-webui --names-users --platform open-webui",
      "hermes token create --name alice --user api:alice --expires 30d",
      "hermes token create --name class --names-users --platform api --models gpt-5-mini --cost-per-day 5",
      "hermes token create --admin --name dashboard --json",
    ],
    load: async () => (await import("./token.ts")).create,
  },
  {
    name: "token local",
    summary: "print the token of your own programs on this machine, and base URLs that contain it",
    flags: {
      new: { kind: "boolean", summary: "replace it; a running gateway refuses the old one within a second" },
    },
    examples: ["hermes token local", "hermes token local --json", "hermes token local --new"],
    load: async () => (await import("./token.ts")).local,
  },
  {
    name: "token list",
    summary: "list the tokens: rights, when each was made, last used and expires",
    examples: ["hermes token list", "hermes token list --json"],
    load: async () => (await import("./token.ts")).list,
  },
  {
    name: "token revoke",
    summary: "delete a token; a running gateway refuses it within a second",
    arguments: [{ name: "token", summary: "its id or name" }],
    flags: { yes: { kind: "boolean", short: "y", summary: "do not ask" } },
    examples: ["hermes token revoke open-webui", "hermes token revoke 1f9a3c07 --yes"],
    load: async () => (await import("./token.ts")).revoke,
  },
  {
    name: "token path",
    summary: "print where the tokens are kept; the file has their hashes only, the local token is beside it",
    examples: ["hermes token path"],
    load: async () => (await import("./token.ts")).path,
  },
];
