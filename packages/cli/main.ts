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
  const { nodeContext } = await import("./nodecontext.ts");
  const { runCLI } = await import("./program.ts");
  const context = nodeContext();
  const code = await runCLI(context.args, context);
  await context.flush();
  process.exit(code);
}
