// Which bank a conversation uses. The configured bank belongs to the owner of the home; every user of a gateway has a bank of their own,
// whose name holds the user, also where the template does not name one.
import { safeId } from "../../kit/networked/identity.ts";
import type { HindsightSettings } from "./settings.ts";

type BankParts = {
  readonly profile: string;
  readonly workspace: string;
  readonly platform: string;
  readonly session: string;
  /** Undefined for the owner. */
  readonly user: string | undefined;
};

type BankSettings = Pick<HindsightSettings, "bankId" | "bankTemplate" | "userScope">;

const FOREIGN = /[^A-Za-z0-9_-]/;
const RULES = { foreign: FOREIGN, replacement: "-", maxChars: 80 };

export function bankIdOf({ bankId, bankTemplate, userScope }: BankSettings, parts: BankParts): string {
  const { user } = parts;
  const userPart = user === undefined ? "" : userScope === "id" ? pythonId(user) : safeId(user, RULES);
  const rendered = render(bankTemplate, { ...parts, user: userPart });
  const namesUser = rendered !== "" && bankTemplate.includes("{user}");
  const bank = rendered || bankId;
  return user === undefined || namesUser ? bank : `${bank}-${safeId(user, RULES)}`;
}

/** Whether each session has a bank of its own. */
export function isPerSession({ bankTemplate }: Pick<HindsightSettings, "bankTemplate">): boolean {
  return bankTemplate.includes("{session}");
}

/** "" for an empty result, an unknown placeholder or a brace that is left over. */
function render(template: string, values: Readonly<Record<string, string>>): string {
  let isKnown = true;
  const filled = template.replace(/\{([^{}]*)\}/g, (_all, name: string) => {
    if (!Object.hasOwn(values, name)) isKnown = false;
    return sanitize(values[name] ?? "");
  });
  if (!isKnown || /[{}]/.test(filled)) return "";
  return trimmed(filled.replace(/-{2,}/g, "-").replace(/_{2,}/g, "_"));
}

function sanitize(value: string): string {
  return trimmed(value.replace(new RegExp(`${FOREIGN.source}+`, "g"), "-"));
}

function trimmed(text: string): string {
  return text.replace(/^[-_]+|[-_]+$/g, "");
}

/** As the Python edition names a user. One without a usable character would get the owner's bank, so that one gets a hash. */
function pythonId(user: string): string {
  return sanitize(user) === "" ? safeId(user, RULES) : user;
}
