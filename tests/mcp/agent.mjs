// An ACP agent whose turns are the official SDK's MCP client: it connects to the server of its
// session, lists the tools, and calls those of the plan. Arguments: the folder with the SDK, the file
// with the plan, the file for what came back. A plan has `calls`: `name`, `arguments`, and `asks` if
// the agent asks for permission first.
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createInterface } from "node:readline";

const [home, planFile, outFile] = process.argv.slice(2);
const sdk = (file) => import(`${home}/node_modules/@modelcontextprotocol/sdk/dist/esm/${file}.js`);
const { Client } = await sdk("client/index");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp");

const plan = JSON.parse(readFileSync(planFile, "utf8"));
const send = (frame) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`);
const answers = new Map();
let servers = [];
let asked = 0;

/** The status of a POST with these headers. */
const status = (url, headers) =>
  new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { "content-type": "application/json", ...headers } };
    const request = http.request(url, options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject);
    request.end("{}");
  });

const update = (update) =>
  send({ method: "session/update", params: { sessionId: "s1", update } });

/** Asks for permission as an agent without hooks does: the title is all that names the tool. */
const allowed = async (title, toolCallId, rawInput) => {
  asked += 1;
  const id = `ask-${asked}`;
  const options = [
    { optionId: "yes", kind: "allow_once", name: "Yes" },
    { optionId: "no", kind: "reject_once", name: "No" },
  ];
  const toolCall = { toolCallId, title, kind: "other", status: "pending", rawInput };
  const answer = new Promise((resolve) => answers.set(id, resolve));
  send({ id, method: "session/request_permission", params: { sessionId: "s1", toolCall, options } });
  return (await answer)?.outcome?.optionId === "yes";
};

const turn = async () => {
  const [{ name: server, url, headers }] = servers;
  const authorization = headers.find(({ name }) => name === "Authorization").value;
  const outside = await Promise.all([
    status(url, {}),
    status(url, { authorization: `${authorization}0` }),
    status(url, { authorization, origin: "http://localhost" }),
    status(url, { authorization, host: "evil.example" }),
    status(url.replace(/[^/]*$/, "other"), { authorization }),
  ]);
  const client = new Client({ name: "agent", version: "1.0.0" }, {});
  const requestInit = { headers: { Authorization: authorization } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const { tools } = await client.listTools();
  const results = [];
  for (const [number, { name, arguments: args, asks }] of plan.calls.entries()) {
    const toolCallId = `call-${number}`;
    const title = `mcp__${server}__${name}`;
    update({ sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "pending", rawInput: args });
    const end = (status) => update({ sessionUpdate: "tool_call_update", toolCallId, status });
    if (asks && !(await allowed(title, toolCallId, args))) {
      results.push({ name, refused: true });
      end("failed");
      continue;
    }
    try {
      const { isError, content, _meta } = await client.callTool({ name, arguments: args });
      results.push({ name, isError: isError ?? false, text: content[0].text, meta: _meta });
      end(isError ? "failed" : "completed");
    } catch (error) {
      results.push({ name, code: error.code ?? null, text: error.message });
      end("failed");
    }
  }
  await client.close();
  writeFileSync(outFile, JSON.stringify({ outside, tools, results, url, authorization }));
};

const initialized = {
  protocolVersion: 1,
  agentCapabilities: { mcpCapabilities: { http: plan.http ?? true, sse: false } },
  agentInfo: { name: "client", version: "1.0.0" },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (!method) {
    answers.get(id)?.(result);
  } else if (method === "initialize") {
    send({ id, result: initialized });
  } else if (method === "session/new") {
    servers = params.mcpServers;
    send({ id, result: { sessionId: "s1" } });
  } else if (method === "session/prompt") {
    const played = servers.length > 0 ? turn() : Promise.resolve();
    played
      .catch((error) => writeFileSync(outFile, JSON.stringify({ error: error.stack })))
      .then(() => send({ id, result: { stopReason: "end_turn" } }));
  } else if (id !== undefined) {
    send({ id, result: {} });
  }
}
