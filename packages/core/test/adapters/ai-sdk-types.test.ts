// The adapter's types fit those of the AI SDK 5, 6 and 7; `tsc` is the judge.
import * as ai7 from "ai";
import * as ai5 from "ai5";
import * as ai6 from "ai6";
import { expect, it } from "vitest";
import { type AiSdk, sdkTextModel } from "../../src/adapters/ai-sdk.ts";

it("fits the tools, the middleware and the messages of each version", () => {
  const uses = [
    (model: ai5.LanguageModel & object, { tools, middleware }: AiSdk, messages: ai5.ModelMessage[]) => {
      const wrapped = ai5.wrapLanguageModel({ model: model as never, middleware });
      return [
        ai5.generateText({ model: wrapped, tools, messages }),
        ai5.streamText({
          model: wrapped,
          tools: { ...tools, own: ai5.tool({ inputSchema: ai5.jsonSchema({}) }) },
          messages,
        }),
      ];
    },
    (model: ai6.LanguageModel & object, { tools, middleware }: AiSdk, messages: ai6.ModelMessage[]) => {
      const wrapped = ai6.wrapLanguageModel({ model: model as never, middleware });
      return [
        ai6.generateText({ model: wrapped, tools, messages }),
        ai6.streamText({ model: wrapped, tools, messages }),
      ];
    },
    (model: ai7.LanguageModel & object, { tools, middleware }: AiSdk, messages: ai7.ModelMessage[]) => {
      const wrapped = ai7.wrapLanguageModel({ model: model as never, middleware });
      return [
        ai7.generateText({ model: wrapped, tools, messages }),
        ai7.streamText({ model: wrapped, tools, messages }),
      ];
    },
  ];
  const lists = async ({ messages }: AiSdk) => {
    const five: ai5.ModelMessage[] = await messages();
    const six: ai6.ModelMessage[] = await messages();
    const seven: ai7.ModelMessage[] = await messages({ maxTokens: 1_000 });
    return [five, six, seven];
  };
  const uiLists = async ({ uiMessages }: AiSdk) => {
    const five: ai5.UIMessage[] = await uiMessages();
    const six: ai6.UIMessage[] = await uiMessages();
    const seven: ai7.UIMessage[] = await uiMessages();
    return [five, six, seven];
  };
  const texts = (
    five: Exclude<ai5.LanguageModel, string>,
    six: Exclude<ai6.LanguageModel, string>,
    seven: Exclude<ai7.LanguageModel, string>,
  ) => [sdkTextModel(five), sdkTextModel(six), sdkTextModel(seven)];
  expect([uses.length, typeof lists, typeof uiLists, typeof texts]).toEqual([
    3,
    "function",
    "function",
    "function",
  ]);
});
