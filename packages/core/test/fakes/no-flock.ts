// Preloaded into a child process: the program flock(1) is not to be found, as on macOS or in a small container.
process.env.PATH = "/nonexistent";
