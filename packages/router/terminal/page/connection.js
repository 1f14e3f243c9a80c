/** Connects the terminal page to one terminal by WebSocket, and reports the progress of its sandbox. @module */
const PROTOCOL = "hookbox.terminal.v1";
/** The router itself answers a request with this header; it neither wakes nor reaches the sandbox. */
const POLL = { "x-sandbox-wake-poll": "1" };
const POLL_MS = 500;
/** Most output that may be on its way, in bytes. This limits what is still drawn after Ctrl+C has been sent. */
const WINDOW = 1 << 17;
/** Longest frame that is sent, in bytes. The runtime accepts up to 1 MiB. */
const LONGEST_FRAME = 1 << 18;

/**
 * Asks for a terminal, which wakes its sandbox.
 *
 * @param {URL} base of the terminal over HTTP, with its size and folder as the query
 * @param {object} on
 * @param {(phase: string, cause: string) => void} on.waiting the sandbox is not ready yet
 * @param {() => void} on.open
 * @param {(bytes: Uint8Array, drawn: () => void) => void} on.output `drawn` is called when there is room for more
 * @param {(end: { exitCode: number, signal: string } | { cause: string }) => void} on.end called once, last
 * @returns {{ send(bytes: Uint8Array): void, resize(size: { cols: number, rows: number }): void }} what is sent
 *   before it is open, or after its end, is lost
 */
export function openTerminal(base, on) {
  const address = new URL(base);
  address.searchParams.set("window", String(WINDOW));
  const socket = new WebSocket(address.href.replace(/^http/, "ws"), PROTOCOL);
  socket.binaryType = "arraybuffer";
  let exit;
  let wasOpen = false;
  socket.addEventListener("open", () => {
    wasOpen = true;
    on.open();
  });
  socket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") exit = JSON.parse(data).exit ?? exit;
    else on.output(new Uint8Array(data), () => drawn(data.byteLength));
  });
  socket.addEventListener("close", async () => {
    on.end(exit ?? { cause: wasOpen ? "The connection broke." : await causeOf(address) });
  });
  poll(socket, address, on.waiting);
  const send = (data) => socket.readyState === WebSocket.OPEN && socket.send(data);
  const taken = { bytes: 0, told: 0 };
  const drawn = (bytes) => {
    taken.bytes += bytes;
    if (taken.bytes - taken.told < WINDOW / 4) return;
    taken.told = taken.bytes;
    send(JSON.stringify({ taken: { bytes: taken.bytes } }));
  };
  return {
    send(bytes) {
      for (let at = 0; at < bytes.length; at += LONGEST_FRAME) send(bytes.subarray(at, at + LONGEST_FRAME));
    },
    resize: (size) => send(JSON.stringify({ resize: size })),
  };
}

/** Reports the progress of the sandbox while the socket waits for it. */
async function poll(socket, address, waiting) {
  while (socket.readyState === WebSocket.CONNECTING) {
    const { state, phase, cause } = await standingAt(address);
    if (state === "waiting" && socket.readyState === WebSocket.CONNECTING) waiting(phase, cause);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function standingAt(address) {
  try {
    const answer = await fetch(address, { headers: POLL, cache: "no-store" });
    return await answer.json();
  } catch {
    return {};
  }
}

/** Finds out why a socket did not open, which a browser does not say: sends the same request without a socket. */
async function causeOf(address) {
  const { state, phase, cause } = await standingAt(address);
  if (state === "failed") return cause;
  if (state === "waiting" && phase !== "suspended") return `The sandbox is not ready: ${phase}. ${cause}`;
  try {
    const answer = await fetch(address, { cache: "no-store" });
    const { detail, message } = await answer.json();
    if (detail !== undefined) return detail;
    // Without a socket, this path does not exist for the runtime. Other causes are not reported to a browser.
    const cwd = address.searchParams.get("cwd");
    return answer.status === 404 ? `The sandbox opens no terminal${cwd === null ? "" : ` in "${cwd}"`}.` : message;
  } catch {
    return "The sandbox does not answer as a runtime.";
  }
}
