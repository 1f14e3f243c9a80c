#!/usr/bin/env node
/** The entry point of `hookbox`: checks the version of Node, and runs the command line. @module */
import process from "node:process";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `Cannot run hookbox on Node ${process.versions.node}: it needs Node 22.19 or later, or Deno 2.9\n`,
  );
  process.exitCode = 1;
} else {
  if (import.meta.url.endsWith(".js")) keepCompiledCode();
  const { runProcess } = await import("./program.ts");
  process.exit(await runProcess());
}

/**
 * Lets Node keep the compiled program in the user's cache folder, which makes the next start faster. The folder must be
 * the user's own, because Node runs what it contains.
 */
function keepCompiledCode(): void {
  // Unlike `import`, this reads only what is used of a module.
  const { mkdirSync, statSync } = process.getBuiltinModule("node:fs");
  const { enableCompileCache } = process.getBuiltinModule("node:module");
  const { homedir } = process.getBuiltinModule("node:os");
  const { join } = process.getBuiltinModule("node:path");
  const { LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  const byPlatform: Partial<Record<NodeJS.Platform, string | undefined>> = {
    darwin: join(homedir(), "Library", "Caches"),
    win32: LOCALAPPDATA,
  };
  const caches = byPlatform[process.platform] ?? (XDG_CACHE_HOME || join(homedir(), ".cache"));
  try {
    const folder = join(caches, "hookbox", "code");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    if (isOwn) enableCompileCache?.(folder);
  } catch {
    // Without such a folder, the program starts as well.
  }
}
