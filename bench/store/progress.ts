// Progress on stderr; stdout is for the figures.

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
