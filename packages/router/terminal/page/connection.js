/** The page's side of one terminal: a WebSocket, and how far its sandbox is meanwhile. Draws nothing. @module */
const PROTOCOL = "hookbox.terminal.v1";
/** The router answers a request with this header itself; it neither wakes nor reaches the sandbox. */
const POLL = { "x-sandbox-wake-poll": "1" };
const POLL_MS = 500;
/** How much output may be on its way, in bytes: what is drawn after Ctrl+C has been sent is no more than this. */
const WINDOW = 1 << 17;
/** The runtime takes no longer frames than 1 MiB. */
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

/** Tells how far the sandbox is for as long as the socket waits for it. */
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

/** A browser does not say why a socket did not open: the same request without one is answered in words. */
async function causeOf(address) {
  const { state, phase, cause } = await standingAt(address);
  if (state === "failed") return cause;
  if (state === "waiting" && phase !== "suspended") return `The sandbox is not ready: ${phase}. ${cause}`;
  try {
    const answer = await fetch(address, { cache: "no-store" });
    const { detail, message } = await answer.json();
    if (detail !== undefined) return detail;
    // Without a socket it is no address of the runtime, which then has other reasons that it does not tell a browser.
    const cwd = address.searchParams.get("cwd");
    return answer.status === 404 ? `The sandbox opens no terminal${cwd === null ? "" : ` in "${cwd}"`}.` : message;
  } catch {
    return "The sandbox does not answer as a runtime.";
  }
}
