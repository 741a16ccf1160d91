#!/usr/bin/env node
const fs = require("fs");
const path = require("path");
const [folder = ".", ...flags] = process.argv.slice(2);
let found = 0;
for (const name of fs.readdirSync(folder).sort()) {
  const file = path.join(folder, name);
  let text = fs.readFileSync(file, "utf8");
  const lines = text.split("\n");
  lines.forEach((line, at) => {
    if (/\s$/.test(line)) {
      found += 1;
      console.log(`${file}:${at + 1} trailing blank`);
    }
  });
  if (flags.includes("--fix")) fs.writeFileSync(file, lines.map((line) => line.trimEnd()).join("\n"));
}
const cache = path.join("node_modules", ".cache", "mini-lint");
fs.mkdirSync(cache, { recursive: true });
fs.writeFileSync(path.join(cache, "last"), String(found));
console.log(`${found} problems`);
