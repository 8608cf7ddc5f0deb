"""An MCP server for tests, in plain Python: well behaved or hostile, as its first argument says.

Usage: server.py MODE [--http PORT]
"""

import base64, json, os, subprocess, sys, threading, time

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
OUT = threading.Lock()
PENDING = {}
ANSWERS = {}
EXTRA = []
CANCELLED = set()
FIRST = threading.Event()

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def tool(name, description="", properties=None, **more):
    return {"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties or {}}, **more}


def tools():
    listed = [
        tool("echo", "Echoes its message", {"message": {"type": "string"}}, annotations={"readOnlyHint": True}),
        tool("wait", "Waits", {"seconds": {"type": "number"}}, annotations={"readOnlyHint": True}),
        tool("steps", "Reports progress", {"count": {"type": "integer"}, "pause": {"type": "number"}}),
        tool("image", "Gives an image"), tool("pdf", "Gives a binary"), tool("large", "Gives much text", {"size": {"type": "integer"}}),
        tool("fail", "Fails"), tool("die", "Ends the server"), tool("grow", "Adds a tool"), tool("deep", "Gives a deep answer"),
        tool("flood", "Never ends its line"), tool("ask", "Asks the person"), tool("roots", "Tells the roots"),
        tool("environment", "Tells its variables"), tool("family", "Tells its processes"), tool("never", "Never answers"),
        tool("was_cancelled", "Tells what was cancelled"), tool("second_first", "The second call is answered first", {"n": {"type": "integer"}}, annotations={"readOnlyHint": True}),
        tool("spam", "Sends a million notices"),
    ] + EXTRA
    if MODE == "bad-schemas":
        listed += [
            {"name": "no_schema"}, {"name": "text_schema", "inputSchema": {"type": "string"}},
            {"name": "remote", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}},
            {"description": "no name", "inputSchema": {"type": "object"}}, 7,
            tool("echo", "the same name again"),
        ]
    return listed


def send(message):
    with OUT:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def answer(id, result):
    send({"jsonrpc": "2.0", "id": id, "result": result})


def text(id, words, **more):
    answer(id, {"content": [{"type": "text", "text": words}], **more})


def request(method, params):
    id = "server-%d" % (len(PENDING) + 1)
    PENDING[id] = threading.Event()
    send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    PENDING[id].wait(20)
    return ANSWERS.get(id)


def call(id, params):
    name, given = params["name"], params.get("arguments") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    if name == "echo":
        text(id, given.get("message", ""))
    elif name == "wait":
        time.sleep(given.get("seconds", 1))
        text(id, "waited")
    elif name == "steps":
        for step in range(given.get("count", 3)):
            time.sleep(given.get("pause", 0.01))
            send({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step + 1, "total": given.get("count", 3), "message": "step"}})
        # A notice that comes together with the result may be handed on too late to be of use.
        time.sleep(given.get("pause", 0.01))
        text(id, "done")
    elif name == "image":
        answer(id, {"content": [{"type": "image", "mimeType": "image/png", "data": PNG}]})
    elif name == "pdf":
        blob = base64.b64encode(b"%PDF-1.7\x00\xff").decode()
        answer(id, {"content": [{"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": blob}}]})
    elif name == "large":
        text(id, "x" * given.get("size", 200000))
    elif name == "fail":
        text(id, "it went wrong", isError=True)
    elif name == "die":
        os._exit(3)
    elif name == "grow":
        EXTRA.append(tool("grown", "Came later"))
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(id, "grown")
    elif name == "grown":
        text(id, "here")
    elif name == "deep":
        with OUT:
            sys.stdout.write('{"jsonrpc":"2.0","id":%s,"result":{"content":%s1%s}}\n' % (json.dumps(id), "[" * 100000, "]" * 100000))
            sys.stdout.flush()
    elif name == "flood":
        with OUT:
            while True:
                sys.stdout.write("x" * 1000000)
    elif name == "ask":
        told = request("elicitation/create", {"message": "Your name?", "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}})
        text(id, json.dumps(told))
    elif name == "roots":
        text(id, json.dumps(request("roots/list", {})))
    elif name == "environment":
        text(id, " ".join(sorted(os.environ)))
    elif name == "family":
        child = subprocess.Popen(["sleep", "300"])
        text(id, "%d %d" % (os.getpid(), child.pid))
    elif name == "never":
        pass
    elif name == "was_cancelled":
        text(id, str(len(CANCELLED)))
    elif name == "second_first":
        if given.get("n") == 1:
            FIRST.wait(10)
            text(id, "one")
        else:
            text(id, "two")
            time.sleep(0.1)
            FIRST.set()
    elif name == "spam":
        with OUT:
            line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 100}}) + "\n"
            for _ in range(100000):
                sys.stdout.write(line)
            sys.stdout.flush()
        text(id, "spammed")
    else:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "Unknown tool: " + name}})


def serve(message):
    method, id = message.get("method"), message.get("id")
    if method is None:
        ANSWERS[id] = message.get("result", message.get("error"))
        if id in PENDING:
            PENDING[id].set()
    elif method == "initialize":
        if MODE == "slow":
            time.sleep(1.5)
        answer(id, {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "test", "version": "1"}, "instructions": "Be kind."})
    elif method == "tools/list":
        if MODE == "pages":
            page = int((message.get("params") or {}).get("cursor") or 0)
            answer(id, {"tools": [tool("page_%d" % page)], **({"nextCursor": str(page + 1)} if page < 4 else {})})
        elif MODE == "slow-lists" and EXTRA:
            time.sleep(1)
            answer(id, {"tools": tools()})
        elif MODE == "endless":
            answer(id, {"tools": [tool("t_%s_%d" % (id, n)) for n in range(500)], "nextCursor": "again"})
        else:
            answer(id, {"tools": tools()})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, message["params"]), daemon=True).start()
    elif method == "ping":
        answer(id, {})
    elif method == "notifications/cancelled":
        CANCELLED.add(message["params"]["requestId"])
    elif id is not None:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})


def main():
    if MODE == "silent":
        time.sleep(300)
    if MODE == "garbage":
        print("Hello, I am no MCP server.", flush=True)
        time.sleep(300)
    if MODE == "flood-at-once":
        while True:
            sys.stdout.write("x" * 1000000)
    if MODE == "crash":
        print("Traceback: the key is missing", file=sys.stderr, flush=True)
        sys.exit(7)
    if MODE == "banner":
        print("Listening on stdio", flush=True)
    if MODE == "stubborn":
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "300"])
    if MODE == "noisy":
        def noise():
            while True:
                sys.stderr.write("n" * 10000 + "\n")
        threading.Thread(target=noise, daemon=True).start()
    if MODE == "once":
        # The second start finds the mark of the first and works.
        mark = sys.argv[2]
        if not os.path.exists(mark):
            open(mark, "w").close()
            threading.Timer(0.5, lambda: os._exit(1)).start()
    if "--http" in sys.argv:
        return serve_http(int(sys.argv[sys.argv.index("--http") + 1]))
    for line in sys.stdin:
        serve(json.loads(line))
    if MODE == "stubborn":
        time.sleep(300)


def serve_http(port):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    session = "s%d" % os.getpid()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, body=b"", kind="application/json"):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            if status == 200:
                self.send_header("mcp-session-id", session)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.reply(405)

        def do_DELETE(self):
            self.reply(200)

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if MODE == "shut" and self.headers.get("authorization") != "Bearer open":
                return self.reply(401)
            if MODE == "flood-http":
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                try:
                    while True:
                        self.wfile.write(b"x" * 1000000)
                except OSError:
                    return
            sent = self.headers.get("mcp-session-id")
            if body.get("method") != "initialize" and sent != session:
                return self.reply(404)
            if "id" not in body or "method" not in body:
                return self.reply(202)
            got = []
            global send
            send = lambda message: got.append(message)
            if body["method"] == "tools/call":
                call(body["id"], body["params"])
            else:
                serve(body)
            self.reply(200, json.dumps(got[-1]).encode())

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print("port %d" % server.server_address[1], file=sys.stderr, flush=True)
    server.serve_forever()


main()
