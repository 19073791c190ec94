// Memory and past sessions for any client of the Model Context Protocol.
export { serve as serveMcp } from "./serve.ts";
