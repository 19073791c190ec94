// The gateway as a library.
export { type RunningGateway, type StartOptions, startGateway } from "./serve.ts";
