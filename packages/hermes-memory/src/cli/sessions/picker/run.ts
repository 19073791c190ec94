// The picker on a screen: draws, waits for a key, until something is chosen or somebody leaves.
import type { Clock } from "@hermes-memory/core/lib";
import type { ListedSession } from "@hermes-memory/core/sessions";
import type { OpenScreen, Screen, ScreenEvent } from "../../screen.ts";
import { pickerFrame } from "./frame.ts";
import { type PickerEnd, startPicker, stepPicker } from "./state.ts";

export async function runPicker(
  screen: Screen,
  sessions: readonly ListedSession[],
  clock: Clock,
): Promise<PickerEnd> {
  let picker = startPicker(sessions, screen.size());
  const { promise, resolve } = Promise.withResolvers<PickerEnd>();
  let opened: OpenScreen | undefined;
  const draw = (): void => opened?.draw(pickerFrame(picker, clock.now()));
  const onEvent = (event: ScreenEvent): void => {
    picker = stepPicker(picker, event);
    if (picker.end === undefined) draw();
    else resolve(picker.end);
  };
  opened = await screen.open(onEvent);
  try {
    draw();
    return await promise;
  } finally {
    opened.close();
  }
}
