import { jsonSchema as jsonSchema7 } from "ai";
import { jsonSchema as jsonSchema5 } from "ai5";
import { jsonSchema as jsonSchema6 } from "ai6";
import { expect, it } from "vitest";
import { memoryToolSchema, sessionSearchToolSchema } from "../../src/index.ts";

// A test of types above all: `JSONSchema7` has mutable lists and literal type names. `@types/json-schema` is a devDependency because
// without it `JSONSchema7` is `any`, and everything would fit.
it("the schema of a tool fits jsonSchema() of the AI SDK 5, 6 and 7", async () => {
  for (const { parameters } of [memoryToolSchema, sessionSearchToolSchema]) {
    expect(jsonSchema5(parameters).jsonSchema).toEqual(parameters);
    expect(await jsonSchema6(parameters).jsonSchema).toEqual(parameters);
    expect(await jsonSchema7(parameters).jsonSchema).toEqual(parameters);
  }
  // @ts-expect-error shows that the types above are compared
  jsonSchema5({ type: "no type" });
});
