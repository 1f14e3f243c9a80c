/** The document of the terminal page. Pure. @module */

/**
 * Returns the page. All its addresses are relative: it does not know how its sandbox was named.
 *
 * @param sandbox `<namespace>/<name>`, made of DNS labels: it needs no escaping
 */
export function documentOf(sandbox: string): string {
  return `<!doctype html>
<html lang="en" data-sandbox="${sandbox}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="dark light">
<title>${sandbox} – terminal</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="xterm.css">
<link rel="stylesheet" href="page.css">
<link rel="modulepreload" href="xterm.js">
<link rel="modulepreload" href="fit.js">
<script type="module" src="page.js"></script>
</head>
<body>
<header>
  <h1>${sandbox}</h1>
  <p id="line" data-state="connecting"><span id="status" role="status">Connecting…</span> <span id="clock" aria-hidden="true"></span></p>
  <button id="again" type="button" hidden>New terminal</button>
  <label title="Lets a screen reader read the output"><input id="reader" type="checkbox"> Screen reader</label>
</header>
<main id="terminal" aria-label="Terminal" aria-describedby="leave"></main>
<p id="leave" class="aside">Ctrl+Shift+F6 moves the focus out of the terminal.</p>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;
}
