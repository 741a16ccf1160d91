"""A scripted model on loopback for agents that others wrote: chat completions, responses,
Anthropic's messages, and Gemini's contents, streamed or whole.

  model.py PLAN.json LOG.jsonl          prints its port, and serves until its input ends

The plan is {"routes": [{"match": TEXT, "steps": [STEP, ...]}]}. A request belongs to the route
whose text stands last in what the user said; its step is the number of turns with tool calls
that the model has had since. So a request that is sent again gets the same answer. A step is
  {"run": COMMAND} {"read": PATH} {"write": PATH, "text": TEXT} {"edit": PATH, "old":, "new":}
  {"say": TEXT} {"status": 429, "headers": {}, "message": TEXT} {"hang": true}
and becomes a call of whichever tool the agent offers for it. A request without such tools, as for
a title, gets a word.
"""
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = {
    "run": r"^(bash|shell|shell_command|exec_command|run_shell_command|execute|execute_bash|terminal"
    r"|execute_command|run_commands?|launch-process|developer__shell|default_api:shell)$",
    "read": r"^(read|read_file|readfile|view|read_text_file|view_file|file_read|read_files)$",
    "write": r"^(write|write_file|writefile|create|write_text_file|developer__write|save-file)$",
    "edit": r"^(edit|edit_file|replace|search_replace|strreplacefile|str_replace|developer__edit"
    r"|patch|str-replace-editor|editor|file_editor)$",
}
PATH = r"^(path|file_?path|filename|file|absolute_path|target_file)$"
OLD = r"^(old(_?str(ing)?)?|old_text|before|search)$"
NEW = r"^(new(_?str(ing)?)?|new_text|after|replace|replacement)$"
TEXT = r"^(content|contents|file_text|text|file_content)$"
COMMAND = r"^(command|cmd|commands|script)$"


def named(schema, values):
    """Arguments for a tool of this schema: each property that a value's pattern names, and
    something harmless for the other required ones."""
    properties = schema.get("properties") or {}
    arguments = {}
    for name, what in properties.items():
        what = what if isinstance(what, dict) else {}
        found = next((v for pattern, v in values if re.match(pattern, name, re.I)), None)
        kind = what.get("type")
        kind = kind.lower() if isinstance(kind, str) else kind
        if found is not None:
            lists = kind == "array" or any(
                isinstance(o, dict) and o.get("type") == "array" for o in what.get("anyOf", [])
            )
            if lists and what.get("items", {}).get("type") == "string" and name == "command":
                found = ["bash", "-lc", found]
            elif lists:
                found = [found]
            arguments[name] = found
        elif name in (schema.get("required") or []):
            if what.get("enum"):
                commands = [c for c in ("str_replace", "create", "view") if c in what["enum"]]
                arguments[name] = (commands or what["enum"])[0]
            else:
                plain = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
                arguments[name] = plain.get(kind, "work")
    return arguments


def call_for(step, tools):
    """The call (name, arguments, is freeform) that does a step; tools: {name: schema}."""
    kind = next(kind for kind in ("run", "read", "write", "edit") if kind in step)
    find = lambda kind: next((n for n in tools if re.match(TOOLS[kind], n, re.I)), None)
    tool, target = find(kind), step[kind]
    if kind == "run" and tool:
        values = [(COMMAND, target), (r"^(description|reason|explanation)$", "work")]
        arguments = named(tools[tool], values)
        if "sandbox_permissions" in (tools[tool].get("properties") or {}):
            # Codex's own sandbox does not start in another one: its models ask to leave it.
            arguments["sandbox_permissions"] = "require_escalated"
            arguments["justification"] = "work"
        return tool, arguments
    if "apply_patch" in tools and kind in ("write", "edit"):
        return "apply_patch", {"input": patch(step)}
    values = [(PATH, target), (OLD, step.get("old")), (NEW, step.get("new")), (TEXT, step.get("text"))]
    if tool:
        arguments = named(tools[tool], values)
        edits = (tools[tool].get("properties") or {}).get("edits")
        if kind == "edit" and edits and "items" in edits:
            arguments["edits"] = [named(edits["items"], values)]
        if kind == "edit" and "edit" in (tools[tool].get("properties") or {}):
            arguments["edit"] = [named(tools[tool]["properties"]["edit"], values)]
        if "mode" in arguments and tool == "patch":
            arguments["mode"] = "replace"
        return tool, arguments
    shell = tools.get(find("run"), {}).get("properties") or {}
    if "sandbox_permissions" in shell and kind in ("write", "edit"):
        # Codex takes this line for an edit, as it is the way of its models.
        return call_for({"run": "apply_patch <<'EOF'\n" + patch(step) + "EOF\n"}, tools)
    quoted = lambda text: "'" + text.replace("'", "'\\''") + "'"
    line = {
        "read": lambda: "cat " + quoted(target),
        "write": lambda: "printf %s " + quoted(step["text"]) + " > " + quoted(target),
        "edit": lambda: "sed -i " + quoted("s/%s/%s/" % (re.escape(step["old"]), step["new"]))
        + " " + quoted(target),
    }[kind]()
    return call_for({"run": line}, tools)


def patch(step):
    """A step as the patch that Codex's models write."""
    if "write" in step:
        lines = ["*** Add File: " + step["write"]] + ["+" + l for l in step["text"].splitlines()]
    else:
        lines = ["*** Update File: " + step["edit"], "@@", "-" + step["old"], "+" + step["new"]]
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def text_of(content):
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (p.get("text") for p in content if isinstance(p, dict))
        return "\n".join(p for p in parts if isinstance(p, str))
    return ""


class Chat:
    """POST …/chat/completions"""

    def __init__(self, body):
        self.tools = {
            t["function"]["name"]: t["function"].get("parameters") or {}
            for t in body.get("tools") or [] if "function" in t
        }
        self.turns = []
        for m in body.get("messages", []):
            if m["role"] == "user":
                self.turns.append(("user", text_of(m.get("content"))))
            elif m["role"] == "assistant" and m.get("tool_calls"):
                self.turns.append(("call", ""))
        self.stream = bool(body.get("stream"))

    def answer(self, n, text, call):
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        base = {"id": f"c{n}", "created": 1, "model": "scripted"}
        calls = []
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            calls = [{"index": 0, "id": f"call_{n}", "type": "function", "function": function}]
        reason = "tool_calls" if calls else "stop"
        message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = calls
        if not self.stream:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        chunk = lambda delta, reason: {
            **base, "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        last = {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage}
        return [(None, chunk(message, None)), (None, chunk({}, reason)), (None, last), (None, "[DONE]")]


class Responses:
    """POST …/responses"""

    stream = True

    def __init__(self, body):
        self.tools, self.free = {}, set()
        for t in body.get("tools") or []:
            if t.get("type") == "function":
                self.tools[t["name"]] = t.get("parameters") or {}
            elif t.get("type") == "custom":
                self.tools[t["name"]] = {}
                self.free.add(t["name"])
        self.turns = []
        given = body.get("input", [])
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            if item.get("role") == "user":
                self.turns.append(("user", text_of(item.get("content"))))
            elif item.get("type") in ("function_call", "custom_tool_call"):
                self.turns.append(("call", ""))
        self.stream = bool(body.get("stream"))

    def answer(self, n, text, call):
        if call and call[0] in self.free:
            item = {
                "type": "custom_tool_call", "id": f"ct_{n}", "call_id": f"call_{n}",
                "name": call[0], "input": call[1]["input"], "status": "completed",
            }
        elif call:
            item = {
                "type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": call[0],
                "arguments": json.dumps(call[1]), "status": "completed",
            }
        else:
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {
                "type": "message", "id": f"m_{n}", "role": "assistant", "status": "completed",
                "content": [part],
            }
        usage = {
            "input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        whole = {
            "id": f"resp_{n}", "object": "response", "created_at": 1, "model": "scripted",
            "status": "completed", "output": [item], "usage": usage,
        }
        if not self.stream:
            return whole
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        events = [("response.created", {"response": begun})]
        events.append(("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}}))
        if not call:
            delta = {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": text}
            events.append(("response.output_text.delta", delta))
        events.append(("response.output_item.done", {"output_index": 0, "item": item}))
        events.append(("response.completed", {"response": whole}))
        return [
            (name, {"type": name, "sequence_number": at, **data})
            for at, (name, data) in enumerate(events)
        ]


class Messages:
    """POST …/messages"""

    def __init__(self, body):
        self.tools = {t["name"]: t.get("input_schema") or {} for t in body.get("tools") or []}
        self.turns = []
        for m in body.get("messages", []):
            content = m.get("content")
            blocks = [] if isinstance(content, str) else content
            if m["role"] == "user":
                self.turns.append(("user", text_of(content)))
            elif any(b.get("type") == "tool_use" for b in blocks):
                self.turns.append(("call", ""))
        self.stream = bool(body.get("stream"))

    def answer(self, n, text, call):
        usage = {"input_tokens": 100, "output_tokens": 10}
        block = {"type": "text", "text": text}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{n}", "name": call[0], "input": call[1]}
        reason = "tool_use" if call else "end_turn"
        whole = {
            "id": f"msg_{n}", "type": "message", "role": "assistant", "model": "scripted",
            "content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage,
        }
        if not self.stream:
            return whole
        begun = {**whole, "content": [], "stop_reason": None}
        if call:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        else:
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        events = [
            ("message_start", {"message": begun}),
            ("content_block_start", {"index": 0, "content_block": empty}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}),
            ("message_stop", {}),
        ]
        return [(name, {"type": name, **data}) for name, data in events]


class Contents:
    """POST …/models/NAME:generateContent or :streamGenerateContent"""

    def __init__(self, body, stream):
        self.tools = {
            f["name"]: f.get("parametersJsonSchema") or f.get("parameters") or {}
            for t in body.get("tools") or [] for f in t.get("functionDeclarations") or []
        }
        self.turns = []
        for c in body.get("contents", []):
            parts = c.get("parts", [])
            if c.get("role") == "model":
                if any("functionCall" in p for p in parts):
                    self.turns.append(("call", ""))
            else:
                self.turns.append(("user", text_of(parts)))
        self.stream = stream
        self.schema = (body.get("generationConfig") or {}).get("responseJsonSchema")

    def answer(self, n, text, call):
        if self.schema:
            # Gemini asks a small model how complex a prompt is, and again and again for JSON.
            text = json.dumps(named(self.schema, []))
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": text}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
        return [(None, whole)] if self.stream else whole


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def log(self, **record):
        with self.server.lock:
            self.server.log.write(json.dumps({"t": time.time(), "path": self.path, **record}) + "\n")
            self.server.log.flush()

    def whole(self, status, body, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **dict(headers)}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in events:
            text = data if isinstance(data, str) else json.dumps(data)
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {text}\n\n".encode())
        self.close_connection = True

    def do_GET(self):
        self.log(method="GET")
        model = {"id": "scripted", "object": "model", "created": 1, "owned_by": "scripted",
                 "name": "scripted", "context_length": 200000}
        if "/models" in self.path:
            return self.whole(200, {"object": "list", "data": [model], "models": []})
        self.whole(404, {"error": {"message": "not found"}})

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        path = self.path.split("?")[0]
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        key = self.headers.get("authorization") or self.headers.get("x-api-key") \
            or self.headers.get("x-goog-api-key")
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            return self.whole(200, {"input_tokens": 100, "totalTokens": 100})
        if path.endswith("/chat/completions"):
            request = Chat(body)
        elif path.endswith("/responses"):
            request = Responses(body)
        elif path.endswith("/messages"):
            request = Messages(body)
        elif path.endswith(":generateContent"):
            request = Contents(body, False)
        elif path.endswith(":streamGenerateContent"):
            request = Contents(body, True)
        else:
            self.log(method="POST", unknown=True, key=key)
            return self.whole(404, {"error": {"message": "not found"}})
        with self.server.lock:
            self.server.number += 1
            number = self.server.number
        step, at = self.step(request)
        self.log(method="POST", key=key, step=step, at=at, tools=list(request.tools), body=body)
        if "status" in step:
            error = {"type": "error", "error": {"message": step["message"], "code": step["status"],
                                                "type": "scripted"}}
            return self.whole(step["status"], error, step.get("headers", {}))
        if "hang" in step:
            while self.rfile.read(1):
                pass
            return None
        call = None if "say" in step else call_for(step, request.tools)
        answer = request.answer(number, step.get("say", ""), call)
        return self.events(answer) if isinstance(answer, list) else self.whole(200, answer)

    def step(self, request):
        """The step that a request is for, and its number."""
        routes, found, count = self.server.plan["routes"], None, 0
        if not any(re.match(TOOLS["run"], name, re.I) for name in request.tools):
            always = self.server.plan.get("always")
            return (always or {"say": "work"}), -1
        for who, text in request.turns:
            if who == "call":
                count += 1
                continue
            matches = [(text.rfind(r["match"]), i) for i, r in enumerate(routes)]
            where, index = max(matches, default=(-1, 0))
            if where >= 0 and index != found:
                found, count = index, 0
        if found is None:
            return {"say": "no route"}, -1
        steps = routes[found]["steps"]
        return (steps[count] if count < len(steps) else {"say": "done"}), count


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def main():
    server = Server(("127.0.0.1", 0), Handler)
    with open(sys.argv[1], encoding="utf-8") as plan:
        server.plan = json.load(plan)
    server.log, server.lock, server.number = open(sys.argv[2], "a"), threading.Lock(), 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
