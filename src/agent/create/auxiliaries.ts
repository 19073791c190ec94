// Models for small work beside the conversation: summaries, titles, recaps. Only models that config names are used; where it
// names none, the conversation's own does the work.
import type { HermesConfig } from "../../config/index.ts";
import type { TextModel } from "../../lib/index.ts";
import type { Logger } from "../../lib/logger.ts";
import {
  type AuxiliaryTask,
  auxiliaryModel,
  type ChatModel,
  type MainModel,
  type ModelIdentity,
  toTextModel,
} from "../../models/index.ts";

export type Auxiliaries = {
  /** The conversation's current model, at the temperature of summaries. */
  readonly main: TextModel;
  readonly title: TextModel;
  readonly sessionSearch: TextModel;
  /** Undefined: the conversation's own. */
  readonly compression:
    | { readonly identity: ModelIdentity; readonly apiKey: string; readonly text: TextModel }
    | undefined;
};

export type AuxiliaryInput = {
  readonly config: HermesConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly warn: (text: string) => void;
  /** The user may switch models; whoever asks gets the current one. */
  readonly live: () => ChatModel;
};

const TITLE_TEMPERATURE = 0.3;
/** Of summaries and recaps: they repeat facts. */
const RECAP_TEMPERATURE = 0.1;

export async function openAuxiliaries(conversation: MainModel, input: AuxiliaryInput): Promise<Auxiliaries> {
  const { config, env, log, warn } = input;
  const { titleGeneration, sessionSearch, compression } = config.auxiliary;
  /** Undefined when it is the conversation's own. One that cannot be had costs a warning, and is the conversation's own too. */
  const named = async (name: string, task: AuxiliaryTask): Promise<MainModel | undefined> => {
    const found = await auxiliaryModel(task, conversation, { config, env, log });
    if (found.ok) return found.value.model === conversation.model ? undefined : found.value;
    warn(`auxiliary.${name} is not used: ${found.error.message} The conversation's model does the work.`);
    return undefined;
  };
  const own = (temperature: number): TextModel => ({
    complete: (request) => toTextModel(input.live(), { temperature }).complete(request),
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
    compression: summaries && {
      identity: summaries.model.identity,
      apiKey: summaries.chosen?.apiKey ?? "",
      text: toTextModel(summaries.model, { temperature: RECAP_TEMPERATURE }),
    },
  };
}
