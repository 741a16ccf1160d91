// The official SDK's client: connects to the server of a plan, lists its tools, calls them in order,
// and prints what came back as JSON. Arguments: the folder with the SDK, the plan.
const [home, plan] = [process.argv[2], JSON.parse(process.argv[3])];
const sdk = (file) => import(`${home}/node_modules/@modelcontextprotocol/sdk/dist/esm/${file}.js`);
const { Client } = await sdk("client/index");
const { StdioClientTransport } = await sdk("client/stdio");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp");
const { ToolListChangedNotificationSchema } = await sdk("types");

const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url), {
      requestInit: { headers: { Authorization: `Bearer ${plan.token}` } },
    })
  : new StdioClientTransport({ ...plan.server, stderr: "pipe" });
const client = new Client({ name: "test", version: "1.0.0" }, {});
let changes = 0;
let told = () => {};
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  changes += 1;
  told();
});
await client.connect(transport);
const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
const tools = (await client.listTools()).tools;
const results = [];
for (const { name, arguments: args, cancel, changes: wanted } of plan.calls) {
  const progress = [];
  const abort = new AbortController();
  const onprogress = (step) => {
    progress.push(step);
    // `cancel` is true, or how the message begins that it waits for.
    if (cancel === true || (cancel && step.message.startsWith(cancel))) abort.abort();
  };
  const options = { onprogress, signal: abort.signal, timeout: 300_000 };
  const called = wanted && new Promise((resolve) => (told = resolve));
  try {
    const { isError, content, _meta } = await client.callTool({ name, arguments: args }, undefined, options);
    results.push({ name, isError: isError ?? false, text: content[0].text, meta: _meta, progress });
  } catch (error) {
    results.push({ name, code: error.code ?? null, text: error.message, progress });
  }
  if (wanted) await called;
}
const after = await names();
const capabilities = client.getServerCapabilities();
await client.close();
console.log(JSON.stringify({ capabilities, tools, results, changes, after }));
