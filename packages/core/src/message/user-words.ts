// A message of the user without what a client program has put around its words.
import { isClientSummary, strippedUserText } from "../security/index.ts";
import type { Message, Part } from "./message.ts";

/** Neither: all of it is the client's. A client may send its summary and the next prompt as parts of one message. */
export function wordsOf(message: Message): { readonly summary?: Message; readonly own?: Message } {
  const { content } = message;
  if (content === null || typeof content === "string") {
    if (isSummary(content ?? "")) return { summary: message };
    const text = strippedUserText(content ?? "");
    return text === content ? { own: message } : text === "" ? {} : { own: { ...message, content: text } };
  }
  const isOfSummary = (part: Part): boolean => part.type === "text" && isSummary(part.text);
  const others = content.filter((part) => !isOfSummary(part));
  const own = others.flatMap((part): Part[] => {
    const text = part.type === "text" ? strippedUserText(part.text) : "";
    if (part.type !== "text" || text === part.text) return [part];
    return text === "" ? [] : [{ ...part, text }];
  });
  const isSameParts = own.length === content.length && own.every((part, at) => part === content[at]);
  return {
    ...(others.length < content.length
      ? { summary: { ...message, content: content.filter(isOfSummary) } }
      : {}),
    ...(own.length === 0 ? {} : { own: isSameParts ? message : { ...message, content: asText(own) } }),
  };
}

/** One text is a text, as wires read it where nothing was added to it. */
function asText(parts: readonly Part[]): Message["content"] {
  const [first] = parts;
  const isText = parts.length === 1 && first?.type === "text" && Object.keys(first).length === 2;
  return isText ? first.text : parts;
}

function isSummary(text: string): boolean {
  return (
    isClientSummary(text) || (text.startsWith("<system-reminder>") && isClientSummary(strippedUserText(text)))
  );
}
