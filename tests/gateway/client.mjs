// An MCP client: `node client.mjs SDK-FOLDER URL TOKEN`. Prints JSON lines: {tools} at the beginning and each
// time they change, {answer} for each call. Reads lines {call, args} and {cancel}.
import { createInterface } from "node:readline";

const [home, url, token] = process.argv.slice(2);
const sdk = (file) => import(`${home}/node_modules/@modelcontextprotocol/sdk/dist/esm/${file}.js`);
const { Client } = await sdk("client/index");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp");
const { ToolListChangedNotificationSchema } = await sdk("types");

const say = (value) => console.log(JSON.stringify(value));
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const client = new Client({ name: "test", version: "1" });

async function list() {
  const { tools } = await client.listTools();
  say({ tools });
}
client.setNotificationHandler(ToolListChangedNotificationSchema, list);

try {
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
} catch (error) {
  say({ refused: error.code ?? String(error) });
  process.exit(0);
}
await list();
let abort;
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.cancel) {
    abort.abort("the test does not want it");
    continue;
  }
  abort = new AbortController();
  client
    .callTool({ name: command.call, arguments: command.args }, undefined, { signal: abort.signal })
    .then((answer) => say({ answer }), (error) => say({ failed: String(error) }));
}
process.exit(0);
