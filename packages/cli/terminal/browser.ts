/** Opens a URL in the user's browser. @module */
import { spawn } from "node:child_process";
import process from "node:process";

/** Opens a URL; returns false if there is no browser. */
export async function openBrowser(url: string, env: Record<string, string | undefined>): Promise<boolean> {
  const command = commandOf(env);
  if (!command) return false;
  const [program = "", ...args] = [...command, url];
  return await new Promise((resolve) => {
    const child = spawn(program, args, { detached: true, stdio: "ignore" });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

/** Over SSH, a browser would open on the remote machine, where the user does not see it. */
function commandOf(env: Record<string, string | undefined>): string[] | undefined {
  if (env["BROWSER"]) return [env["BROWSER"]];
  if (env["SSH_CONNECTION"]) return undefined;
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["cmd", "/c", "start", ""];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}
