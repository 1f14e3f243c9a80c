/** The tools of the server, in the order in which clients show them. A table of contents. @module */
import type { Scope } from "../scope.ts";
import type { Tool } from "../tool.ts";
import { runCode } from "./code.ts";
import { executeCommand, startCommand, stopCommand } from "./commands.ts";
import { createSandboxTool } from "./create.ts";
import { fileExists, listFiles, readFile, writeFile } from "./files.ts";
import { deleteSandbox, listSandboxes, resumeSandbox, setLifetimeTool, suspendSandbox, why } from "./manage.ts";
import { transferTools } from "./transfer.ts";
import { getURL } from "./url.ts";

/** Makes them; some take what sessions may do into their parameters. */
export function allTools(scope: Scope): Tool[] {
  return [
    createSandboxTool(scope),
    listSandboxes,
    deleteSandbox,
    executeCommand,
    startCommand,
    stopCommand,
    runCode,
    readFile,
    writeFile,
    listFiles,
    fileExists,
    ...transferTools(scope),
    getURL,
    suspendSandbox,
    resumeSandbox,
    setLifetimeTool(scope),
    why,
  ];
}
