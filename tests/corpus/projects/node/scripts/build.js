import fs from "node:fs";
import path from "node:path";

fs.mkdirSync("dist", { recursive: true });
for (const name of fs.readdirSync("src")) {
  fs.copyFileSync(path.join("src", name), path.join("dist", name));
}
console.log(`built ${fs.readdirSync("dist").length} files`);
