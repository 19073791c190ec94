// Messages of the live list as people and files get them: what was typed and stored, not what a platform added for the model. Pure.
import { type Content, type Message, type OpenAiMessage, toOpenAi } from "@hermes-memory/core/message";

export function shownContent({ content, meta }: Message): Content {
  return meta.storedContent === undefined ? content : meta.storedContent;
}

/** A chat row without the keys of this process. A tool's name stands under both names that other programs look for. */
export function shownRow(message: Message): OpenAiMessage {
  const row = toOpenAi({ ...message, content: shownContent(message) }, { forOthers: true });
  const name = message.role === "tool" ? message.toolName : undefined;
  return name === undefined ? row : { ...row, name, tool_name: name };
}
