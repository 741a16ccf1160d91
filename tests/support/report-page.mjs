#!/usr/bin/env node
// Looks at an HTML report in headless Chromium at two widths and in both themes: saves a screenshot
// of each, and fails if axe-core finds something or the page is wider than the window.
//
//   npm install playwright-core axe-core      # in any folder, named by NODE_FOLDER
//   NODE_FOLDER=… tests/support/report-page.mjs night.html screenshots/
//
// Run by hand; without a browser or these packages it says so and ends with 0. CHROMIUM names the
// browser.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page, folder] = process.argv.slice(2).map((path) => resolve(path));
if (!folder) {
  console.error("usage: report-page.mjs REPORT.html FOLDER");
  process.exit(2);
}
let browser, axe;
try {
  const require = createRequire(resolve(process.env.NODE_FOLDER ?? ".", "x.js"));
  const { chromium } = require("playwright-core");
  axe = require.resolve("axe-core/axe.min.js");
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
} catch (error) {
  console.log(`skipped: ${String(error.message).split("\n")[0]}`);
  process.exit(0);
}
mkdirSync(folder, { recursive: true });
let findings = 0;
for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1280]) {
    // The page's own policy forbids scripts, axe's too.
    const viewport = { width, height: 900 };
    const context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
    const tab = await context.newPage();
    await tab.goto(pathToFileURL(page).href);
    await tab.screenshot({ path: `${folder}/${colorScheme}-${width}.png`, fullPage: true });
    await tab.addScriptTag({ path: axe });
    const { violations } = await tab.evaluate(() => globalThis.axe.run());
    for (const { id, help, nodes } of violations) {
      console.log(`${colorScheme} ${width}: ${id}: ${help}: ${nodes[0].html}`);
    }
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) {
      console.log(`${colorScheme} ${width}: the page is ${wide} wide`);
      findings += 1;
    }
    findings += violations.length;
    await context.close();
  }
}
await browser.close();
console.log(`${findings} findings`);
process.exit(findings === 0 ? 0 : 1);
