// What the gateway answers `/mcp` with.
export { answerMcp } from "./http.ts";
export { providerMirror } from "./serve.ts";
