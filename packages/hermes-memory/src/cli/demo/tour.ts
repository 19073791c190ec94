// The tour: three sessions, one after the other, and what they cost.
import { firstSession } from "./first-session.ts";
import { cacheSavingsStep } from "./savings.ts";
import { Scene, type SceneOptions } from "./scene.ts";
import { secondSession } from "./second-session.ts";
import type { Step } from "./step.ts";
import { thirdSession } from "./third-session.ts";

/** Rejects only with the signal's reason. */
export async function runTour(options: SceneOptions): Promise<readonly Step[]> {
  const scene = new Scene(options);
  await firstSession(scene);
  await secondSession(scene);
  await thirdSession(scene);
  await cacheSavingsStep(scene);
  return scene.steps;
}
