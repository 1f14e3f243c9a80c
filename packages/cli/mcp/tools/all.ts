/** The tools of the MCP server, in the order in which clients show them. @module */
import type { Scope } from "../scope.ts";
import type { Tool } from "../tool.ts";
import { runCode } from "./code.ts";
import { executeCommand, startCommand, stopCommand } from "./commands.ts";
import { createSandboxTool } from "./create.ts";
import { fileExists, listFiles, readFile, writeFile } from "./files.ts";
import { deleteSandbox, listSandboxes, resumeSandbox, setLifetimeTool, suspendSandbox, why } from "./manage.ts";
import { transferTools } from "./transfer.ts";
import { getURL } from "./url.ts";

/** Creates the tools. The parameters of some depend on the limits of sessions. */
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
