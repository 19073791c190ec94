// Models for small work beside the conversation: summaries, titles, recaps. Only models that config names are used; where it
// names none, the conversation's own does the work.
import type { HermesConfig } from "@hermes-memory/core/config";
import { estimateMessages } from "@hermes-memory/core/context";
import type { TextModel } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import {
  type AuxiliaryTask,
  auxiliaryModel,
  type ChatModel,
  type MainModel,
  type ModelIdentity,
  promptTokens,
  type TextModelOptions,
  TokenCalibration,
  toTextModel,
} from "../../models/index.ts";

export type Auxiliaries = {
  /** The conversation's current model, at the temperature of summaries. */
  readonly main: TextModel;
  readonly title: TextModel;
  readonly sessionSearch: TextModel;
  /** Undefined: the conversation's own. */
  readonly compression:
    | {
        readonly identity: ModelIdentity;
        readonly apiKey: string;
        readonly text: TextModel;
        readonly calibration: TokenCalibration;
      }
    | undefined;
};

export type AuxiliaryInput = {
  readonly home: string;
  readonly config: HermesConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly warn: (text: string) => void;
  /** The user may switch models; whoever asks gets the current one. */
  readonly live: () => { readonly model: ChatModel; readonly calibration: TokenCalibration };
};

const TITLE_TEMPERATURE = 0.3;
/** Of summaries and recaps: they repeat facts. */
const RECAP_TEMPERATURE = 0.1;

export async function openAuxiliaries(conversation: MainModel, input: AuxiliaryInput): Promise<Auxiliaries> {
  const { home, config, env, log, warn } = input;
  const { titleGeneration, sessionSearch, compression } = config.auxiliary;
  /** Undefined when it is the conversation's own. One that cannot be had costs a warning, and is the conversation's own too. */
  const named = async (name: string, task: AuxiliaryTask): Promise<MainModel | undefined> => {
    const found = await auxiliaryModel(task, conversation, { config, env, log });
    if (found.ok) return found.value.model === conversation.model ? undefined : found.value;
    warn(`auxiliary.${name} is not used: ${found.error.message} The conversation's model does the work.`);
    return undefined;
  };
  const own = (temperature: number): TextModel => ({
    complete: (request) => {
      const { model, calibration } = input.live();
      return toTextModel(model, { temperature, ...counted(calibration) }).complete(request);
    },
  });
  const main = own(RECAP_TEMPERATURE);
  const title = await named("title_generation", titleGeneration);
  const search = await named("session_search", sessionSearch);
  const summaries = await named("compression", compression);
  return {
    main,
    title:
      title === undefined
        ? own(TITLE_TEMPERATURE)
        : toTextModel(title.model, { temperature: TITLE_TEMPERATURE }),
    sessionSearch:
      search === undefined ? main : toTextModel(search.model, { temperature: RECAP_TEMPERATURE }),
    compression: summaries && calibrated(home, summaries),
  };
}

function calibrated(home: string, { model, chosen }: MainModel): NonNullable<Auxiliaries["compression"]> {
  const { identity } = model;
  const calibration = TokenCalibration.open(home, identity);
  return {
    identity,
    apiKey: chosen?.apiKey ?? "",
    text: toTextModel(model, { temperature: RECAP_TEMPERATURE, ...counted(calibration) }),
    calibration,
  };
}

/** Summary requests are long, so what a server counts for them is as good as for a turn. */
function counted(calibration: TokenCalibration): TextModelOptions {
  return {
    onOutcome: (messages, outcome) => {
      const estimate = estimateMessages(messages);
      if (outcome.ok) {
        const { usage } = outcome.value;
        calibration.observe(estimate, usage === undefined ? 0 : promptTokens(usage));
      } else if (outcome.error.kind === "overflow")
        calibration.observeOverflow(estimate, outcome.error.promptTokens);
    },
  };
}
