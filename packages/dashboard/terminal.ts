/** A terminal on the page: xterm.js, and a shell in the sandbox by the SDK. @module */
/// <reference lib="dom" />
import type { SandboxHandle } from "../sdk/sandbox.ts";

/** Sends one piece after the other, and what came meanwhile as one: requests at a time might overtake each other. */
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
 * @param tell is told how it goes; "" while it runs
 * @throws {SandboxError} if it cannot be opened
 */
export async function openTerminal(
  frame: HTMLElement,
  open: () => Promise<SandboxHandle>,
  tell: (status: string) => void,
  signal: AbortSignal,
): Promise<void> {
  // Larger than all the rest of the page: loaded when somebody wants one.
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
