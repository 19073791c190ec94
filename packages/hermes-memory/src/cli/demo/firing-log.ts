// Something long to paste: the log of a firing, another one for each number and always the same for one. About 600 tokens.

const STEPS = 48;
const STEP_MINUTES = 10;
const NOTES = [
  "burner low, damper open",
  "burner half",
  "burner full, damper a third",
  "cone 5 leans",
  "soak",
];

export function firingLog(number: number): string {
  const lines = Array.from({ length: STEPS }, (_, step) => {
    const minutes = step * STEP_MINUTES;
    const clock = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
    const degrees = 20 + number + Math.round((1_195 * step) / (STEPS - 1)) + ((step * (number + 3)) % 7);
    return `${clock}  ${degrees} degrees, draught ${(step * 13 + number * 7) % 90} Pa, ${NOTES[Math.floor((step * NOTES.length) / STEPS)]}`;
  });
  return [`Firing log ${number} of the Vesuvius kiln.`, ...lines].join("\n");
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
