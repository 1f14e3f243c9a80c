/** Shows a terminal on the page: xterm.js, with a shell in the sandbox through the SDK. @module */
/// <reference lib="dom" />
import type { SandboxHandle } from "../sdk/sandbox.ts";

/**
 * Sends text in order, one request at a time: parallel requests might overtake each other. Text that arrives during a
 * request is sent together.
 */
function inOrder(send: (text: string) => Promise<void>, onError: (error: Error) => void): (text: string) => void {
  let waiting = "";
  let isSending = false;
  return async (text) => {
    waiting += text;
    if (isSending) return;
    isSending = true;
    try {
      while (waiting !== "") {
        const next = waiting;
        waiting = "";
        await send(next);
      }
    } catch (error) {
      onError(error as Error);
    } finally {
      isSending = false;
    }
  };
}

/**
 * Opens a shell and shows it until it ends or `signal` fires.
 *
 * @param tell called with the status for the user; "" while the shell runs
 * @throws {SandboxError} if the shell cannot be opened
 */
export async function openTerminal(
  frame: HTMLElement,
  open: () => Promise<SandboxHandle>,
  tell: (status: string) => void,
  signal: AbortSignal,
): Promise<void> {
  // Loaded on demand, as it is larger than the rest of the page.
  const [{ Terminal }, { FitAddon }] = await Promise.all([import("@xterm/xterm"), import("@xterm/addon-fit")]);
  const sandbox = await open();
  if (signal.aborted) return;
  const screen = new Terminal({ fontSize: 13, cursorBlink: true, theme: { background: "#14171c" } });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  screen.open(frame);
  fit.fit();
  const { cols, rows } = screen;
  const shell = await sandbox.pty.create({ cols, rows, onData: (bytes) => screen.write(bytes) });
  const lost = (error: Error) => tell(error.message);
  screen.onData(inOrder((text) => shell.write(text), lost));
  screen.onResize((size) => void shell.resize(size).catch(lost));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(frame);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    screen.dispose();
    void shell.kill().catch(() => {});
  });
  tell("");
  screen.focus();
  const { exitCode } = await shell.wait();
  tell(`Ended with exit code ${exitCode}.`);
}
