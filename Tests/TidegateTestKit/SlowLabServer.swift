/// The web server of a ``SlowLab``.
enum SlowLabServer {
    // Bodies are sent with their heads, and Nagle's algorithm is off: neither may wait for an acknowledgement.
    static let script = """
        import http.server, socket, time, urllib.parse
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16
            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                count, known = 2, url.path in ("/", "/slow", "/bytes")
                if url.path == "/slow": time.sleep(int(query.get("ms", 0)) / 1000)
                if url.path == "/bytes": count = int(query.get("n", 0))
                self.send_response(200 if known else 404)
                self.send_header("Content-Length", str(count))
                self.end_headers()
                try:
                    while count > 0:
                        piece = b"ok" * min(1 << 14, (count + 1) // 2)
                        self.wfile.write(piece[:count])
                        count -= len(piece)
                    self.wfile.flush()
                except OSError:
                    self.close_connection = True
            def log_message(self, *arguments): pass
        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6
            request_queue_size = 128
            def handle_error(self, request, client_address): pass
        Server(("", 80), Handler).serve_forever()
        """
}
