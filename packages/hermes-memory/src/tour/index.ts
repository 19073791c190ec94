// The offline tour of `hermes demo`: three sessions of the real agent, with a scripted server in place of the model.
export { configure, makeTourHome, removeTourHome, type TourHome } from "./home.ts";
export { MODELS, scriptedReply } from "./scripted-model.ts";
export { type ScriptedServer, startScriptedServer } from "./scripted-server.ts";
export { runTour } from "./steps.ts";
export type { MemoryCommands, Narrator, Step } from "./tour.ts";
