// The gateway: memory for every client by changing its base URL.
export { type RunningGateway, startGateway } from "./serve.ts";
