// Memory and past sessions for any client of the Model Context Protocol.
export { answerMcp } from "./http.ts";
export { providerMirror, serve as serveMcp } from "./serve.ts";
