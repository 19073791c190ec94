// The offline demo of `hermes demo`: two sessions of the real agent, with a script in place of the model.
export { type DemoEvent, type DemoStep, demoSteps, SCRIPTED_MODEL } from "./demo.ts";
