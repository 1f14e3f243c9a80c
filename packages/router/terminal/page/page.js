/** The terminal page: a terminal, and a line with its status. @module */
import { openTerminal } from "./connection.js";

// The router serves both next to this file; on disk they are elsewhere.
const { Terminal } = await import(new URL("xterm.js", import.meta.url).href);
const { FitAddon } = await import(new URL("fit.js", import.meta.url).href);

const THEMES = {
  dark: { background: "#14171c", foreground: "#e4e8ee", cursor: "#e4e8ee", selectionBackground: "#3d5a80" },
  light: { background: "#ffffff", foreground: "#1b2028", cursor: "#1b2028", selectionBackground: "#b3d4fc" },
};
/**
 * Resets what an interrupted program may have left: modes, mouse reports and colours. The second leaves the other
 * screen.
 */
const CLEAN = "\x1b[!p\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m";
const OTHER_SCREEN_OFF = "\x1b[?1049l";

const element = (id) => document.getElementById(id);
const [line, status, clock, again, reader] = ["line", "status", "clock", "again", "reader"].map(element);
const isLight = matchMedia("(prefers-color-scheme: light)");
const encoder = new TextEncoder();

const terminal = new Terminal({
  cursorBlink: true,
  fontFamily: 'ui-monospace, "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace',
  fontSize: 14,
  // With a lower value, the bottom of letters is cut off in some fonts.
  lineHeight: 1.15,
  minimumContrastRatio: 4.5,
  scrollback: 10_000,
  theme: themeNow(),
});
const fit = new FitAddon();
/** Undefined: there is no connection; Enter opens one. */
let connection;
let isOpen = false;

function themeNow() {
  return isLight.matches ? THEMES.light : THEMES.dark;
}

/** Shows the status. The clock is hidden from screen readers, which would read it out every second. */
function tell(state, text, time = "") {
  line.dataset.state = state;
  if (status.textContent !== text) status.textContent = text;
  clock.textContent = time;
}

/** Returns the runtime's path, two folders above this page. Of the page's query, only the working directory is used. */
function addressNow() {
  const address = new URL("../../v1/terminal", location.href);
  const { cols, rows } = terminal;
  const cwd = new URLSearchParams(location.search).get("cwd");
  // The command is not taken from the query: a link must not run what its author likes.
  address.search = new URLSearchParams({ cols, rows, ...(cwd === null ? {} : { cwd }) }).toString();
  return address;
}

function start() {
  const began = Date.now();
  again.hidden = true;
  tell("connecting", "Connecting…");
  terminal.focus();
  connection = openTerminal(addressNow(), {
    waiting(phase, cause) {
      const far = phase === "suspended" ? "Waking…" : `Waking… ${phase}${cause && `: ${cause}`}`;
      tell("connecting", far, `${Math.round((Date.now() - began) / 1000)} s`);
    },
    open() {
      isOpen = true;
      tell("open", "Connected");
      // The window's size may have changed while the sandbox woke up.
      connection?.resize({ cols: terminal.cols, rows: terminal.rows });
    },
    output: (bytes, drawn) => terminal.write(bytes, drawn),
    // After all output: only then is it known which screen the program left.
    end: (how) => terminal.write("", () => end(how)),
  });
}

function end(how) {
  connection = undefined;
  isOpen = false;
  const isExit = "exitCode" in how;
  const text = isExit ? exitText(how) : how.cause;
  again.textContent = isExit ? "New terminal" : "Connect again";
  again.hidden = false;
  tell(isExit ? "ended" : "broken", text);
  if (terminal.buffer.active.type === "alternate") terminal.write(OTHER_SCREEN_OFF);
  const offer = isExit ? "Enter opens a new terminal" : "Enter connects again";
  terminal.write(`${CLEAN}\r\n\x1b[1m${text}\x1b[0m ${offer}.\r\n\r\n`);
}

function exitText({ exitCode, signal }) {
  return signal ? `Ended by ${signal}.` : `Ended with exit code ${exitCode}.`;
}

function onInput(bytes, isEnter) {
  if (connection) connection.send(bytes);
  else if (isEnter) start();
}

/** Returns false for keys that are not for the terminal. */
function takesKey(event) {
  if (!event.ctrlKey || !event.shiftKey || event.type !== "keydown") return true;
  if (event.key === "F6") {
    (again.hidden ? reader : again).focus();
    return false;
  }
  if (event.code !== "KeyC" || !terminal.hasSelection()) return true;
  navigator.clipboard?.writeText(terminal.getSelection());
  event.preventDefault();
  return false;
}

terminal.loadAddon(fit);
terminal.open(element("terminal"));
terminal.attachCustomKeyEventHandler(takesKey);
terminal.onData((text) => onInput(encoder.encode(text), text === "\r"));
terminal.onBinary((text) => onInput(Uint8Array.from(text, (character) => character.charCodeAt(0)), false));
terminal.onResize((size) => connection?.resize(size));
again.addEventListener("click", start);
reader.addEventListener("change", () => terminal.options.screenReaderMode = reader.checked);
isLight.addEventListener("change", () => terminal.options.theme = themeNow());
new ResizeObserver(() => requestAnimationFrame(() => fit.fit())).observe(element("terminal"));
// Ctrl+W deletes a word in a shell and closes a tab in a browser.
addEventListener("beforeunload", (event) => isOpen && event.preventDefault());

fit.fit();
start();
