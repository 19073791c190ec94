// The state of brv, for the model, for `hermes memory test` and for setup.
import { err, ok, type Result } from "../../../lib/index.ts";
import type { BrvClient, BrvFailure, CallRules } from "./client.ts";
import { providersCommand, statusCommand } from "./command.ts";
import type { Limits } from "./limits.ts";
import { type BrvData, firstText } from "./reply.ts";

/** The model that answers `query` and sorts in what is curated; without one both fail. */
export type ModelProvider = {
  readonly connected: boolean;
  readonly id?: string;
  readonly model?: string;
  /** What keeps it from working, or how to connect one. */
  readonly hint?: string;
};

export type BrvStatus = {
  /** Lines to read. */
  readonly text: string;
  readonly modelProvider: ModelProvider;
};

const CONNECT_HINT =
  "No model provider is connected, so query and curate fail. Run 'brv providers connect byterover' for the free one.";

const LABELS: readonly (readonly [key: string, label: string])[] = [
  ["cliVersion", "Version"],
  ["authStatus", "Account"],
  ["userEmail", "User"],
  ["teamName", "Team"],
  ["spaceName", "Space"],
  ["projectRoot", "Project"],
  ["contextTreeStatus", "Context tree"],
  ["resolverError", "Problem"],
  ["sourcesError", "Problem"],
];

/** One call after the other: both would start the same daemon. */
export async function readStatus(
  client: BrvClient,
  limits: Limits,
  rules: CallRules = {},
): Promise<Result<BrvStatus, BrvFailure>> {
  const status = await client.call(statusCommand(limits), rules);
  if (!status.ok) return status;
  const provider = await readModelProvider(client, limits, rules);
  const modelProvider: ModelProvider = provider.ok
    ? provider.value
    : {
        connected: false,
        hint: `Whether a model provider is connected is not known: ${provider.error.message}.`,
      };
  return ok({ text: [...statusLines(status.value), modelLine(modelProvider)].join("\n"), modelProvider });
}

export async function readModelProvider(
  client: BrvClient,
  limits: Limits,
  rules: CallRules = {},
): Promise<Result<ModelProvider, BrvFailure>> {
  const reply = await client.call(providersCommand(limits), rules);
  return reply.ok ? ok(modelProviderOf(reply.value)) : err(reply.error);
}

export function modelLine({ connected, id, model, hint }: ModelProvider): string {
  const name = [id ?? "unknown", model === undefined ? "" : `(${model})`].join(" ").trim();
  return `Model provider: ${[connected ? name : "none", hint ?? ""].filter((part) => part !== "").join(". ")}`;
}

function statusLines(data: BrvData): string[] {
  const lines = LABELS.flatMap(([key, label]) => {
    const value = firstText(data[key]);
    return value === undefined
      ? []
      : [`${label}: ${/^[a-z_]+$/.test(value) ? value.replaceAll("_", " ") : value}`];
  });
  return [...lines, ...changesLine(data.contextTreeChanges)];
}

function changesLine(changes: unknown): string[] {
  if (typeof changes !== "object" || changes === null) return [];
  const counts = Object.entries(changes).flatMap(([kind, files]) =>
    Array.isArray(files) && files.length > 0 ? [`${files.length} ${kind}`] : [],
  );
  return counts.length === 0 ? [] : [`Changes: ${counts.join(", ")}`];
}

/** No provider is an empty id, not an error. */
function modelProviderOf(data: BrvData): ModelProvider {
  const id = firstText(data.providerId);
  if (id === undefined) return { connected: false, hint: CONNECT_HINT };
  const model = firstText(data.activeModel);
  const hint = firstText(data.warning);
  return {
    connected: true,
    id,
    ...(model === undefined ? {} : { model }),
    ...(hint === undefined ? {} : { hint }),
  };
}
