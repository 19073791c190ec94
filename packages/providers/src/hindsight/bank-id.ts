// Which bank a conversation uses. The configured bank belongs to the owner of the home; every user of a gateway has a bank of their own,
// whose name holds the user, also where the template does not name one.
import { sha256 } from "@hermes-memory/core/internal/lib";
import { safeId } from "../kit/networked/identity.ts";
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
const HASH_DIGITS = 12;
const RULES = { foreign: FOREIGN, replacement: "-", maxChars: 80 };

export function bankIdOf(settings: BankSettings, parts: BankParts): string {
  const { user } = parts;
  const owners = bankOfOwner(settings, parts);
  if (user === undefined) return owners;
  const rendered = render(settings.bankTemplate, {
    ...parts,
    user: settings.userScope === "id" ? pythonId(user) : safeId(user, RULES),
  });
  if (rendered === "" || !settings.bankTemplate.includes("{user}"))
    return `${rendered || settings.bankId}-${safeId(user, RULES)}`;
  // A user whose id makes the owner's bank, or that of a user to whom this has happened, has an id of their own.
  const reserved = [owners, bankOfOwner(settings, { ...parts, platform: "cli" }), settings.bankId];
  return reserved.some((bank) => rendered === bank || rendered.startsWith(`${bank}-user-`))
    ? `${rendered}-user-${sha256(user).slice(0, HASH_DIGITS)}`
    : rendered;
}

function bankOfOwner({ bankId, bankTemplate }: BankSettings, parts: BankParts): string {
  return render(bankTemplate, { ...parts, user: "" }) || bankId;
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
